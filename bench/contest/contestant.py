"""What every contestant can do, and what it is given: documents and queries with ready-made vectors.

The peers run in an environment without kb, so nothing here or in their files may import it.
"""

import mmap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

CHUNKS_PER_DOCUMENT = 10
ROWS_A_BLOCK = 1_000
PARTS = 100
"""A document's part is its number modulo this; a filter lets parts below a percentage through."""
TOP = 10

Vector: TypeAlias = NDArray[np.float32]
Vectors: TypeAlias = NDArray[np.float32]
Mode: TypeAlias = Literal["keyword", "vector", "hybrid"]
MODES: tuple[Mode, ...] = ("keyword", "vector", "hybrid")


@dataclass(frozen=True)
class Document:
    number: int
    texts: list[str]
    vectors: Vectors

    @property
    def part(self) -> int:
        return self.number % PARTS

    @property
    def chunk_numbers(self) -> range:
        return number_chunks(self.number)


@dataclass(frozen=True)
class Query:
    text: str
    vector: Vector
    mode: Mode
    percent: int | None = None
    """Only documents whose part is below this; None for all."""


class Contestant(Protocol):
    """Made with a folder of its own, where it keeps everything, and the vectors' dimension."""

    def fill(self, documents: Iterable[Document]) -> None:
        """Called once, on an empty folder."""
        ...

    def search(self, query: Query) -> list[int] | None:
        """The numbers of the ten best chunks, whose texts it has read; None if it has no such search."""
        ...

    def find_nearest(self, query: Query) -> list[int] | None:
        """Those nearest by vector alone, where that is not what `search` answers in this mode."""
        return self.search(query)

    def update(self, document: Document) -> None:
        """Give a document that is there other texts and vectors."""
        ...

    def delete(self, number: int) -> None: ...

    def close(self) -> None: ...


class Corpus:
    """The folder that `python -m bench.corpus` makes, as far as it has got."""

    def __init__(self, folder: Path) -> None:
        with (folder / "text.txt").open("rb") as file:
            self._text = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._spans: NDArray[np.int64] = np.load(folder / "chunks.npy", mmap_mode="r")
        self.vectors: Vectors = np.load(folder / "vectors.f32.npy", mmap_mode="r")
        self._folder = folder

    @property
    def chunk_count(self) -> int:
        """How many chunks from the first one on have their vectors."""
        is_done = np.load(self._folder / "blocks.npy")
        blocks = len(is_done) if is_done.all() else int(np.argmin(is_done))
        return min(blocks * ROWS_A_BLOCK, len(self._spans))

    def read_chunk(self, number: int) -> str:
        begin, end = self._spans[number, :2]
        return self._text[begin:end].decode()

    def read_passage(self, number: int) -> str:
        begin, end = self._spans[number, 2:]
        return self._text[begin:end].decode()

    def read_document(self, number: int) -> Document:
        chunks = number_chunks(number)
        texts = [self.read_chunk(chunk) for chunk in chunks]
        return Document(number, texts, np.array(self.vectors[chunks.start : chunks.stop]))

    def read_documents(self, chunk_count: int) -> Iterator[Document]:
        for number in range(chunk_count // CHUNKS_PER_DOCUMENT):
            yield self.read_document(number)

    def read_queries(self) -> tuple[list[str], Vectors]:
        texts = (self._folder / "queries.txt").read_text(encoding="utf-8").splitlines()
        return texts, np.load(self._folder / "queries.f32.npy")


def number_chunks(document_number: int) -> range:
    first = document_number * CHUNKS_PER_DOCUMENT
    return range(first, first + CHUNKS_PER_DOCUMENT)
