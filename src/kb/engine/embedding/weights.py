"""A model's weights: the tensors in a safetensors file, and the file's digest."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kb.engine.errors import Unavailable

WEIGHTS_FILE = "model.safetensors"
_DIGEST_ENDING = ".digest.json"

Tensor = npt.NDArray[np.float32]


def read_tensors(path: Path) -> Mapping[str, Tensor]:
    """The float32 tensors of the file, mapped into memory and not read until they are used."""
    try:
        mapped = np.memmap(path, np.uint8, "r")
        # Eight bytes tell the header's length; the tensors' offsets count from the header's end.
        content = 8 + int.from_bytes(mapped[:8].tobytes(), "little")
        header = json.loads(mapped[8:content].tobytes())
        return {
            name: _tensor(mapped[content:], entry)
            for name, entry in header.items()
            if name != "__metadata__" and entry["dtype"] == "F32"
        }
    except (ValueError, KeyError) as error:
        raise Unavailable("The model's weights are damaged; fetch the model again.") from error


def _tensor(mapped: npt.NDArray[np.uint8], entry: Mapping[str, Any]) -> Tensor:
    begin, end = entry["data_offsets"]
    return mapped[begin:end].view("<f4").reshape(entry["shape"])


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
