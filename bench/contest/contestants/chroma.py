"""chromadb as it comes: an HNSW graph of the vectors, texts and metadata in SQLite. It has no search by keyword."""

from collections.abc import Iterable
from pathlib import Path

import chromadb
from chromadb.config import Settings

from bench.contest.contestant import TOP, Contestant, Document, Query

DOCUMENTS_A_CALL = 100


class Chroma(Contestant):
    def __init__(self, folder: Path, dimension: int) -> None:
        self._client = chromadb.PersistentClient(str(folder), Settings(anonymized_telemetry=False))
        cosine = {"hnsw": {"space": "cosine"}}
        self._chunks = self._client.get_or_create_collection("chunks", configuration=cosine, embedding_function=None)

    def fill(self, documents: Iterable[Document]) -> None:
        waiting: list[Document] = []
        for document in documents:
            waiting.append(document)
            if len(waiting) == DOCUMENTS_A_CALL:
                self._add(waiting)
                waiting = []
        self._add(waiting)

    def search(self, query: Query) -> list[int] | None:
        if query.mode != "vector":
            return None
        where = None if query.percent is None else {"part": {"$lt": query.percent}}
        found = self._chunks.query(
            query_embeddings=query.vector[None], n_results=TOP, where=where, include=["documents"]
        )
        return [int(name) for name in found["ids"][0]]

    def update(self, document: Document) -> None:
        self._chunks.update(
            ids=_name(document), embeddings=document.vectors, documents=document.texts, metadatas=_describe(document)
        )

    def delete(self, number: int) -> None:
        self._chunks.delete(where={"document": number})

    def close(self) -> None:
        pass

    def _add(self, documents: list[Document]) -> None:
        if documents:
            self._chunks.add(
                ids=[name for document in documents for name in _name(document)],
                embeddings=[vector for document in documents for vector in document.vectors],
                documents=[text for document in documents for text in document.texts],
                metadatas=[facts for document in documents for facts in _describe(document)],
            )


def _name(document: Document) -> list[str]:
    return [str(number) for number in document.chunk_numbers]


def _describe(document: Document) -> list[dict[str, int]]:
    return [{"document": document.number, "part": document.part} for _ in document.texts]
