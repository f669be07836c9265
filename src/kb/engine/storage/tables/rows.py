"""How the engine's values look as rows, and back."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from pydantic_core import SchemaValidator, core_schema

from kb.engine.errors import Damaged, DocumentNotFound, JobNotFound, VersionConflict
from kb.engine.model import Chunk, ChunkId, Document, DocumentId, JobId, Metadata, Ref
from kb.engine.model.limits import MAX_ANSWER_BYTES
from kb.engine.storage.tables.connection import Connection, Executor

DOCUMENT_COLUMNS = (
    "id, uuid, title, doc_type, format, filename, source_path, size_bytes, content_hash, original, metadata, "
    "processing_method, chunk_count, version, title_is_given, created_at, updated_at"
)
CHUNK_COLUMNS = "id, uuid, ordinal, text, page_num, heading"

# SQL for the size of a row in bytes: the fields of variable size, and a constant for the rest of its JSON.
TAGS_BYTES = (
    "(SELECT COALESCE(sum(octet_length(name) + 3), 0) FROM document_tags JOIN tags ON tags.id = tag_id "
    "WHERE document_id = documents.id)"
)
DOCUMENT_BYTES = (
    "500 + octet_length(title) + octet_length(filename) + COALESCE(octet_length(source_path), 0) "
    f"+ octet_length(metadata) + {TAGS_BYTES}"
)
CHUNK_BYTES = "150 + octet_length(text) + COALESCE(octet_length(heading), 0)"

# The databases' integers end here; a larger one names nothing.
LARGEST_ID = 2**63 - 1

# Checks JSON without making objects of it, which would take six times as long.
_AN_OBJECT = SchemaValidator(core_schema.typed_dict_schema({}, extra_behavior="ignore"))

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


def count_fitting(sizes: Iterable[int], *, max_bytes: int = MAX_ANSWER_BYTES) -> int:
    """How many of the first rows an answer has room for. At least one, or the reader could not go on."""
    count = total = 0
    for size in sizes:
        total += size
        if count and total > max_bytes:
            break
        count += 1
    return count


def measure_documents(db: Connection, document_ids: Sequence[int]) -> list[int]:
    """The bytes of each of these documents, in their order."""
    sizes: dict[int, int] = dict(
        db.execute(
            f"SELECT id, {DOCUMENT_BYTES} FROM documents WHERE id IN {db.dialect.id_list}",
            (json.dumps(list(document_ids)),),
        )
    )
    return [sizes[document_id] for document_id in document_ids]


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
        metadata_json=_whole_json(row[10]),
        processing_method=row[11],
        chunk_count=row[12],
        version=row[13],
        title_is_given=bool(row[14]),
        created_at=datetime.fromisoformat(row[15]),
        updated_at=to_datetime(row[16]),
    )


def _whole_json(text: str) -> str:
    """The text unchanged, since it is sent as it is stored. Raises `ValueError` if it is damaged."""
    if text != NO_METADATA:
        _AN_OBJECT.validate_json(text)
    return text


def to_metadata(text: str) -> Metadata:
    metadata: Metadata = json.loads(text) if text != NO_METADATA else {}
    return metadata


def to_chunks(rows: Iterable[Sequence[Any]]) -> list[Chunk]:
    with damage_told():
        return [Chunk(ChunkId(row[0]), UUID(bytes=row[1]), row[2], row[3], row[4], row[5]) for row in rows]
