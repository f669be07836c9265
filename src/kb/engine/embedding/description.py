"""What the files of any sentence-transformers model say of it, without torch.

Only what can be told from files is accepted: another module might change the vectors' length, or be a program that the
folder brings along. Weights must be safetensors; the older format is a program, too.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kb.engine.embedding.config_files import (
    list_pooling_modes,
    read_json,
    read_window,
    refusal,
    refused_if_unlike_others,
)
from kb.engine.embedding.weights import WEIGHTS_FILE, file_sha256, read_digest
from kb.engine.errors import Unavailable
from kb.engine.model import EmbeddingModel

_KNOWN_MODULES = {"Transformer", "Pooling", "Dense", "Normalize", "LayerNorm", "Dropout"}
_WEIGHTY_MODULES = {"Transformer", "Dense", "LayerNorm"}
# What a folder without a list of modules is taken for.
_PLAIN = [{"type": "sentence_transformers.models.Transformer", "path": ""}]
# With less, next to nothing of a chunk would be left beside its title.
_LEAST_WINDOW = 128
# The first of these that a model has is put in front of what is embedded for a search to find.
_PROMPTS_FOR_PASSAGES = ("document", "passage", "corpus")


@dataclass(frozen=True)
class _Module:
    name: str
    folder: Path

    def read(self) -> Any:  # Any: whatever the file holds
        return read_json(self.folder / "config.json") or {}


def describe_any_model(folder: Path) -> EmbeddingModel:
    """Raises `Unavailable` if the files do not tell, or tell of something that kb does not run."""
    with refused_if_unlike_others(folder):
        modules = _read_modules(folder)
        dimension, prompt_tokens = _dimension_of(modules), _count_prompt_tokens(folder)
        window = _window_of(folder, modules[0], prompt_tokens)
    fingerprint = f"{folder.name}-{_digest(folder, modules)[:12]}-fp32"
    return EmbeddingModel(folder.name, dimension, window, fingerprint, prompt_tokens)


def tokenizer_file(folder: Path) -> Path:
    return _read_modules(folder)[0].folder / "tokenizer.json"


def _read_modules(folder: Path) -> list[_Module]:
    listed = read_json(folder / "modules.json") or _PLAIN
    modules = []
    for entry in listed:
        origin, _, name = entry["type"].rpartition(".")
        if name not in _KNOWN_MODULES or not origin.startswith("sentence_transformers."):
            raise refusal(folder, f"it has a part of a kind that kb does not know ({entry['type']})")
        modules.append(_Module(name, folder / entry["path"]))
    if modules[0].name != "Transformer":
        raise refusal(folder, "it does not begin with a network of the transformers kind")
    if not (modules[0].folder / "tokenizer.json").is_file():
        raise refusal(folder, "it has no tokenizer.json")
    return modules


def _dimension_of(modules: list[_Module]) -> int:
    for module in reversed(modules):
        config: Mapping[str, Any] = module.read()
        if module.name == "Dense":
            return int(config["out_features"])
        if module.name == "Pooling":
            return _pooled_dimension(config)
    return int(modules[0].read()["hidden_size"])


def _pooled_dimension(config: Mapping[str, Any]) -> int:
    """Each way of pooling adds as many numbers again."""
    width = config["embedding_dimension"] if "pooling_mode" in config else config["word_embedding_dimension"]
    return int(width) * len(list_pooling_modes(config))


def _window_of(folder: Path, transformer: _Module, prompt_tokens: int) -> int:
    window = read_window(transformer.folder)
    if window is None or window < _LEAST_WINDOW + prompt_tokens:
        raise refusal(
            folder, f"its window has to be stated, and at least {_LEAST_WINDOW} tokens beside its prompt for passages"
        )
    return window


def _count_prompt_tokens(folder: Path) -> int:
    prompts = (read_json(folder / "config_sentence_transformers.json") or {}).get("prompts") or {}
    prompt = next(filter(None, map(prompts.get, _PROMPTS_FOR_PASSAGES)), None)
    if prompt is None:
        return 0
    # Imported here because few models have any.
    from kb.engine.embedding.tokenizing import find_token_spans, open_tokenizer

    return len(find_token_spans(open_tokenizer(tokenizer_file(folder)), prompt))


def _digest(folder: Path, modules: list[_Module]) -> str:
    """Of all that decides what vectors come out."""
    digests = hashlib.sha256()
    for file in _deciding_files(folder, modules):
        weighs = file.suffix == ".safetensors"
        digests.update(f"{file.relative_to(folder)} {read_digest(file) if weighs else file_sha256(file)}\n".encode())
    return digests.hexdigest()


def _deciding_files(folder: Path, modules: list[_Module]) -> Iterator[Path]:
    for name in ("modules.json", "config_sentence_transformers.json"):
        if (folder / name).is_file():
            yield folder / name
    for module in modules:
        weights = [*module.folder.glob("*.safetensors")]
        if module.name in _WEIGHTY_MODULES and not weights:
            raise Unavailable(f"The model {folder.name} is not complete: it has no {WEIGHTS_FILE}.", model=folder.name)
        # Of a folder within that of another module, neither globs nor names reach into it.
        yield from sorted([*weights, *module.folder.glob("*config.json"), *module.folder.glob("tokenizer.json")])
