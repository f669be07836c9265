"""lancedb: columns on disk, a full-text index, and vectors that are scanned, or in an IVF index if asked for."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import lancedb
import pyarrow as pa

from bench.contest.contestant import TOP, Contestant, Document, Query

DOCUMENTS_A_BATCH = 500
TABLE = "chunks"


class Lance(Contestant):
    has_vector_index = False

    def __init__(self, folder: Path, dimension: int) -> None:
        self._db = lancedb.connect(str(folder))
        vector = pa.list_(pa.float32(), dimension)
        whole = pa.int64()
        self._schema = pa.schema({"id": whole, "document": whole, "part": whole, "text": pa.string(), "vector": vector})
        is_there = (folder / f"{TABLE}.lance").exists()
        self._table = self._db.open_table(TABLE) if is_there else self._db.create_table(TABLE, schema=self._schema)

    def fill(self, documents: Iterable[Document]) -> None:
        self._table.add(pa.RecordBatchReader.from_batches(self._schema, self._batch(documents)))
        self._table.create_fts_index("text", with_position=False)
        self._table.create_scalar_index("part")
        self._table.create_scalar_index("document")
        if self.has_vector_index:
            self._table.create_index(metric="cosine", index_type="IVF_PQ")
        self._table.optimize()

    def search(self, query: Query) -> list[int]:
        search: Any
        if query.mode == "keyword":
            search = self._table.search(query.text, query_type="fts")
        elif query.mode == "vector":
            search = self._table.search(query.vector, query_type="vector").distance_type("cosine")
        else:
            search = self._table.search(query_type="hybrid").vector(query.vector).text(query.text)
        if self.has_vector_index and query.mode != "keyword":
            # Without a second look at the true vectors, quantised ones would not be worth comparing.
            search = search.refine_factor(TOP)
        if query.percent is not None:
            search = search.where(f"part < {query.percent}", prefilter=True)
        found = search.limit(TOP).select(["id", "text"]).to_arrow()
        numbers: list[int] = found["id"].to_pylist()
        return numbers

    def update(self, document: Document) -> None:
        self._table.delete(f"document = {document.number}")
        self._table.add(pa.Table.from_batches(self._batch([document]), self._schema))

    def delete(self, number: int) -> None:
        self._table.delete(f"document = {number}")

    def close(self) -> None:
        pass

    def _batch(self, documents: Iterable[Document]) -> Iterator[Any]:
        waiting: list[Document] = []
        for document in documents:
            waiting.append(document)
            if len(waiting) == DOCUMENTS_A_BATCH:
                yield self._to_batch(waiting)
                waiting = []
        if waiting:
            yield self._to_batch(waiting)

    def _to_batch(self, documents: list[Document]) -> Any:
        return pa.RecordBatch.from_pydict(
            {
                "id": [number for document in documents for number in document.chunk_numbers],
                "document": [document.number for document in documents for _ in document.texts],
                "part": [document.part for document in documents for _ in document.texts],
                "text": [text for document in documents for text in document.texts],
                "vector": [vector for document in documents for vector in document.vectors],
            },
            schema=self._schema,
        )


class IndexedLance(Lance):
    has_vector_index = True
