"""A model's weights: the tensors in a safetensors file, and the file's digest."""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kb.engine.errors import Unavailable

WEIGHTS_FILE = "model.safetensors"
_DIGEST_ENDING = ".digest.json"

Tensor = npt.NDArray[np.float32]


def read_tensors(path: Path) -> Mapping[str, Tensor]:
    """The tensors of floats in the file; those of 32 bits are mapped into memory and not read until they are used."""
    with _refused_if_damaged():
        mapped = np.memmap(path, np.uint8, "r")
        content, header = _read_header(mapped)
        return {
            name: _WIDENED[entry["dtype"]](mapped[content:][slice(*entry["data_offsets"])]).reshape(entry["shape"])
            for name, entry in header.items()
            if entry["dtype"] in _WIDENED
        }


def require_tensors(path: Path) -> None:
    """Raise `Unavailable` if the file is none with tensors, as what stands for a large file until that is fetched."""
    with _refused_if_damaged():
        _read_header(np.memmap(path, np.uint8, "r"))


def _read_header(mapped: npt.NDArray[np.uint8]) -> tuple[int, dict[str, Any]]:
    """Where the tensors begin, from where their offsets count, and what is told of each."""
    # Eight bytes tell the header's length.
    content = 8 + int.from_bytes(mapped[:8].tobytes(), "little")
    header: dict[str, Any] = json.loads(mapped[8:content].tobytes())
    header.pop("__metadata__", None)
    return content, header


@contextmanager
def _refused_if_damaged() -> Iterator[None]:
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise Unavailable("The model's weights are damaged; fetch the model again.") from error


def _widen_bfloat16(content: npt.NDArray[np.uint8]) -> Tensor:
    """Of a float of 32 bits it is the upper half."""
    return (content.view("<u2").astype(np.uint32) << 16).view(np.float32)


# Of each number its value, exactly.
_WIDENED: Mapping[str, Callable[[npt.NDArray[np.uint8]], Tensor]] = {
    "F32": lambda content: content.view("<f4"),
    "F16": lambda content: content.view("<f2").astype(np.float32),
    "BF16": _widen_bfloat16,
}


def read_digest(weights: Path) -> str:
    """The sha256 of the file; kept beside it, because computing it reads the whole file."""
    state = weights.stat()
    known = _read_note(weights.with_name(weights.name + _DIGEST_ENDING))
    if (known.get("size"), known.get("mtime_ns")) == (state.st_size, state.st_mtime_ns):
        return str(known["sha256"])
    return note_digest(weights)


def note_digest(weights: Path) -> str:
    """Compute the digest anew and keep it, if the folder can be written to."""
    state = weights.stat()
    sha256 = file_sha256(weights)
    note = {"size": state.st_size, "mtime_ns": state.st_mtime_ns, "sha256": sha256}
    kept = weights.with_name(weights.name + _DIGEST_ENDING)
    temporary = kept.with_name(f".{kept.name}.{os.getpid()}")
    try:
        temporary.write_text(json.dumps(note))
        temporary.replace(kept)
    except OSError:
        # A read-only folder costs the time to compute the digest again, and nothing else.
        temporary.unlink(missing_ok=True)
    return sha256


def file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_note(path: Path) -> dict[str, Any]:
    try:
        note = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return note if isinstance(note, dict) and "sha256" in note else {}
