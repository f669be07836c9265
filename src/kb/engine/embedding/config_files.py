"""What a model's config files say, in the words of each version of sentence-transformers."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kb.engine.errors import Unavailable

# From here on, a limit says "as long as you like": that of a tokenizer does where nothing is known.
_NO_LIMIT = 1_000_000
# With less, next to nothing of a chunk would be left beside its title.
_LEAST_WINDOW = 128
# What counts its places from the number of its padding on has that many less for text.
_COUNTS_FROM_PADDING = {"camembert", "data2vec-text", "longformer", "mpnet", "roberta", "xlm-roberta", "xlm-roberta-xl"}


class ModelRefused(Unavailable):
    """A model that kb does not run as it is, on any device."""

    def __init__(self, model: str, reason: str) -> None:
        super().__init__(f"The model {model} cannot be run here: {reason}.", model=model)
        self.reason = reason


@contextmanager
def refused_if_unlike_others(folder: Path) -> Iterator[None]:
    """For whoever reads what stands in these files, whatever that is."""
    try:
        yield
    except KeyError as error:
        raise ModelRefused(folder.name, f"its files do not state {error.args[0]}") from error
    except (AttributeError, TypeError, ValueError) as error:
        raise ModelRefused(folder.name, "its files are not like those of other models") from error


def read_json(path: Path) -> Any:  # Any: whatever the file holds
    try:
        return json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Unavailable(f"The model's {path.name} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise Unavailable(f"The model's {path.name} is damaged; fetch the model again.") from error


def read_window(folder: Path, prompt_tokens: int) -> int:
    """How many tokens the network in this folder sees at once, the special ones included.

    Raises `Unavailable` if nothing limits it, or if too few are left beside its prompt for passages.
    """
    stated = _read_settings(folder, "sentence_bert_config.json").get("max_seq_length")
    places = _count_places(_read_settings(folder, "config.json"))
    # Since version 6 it is stated here alone.
    allowed = _read_settings(folder, "tokenizer_config.json").get("model_max_length")
    window = min(stated or allowed or _NO_LIMIT, places)
    if not _LEAST_WINDOW + prompt_tokens <= window < _NO_LIMIT:
        raise ModelRefused(
            folder.name,
            f"its window has to be stated, and at least {_LEAST_WINDOW} tokens beside its prompt for passages",
        )
    return int(window)


def _count_places(config: Mapping[str, Any]) -> int:
    """How many tokens the network has a place for."""
    places = config.get("max_position_embeddings") or _NO_LIMIT
    if config.get("model_type") in _COUNTS_FROM_PADDING:
        places -= config.get("pad_token_id", 1) + 1
    return int(places)


def list_pooling_modes(pooling: Mapping[str, Any]) -> list[str]:
    """The ways in which the vectors of tokens become one, such as `mean`. Before version 6 each had a switch."""
    if "pooling_mode" in pooling:
        modes = pooling["pooling_mode"]
        return [modes] if isinstance(modes, str) else [*modes]
    switched_on = [
        name.removeprefix("pooling_mode_") for name, on in pooling.items() if on and name.startswith("pooling_mode_")
    ]
    return [name.removesuffix("s").removesuffix("_token") for name in switched_on] or ["mean"]


def _read_settings(folder: Path, file: str) -> Mapping[str, Any]:
    return read_json(folder / file) or {}
