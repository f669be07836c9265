"""The model that makes vectors, and what it computes on."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

Device: TypeAlias = Literal["cpu", "cuda", "rocm"]
WantedDevice: TypeAlias = Literal["auto", "cpu", "cuda", "rocm"]


@dataclass(frozen=True)
class EmbeddingModel:
    name: str
    dimension: int
    window: int
    fingerprint: str
    """Changes whenever the model would give the same text other numbers; vectors of two fingerprints never meet."""
    prompt_tokens: int = 0
    """How much of the window is taken by what the embedder puts in front of each passage."""


@dataclass(frozen=True)
class Computing:
    device: Device = "cpu"
    shortfall: str | None = None
    """Why it is not the device that was asked for, and the way out: a sentence for a person."""
