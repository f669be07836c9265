"""What the engine has of a folder: read as a whole, and kept up to date with what was done since."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import httpx

from kb.cli.syncing.carrying import Result
from kb.cli.syncing.planning import Delete, KnownDocument, Rename, Replace
from kb.client import EngineClient, Json, read_all
from kb.sizes import BYTES_PER_MB


@dataclass(frozen=True)
class SyncedDocuments:
    """What the engine has of the folder, and what it takes."""

    documents: Sequence[KnownDocument]
    max_bytes: int
    version: str


async def read_synced_documents(engine: EngineClient, folder: str) -> SyncedDocuments:
    status = await engine.get_status()
    listed = read_all(engine.list_documents, "documents", source_folder=folder, sort="source_path")
    # By their ids: what somebody adds or deletes meanwhile may have one told twice.
    documents = {told["id"]: _known(told) async for told in listed}
    max_bytes = status["configuration"]["max_file_size_mb"] * BYTES_PER_MB
    return SyncedDocuments([*documents.values()], max_bytes, status["version"])


async def apply_results(engine: EngineClient, synced: SyncedDocuments, results: Iterable[Result]) -> SyncedDocuments:
    """What the engine has after these steps. Only the documents that were changed are read."""
    documents = {document.id: document for document in synced.documents}
    for result in results:
        if result.error is not None or result.document_id is None:
            continue
        if isinstance(result.step, Replace | Rename | Delete):
            # The engine may have put another in its place, if somebody had deleted it.
            documents.pop(result.step.document.id, None)
        if isinstance(result.step, Delete):
            continue
        try:
            documents[result.document_id] = _known(await engine.get_document(result.document_id, chunks=False))
        except httpx.HTTPStatusError as error:
            # Somebody has deleted it already.
            if error.response.status_code != httpx.codes.NOT_FOUND:
                raise
    return replace(synced, documents=[*documents.values()])


def _known(told: Json) -> KnownDocument:
    return KnownDocument(
        told["id"], told["source_path"], told["content_hash"], told["version"], told["doc_type"] == "note"
    )
