"""txtai with its BM25 index, faiss and contents in SQLite.

It takes vectors only by way of a function from texts to vectors, which here looks up what it was given. Filters are
conditions in its SQL, and look at the best candidates only: its own default.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from txtai.embeddings import Embeddings

from bench.contest.contestant import TOP, Contestant, Document, Query, Vector, Vectors, number_chunks

# Several, where chunks say the same.
_given: defaultdict[str, list[Vector]] = defaultdict(list)


def look_up(texts: list[str]) -> Vectors:
    """Each once: all vectors of a large base, kept here, would be counted as its memory."""
    return np.stack([_take(text) for text in texts])


def _take(text: str) -> Vector:
    vectors = _given[text]
    vector = vectors.pop(0)
    if not vectors:
        del _given[text]
    return vector


class Txtai(Contestant):
    def __init__(self, folder: Path, dimension: int) -> None:
        self._saved = str(folder / "index")
        self._index: Any = Embeddings(
            method="external",
            transform=f"{look_up.__module__}.{look_up.__name__}",
            content=True,
            hybrid=True,
            backend="faiss",
        )
        if self._index.exists(self._saved):
            self._index.load(self._saved)

    def fill(self, documents: Iterable[Document]) -> None:
        self._index.index(self._render(documents))
        self._index.save(self._saved)

    def search(self, query: Query) -> list[int] | None:
        if query.mode == "keyword" and query.percent is None:
            return self._read_texts([number for number, _ in self._index.scoring.search(query.text, TOP)])
        if query.mode == "vector" and query.percent is None:
            return self._read_texts([number for number, _ in self._index.ann.search(query.vector[None], TOP)[0]])
        if query.mode != "hybrid":
            return None
        _given[query.text].append(query.vector)
        condition = "" if query.percent is None else f" and part < {query.percent}"
        statement = f"select id, text from txtai where similar(:text){condition}"  # noqa: S608
        found = self._index.search(statement, TOP, parameters={"text": query.text})
        return [int(row["id"]) for row in found]

    def update(self, document: Document) -> None:
        self._index.upsert(self._render([document]))
        self._index.save(self._saved)

    def delete(self, number: int) -> None:
        self._index.delete([str(chunk) for chunk in number_chunks(number)])
        self._index.save(self._saved)

    def close(self) -> None:
        self._index.close()

    def _read_texts(self, index_ids: list[int]) -> list[int]:
        if not index_ids:
            return []
        places = ", ".join(map(str, index_ids))
        statement = f"select indexid, id, text from txtai where indexid in ({places})"  # noqa: S608
        names = {row["indexid"]: int(row["id"]) for row in self._index.search(statement, TOP)}
        return [names[number] for number in index_ids]

    def _render(self, documents: Iterable[Document]) -> Iterator[tuple[str, dict[str, object], None]]:
        for document in documents:
            for number, text, vector in zip(document.chunk_numbers, document.texts, document.vectors, strict=True):
                _given[text].append(vector)
                yield str(number), {"text": text, "part": document.part}, None
