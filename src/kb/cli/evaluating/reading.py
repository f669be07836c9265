"""The documents of the base that are asked for, and as much of their text as tells one from another."""

from collections.abc import Sequence
from dataclasses import dataclass

import httpx

from kb.client import EngineClient, Json, read_all

# From three places of a long document so many chunks each; what is not longer than all of these is read whole.
_CHUNKS_OF_PLACE = 8
_PLACES = 3


@dataclass(frozen=True)
class Scope:
    """Which documents are meant; without anything, all."""

    tags: tuple[str, ...] = ()
    doc_type: str | None = None


EVERYWHERE = Scope()


@dataclass(frozen=True)
class Reading:
    """A document, and the chunks of it that were read, in their order."""

    document: Json
    chunks: tuple[Json, ...]

    @property
    def document_id(self) -> int:
        return int(self.document["id"])

    @property
    def title(self) -> str:
        return str(self.document["title"])

    @property
    def texts(self) -> list[str]:
        return [chunk["text"] for chunk in self.chunks]


async def list_documents(engine: EngineClient, scope: Scope) -> list[Json]:
    """All of them, however many, in the order in which they were added."""
    wanted: Json = {"tags": scope.tags, "doc_type": scope.doc_type, "sort": "date_added", "order": "asc"}
    documents = read_all(engine.list_documents, "documents", **wanted)
    return list({document["id"]: document async for document in documents}.values())


def spread_out(documents: Sequence[Json], most: int) -> list[Json]:
    """Some of them, at even distances: the same ones each time, and none twice."""
    count = min(most, len(documents))
    return [documents[number * len(documents) // count] for number in range(count)]


async def read_document(engine: EngineClient, document: Json) -> Reading | None:
    """None if it was deleted meanwhile."""
    chunks: list[Json] = []
    for offset, limit in places_to_read(document["chunk_count"]):
        read = await _read_chunks(engine, document["id"], offset, limit)
        if read is None:
            return None
        chunks += read
    return Reading(document, tuple(chunks))


async def read_whole(engine: EngineClient, document_id: int) -> list[str]:
    """The texts of all its chunks; none if it was deleted meanwhile."""
    return [chunk["text"] for chunk in await _read_chunks(engine, document_id) or ()]


async def _read_chunks(
    engine: EngineClient, document_id: int, offset: int = 0, limit: int | None = None
) -> list[Json] | None:
    try:
        if limit is None:
            document = await engine.get_whole_document(document_id)
        else:
            document = await engine.get_document(document_id, chunk_offset=offset, chunk_limit=limit)
    except httpx.HTTPStatusError as error:
        if error.response.status_code != httpx.codes.NOT_FOUND:
            raise
        return None
    return list(document["chunks"])


def places_to_read(chunk_count: int) -> list[tuple[int, int]]:
    """Where to begin and how many chunks to read there: the beginning, the middle and the end."""
    if chunk_count <= _PLACES * _CHUNKS_OF_PLACE:
        return [(0, chunk_count)] if chunk_count else []
    last = chunk_count - _CHUNKS_OF_PLACE
    return [(place * last // (_PLACES - 1), _CHUNKS_OF_PLACE) for place in range(_PLACES)]
