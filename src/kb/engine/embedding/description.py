"""What the files of any sentence-transformers model say of it, without torch.

Only what can be told from files is accepted: another module might change the vectors' length, or be a program that the
folder brings along. Weights must be safetensors; the older format is a program, too.
"""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kb.engine.embedding.config_files import list_pooling_modes, read_window, refused_if_unlike_others
from kb.engine.embedding.modules import MODULES_FILE, Module, read_modules
from kb.engine.embedding.prompts import PROMPTS_FILE, count_prompt_tokens
from kb.engine.embedding.weights import WEIGHTS_FILE, file_sha256, read_digest
from kb.engine.errors import Unavailable
from kb.engine.model import EmbeddingModel

_WEIGHTY_MODULES = {"Transformer", "Dense", "LayerNorm"}


def describe_any_model(folder: Path) -> EmbeddingModel:
    """Raises `Unavailable` if the files do not tell, or tell of something that kb does not run."""
    with refused_if_unlike_others(folder):
        modules = read_modules(folder)
        dimension, prompt_tokens = _dimension_of(modules), count_prompt_tokens(folder)
        window = read_window(modules[0].folder, prompt_tokens)
    fingerprint = f"{folder.name}-{_digest(folder, modules)[:12]}-fp32"
    return EmbeddingModel(folder.name, dimension, window, fingerprint, prompt_tokens)


def _dimension_of(modules: list[Module]) -> int:
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


def _digest(folder: Path, modules: list[Module]) -> str:
    """Of all that decides what vectors come out."""
    digests = hashlib.sha256()
    for file in _deciding_files(folder, modules):
        weighs = file.suffix == ".safetensors"
        digests.update(f"{file.relative_to(folder)} {read_digest(file) if weighs else file_sha256(file)}\n".encode())
    return digests.hexdigest()


def _deciding_files(folder: Path, modules: list[Module]) -> Iterator[Path]:
    for name in (MODULES_FILE, PROMPTS_FILE):
        if (folder / name).is_file():
            yield folder / name
    for module in modules:
        weights = [*module.folder.glob("*.safetensors")]
        if module.name in _WEIGHTY_MODULES and not weights:
            raise Unavailable(f"The model {folder.name} is not complete: it has no {WEIGHTS_FILE}.", model=folder.name)
        # Of a folder within that of another module, neither globs nor names reach into it.
        yield from sorted([*weights, *module.folder.glob("*config.json"), *module.folder.glob("tokenizer.json")])
