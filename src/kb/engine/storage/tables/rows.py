"""How the engine's values look as rows, and back."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from kb.engine.errors import Damaged, DocumentNotFound, JobNotFound, VersionConflict
from kb.engine.model import Chunk, ChunkId, Document, DocumentId, JobId, Metadata, Ref
from kb.engine.storage.tables.connection import Connection, Executor

DOCUMENT_COLUMNS = (
    "id, uuid, title, doc_type, format, filename, source_path, size_bytes, content_hash, original, metadata, "
    "processing_method, chunk_count, version, title_is_given, created_at, updated_at"
)
CHUNK_COLUMNS = "id, uuid, ordinal, text, page_num, heading"

# The databases' integers end here; a larger one names nothing.
LARGEST_ID = 2**63 - 1

# What most documents have.
NO_METADATA = "{}"


def fetch_all(db: Executor, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    return db.execute(sql, values).fetchall()


def to_text(moment: datetime) -> str:
    """RFC 3339 in UTC with a fixed width, so that text order is time order."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def to_datetime(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def to_json(value: object, *, sort_keys: bool = False) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=sort_keys)


def find_id(db: Connection, table: str, ref: Ref) -> int | None:
    """The integer id of what `ref` names, if it exists. `table` is never a caller's text."""
    if isinstance(ref, UUID):
        found: int | None = db.execute(f"SELECT id FROM {table} WHERE uuid = ?", (ref.bytes,)).get
    elif ref <= LARGEST_ID:
        found = db.execute(f"SELECT id FROM {table} WHERE id = ?", (ref,)).get
    else:
        found = None
    return found


def document_id_of(db: Connection, ref: Ref) -> DocumentId:
    found = find_id(db, "documents", ref)
    if found is None:
        raise DocumentNotFound(ref)
    return DocumentId(found)


def job_id_of(db: Connection, ref: Ref) -> JobId:
    found = find_id(db, "jobs", ref)
    if found is None:
        raise JobNotFound(ref)
    return JobId(found)


def load_documents(db: Connection, document_ids: Sequence[int]) -> dict[int, Document]:
    """The documents with their tags, in two statements however many there are."""
    tags = load_tags(db, document_ids)
    rows = db.execute(
        f"SELECT {DOCUMENT_COLUMNS} FROM documents WHERE id IN {db.dialect.id_list}",
        (json.dumps(list(document_ids)),),
    )
    with damage_told():
        return {row[0]: to_document(row, tags.get(row[0], ())) for row in rows}


def load_tags(db: Connection, document_ids: Sequence[int]) -> dict[int, list[str]]:
    """Of those that have any."""
    tags: dict[int, list[str]] = {}
    for document_id, name in db.execute(
        "SELECT document_tags.document_id, tags.name FROM document_tags JOIN tags ON tags.id = tag_id "
        f"WHERE document_id IN {db.dialect.id_list} ORDER BY document_id, position",
        (json.dumps(list(document_ids)),),
    ):
        tags.setdefault(document_id, []).append(name)
    return tags


def load_document(db: Connection, document_id: DocumentId) -> Document:
    return load_documents(db, [document_id])[document_id]


def lock_document(db: Connection, document_id: DocumentId) -> None:
    """Let nobody else change it before this transaction ends; raises `DocumentNotFound` if it is gone."""
    found = db.execute(f"SELECT id FROM documents WHERE id = ? {db.dialect.for_update}", (document_id,)).get
    if found is None:
        raise DocumentNotFound(document_id)


def load_unchanged_document(db: Connection, ref: Ref, expected_version: int | None) -> Document:
    """The document, to be changed, provided it is still the version that the caller has seen."""
    document_id = document_id_of(db, ref)
    lock_document(db, document_id)
    document = load_document(db, document_id)
    if expected_version is not None and expected_version != document.version:
        raise VersionConflict(document.version)
    return document


@contextmanager
def damage_told() -> Iterator[None]:
    """For making values of rows: bytes that are none of ours would otherwise end as an error of nobody."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise Damaged("A row of the base is damaged. GET /integrity tells which; restore a backup.") from error


def to_document(row: Sequence[Any], tags: Iterable[str]) -> Document:
    return Document(
        id=DocumentId(row[0]),
        uuid=UUID(bytes=row[1]),
        title=row[2],
        doc_type=row[3],
        format=row[4],
        filename=row[5],
        source_path=row[6],
        size_bytes=row[7],
        content_hash=row[8],
        original=row[9],
        tags=tuple(tags),
        metadata=to_metadata(row[10]),
        processing_method=row[11],
        chunk_count=row[12],
        version=row[13],
        title_is_given=bool(row[14]),
        created_at=datetime.fromisoformat(row[15]),
        updated_at=to_datetime(row[16]),
    )


def to_metadata(text: str) -> Metadata:
    metadata: Metadata = json.loads(text) if text != NO_METADATA else {}
    return metadata


def to_chunks(rows: Iterable[Sequence[Any]]) -> list[Chunk]:
    with damage_told():
        return [Chunk(ChunkId(row[0]), UUID(bytes=row[1]), row[2], row[3], row[4], row[5]) for row in rows]
