"""The steps from a text to its vector, as a folder of sentence-transformers lists them: `modules.json`.

kb runs only steps of sentence-transformers itself, and never a program that a folder brings along.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kb.engine.embedding.config_files import ModelRefused, read_json

MODULES_FILE = "modules.json"
_TOKENIZER = "tokenizer.json"
_KNOWN = {"Transformer", "Pooling", "Dense", "Normalize", "LayerNorm", "Dropout"}


@dataclass(frozen=True)
class Module:
    name: str
    folder: Path

    def read(self) -> Any:  # Any: whatever the file holds
        return read_json(self.folder / "config.json") or {}


def read_modules(folder: Path) -> list[Module]:
    """The first is a network with its tokenizer. Raises `Unavailable` for what kb does not run."""
    listed = read_json(folder / MODULES_FILE)
    modules = [Module("Transformer", folder)] if listed is None else [_read_module(folder, entry) for entry in listed]
    network = modules[0] if modules else None
    if network is None or network.name != "Transformer":
        raise ModelRefused(folder.name, "it does not begin with a network of the transformers kind")
    if not (network.folder / _TOKENIZER).is_file():
        raise ModelRefused(folder.name, "it has no tokenizer.json")
    for module in modules:
        if module.name == "Pooling" and not module.read():
            raise ModelRefused(
                folder.name, f"it does not say how it pools: {module.folder.name}/config.json is missing"
            )
    return modules


def tokenizer_file(folder: Path) -> Path:
    return read_modules(folder)[0].folder / _TOKENIZER


def _read_module(folder: Path, entry: Any) -> Module:
    origin, _, name = entry["type"].rpartition(".")
    if name not in _KNOWN or not origin.startswith("sentence_transformers."):
        raise ModelRefused(folder.name, f"it has a part of a kind that kb does not know ({entry['type']})")
    return Module(name, folder / entry["path"])
