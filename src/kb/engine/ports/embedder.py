"""The model that turns text into numbers."""

from collections.abc import Sequence
from typing import Protocol

from kb.engine.model import Computing, EmbeddingModel, Vector, Vectors


class Embedder(Protocol):
    @property
    def model(self) -> EmbeddingModel: ...

    @property
    def is_ready(self) -> bool:
        """Whether embedding would start at once rather than wait for the model to load."""
        ...

    @property
    def failure(self) -> str | None:
        """Why it will not become ready, in a sentence for a person; None while it may or is."""
        ...

    @property
    def computing(self) -> Computing:
        """On what, once it is ready. Until then nothing computes."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """One unit vector a text, in the order given; text beyond the model's window is not seen."""
        ...

    def embed_query(self, text: str) -> Vector: ...

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Where each token of the whole text begins and ends, in characters."""
        ...
