"""Documents about one of two topics, and where they lie on the map."""

import numpy as np
from tests.backends import MODEL
from tests.handmade_documents import DIMENSION, add, note

from kb.engine.model import (
    Document,
    IndexedChunk,
    IndexedText,
    Passage,
    Vector,
)
from kb.engine.ports import Store

Spots = dict[int, tuple[float, float]]

# Two topics, in different corners of the space.
CENTRES = np.eye(2, DIMENSION, dtype=np.float32)


def vector_about(topic: int, seed: int) -> Vector:
    noise = np.random.default_rng(seed).normal(scale=0.1, size=DIMENSION)
    vector: Vector = (CENTRES[topic] + noise).astype(np.float32)
    return vector / np.float32(np.linalg.norm(vector))


def add_about(store: Store, topic: int, seed: int, *, model: str = MODEL) -> Document:
    """A document of two chunks about the topic."""
    text = f"about {topic}, number {seed}"
    chunks = [IndexedChunk(Passage(text), vector_about(topic, seed * 2 + half)) for half in (0, 1)]
    return add(store, note(text, title=text), IndexedText(chunks, model))


def fill(store: Store, each: int) -> tuple[list[Document], list[Document]]:
    made = [[add_about(store, topic, 1000 * topic + number) for number in range(each)] for topic in (0, 1)]
    return made[0], made[1]


def spots(store: Store) -> Spots:
    return {document.id: (document.x, document.y) for document in store.read_map(limit=1000).documents}


def distance(one: tuple[float, float], other: tuple[float, float]) -> float:
    return float(np.hypot(one[0] - other[0], one[1] - other[1]))
