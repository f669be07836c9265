"""Take over a base of kb v2: what it holds is written anew into an empty base of today's schema.

Documents, chunks, tags and jobs keep their ids, and no id of v2 is given to anything new. Hashes are computed anew,
from the content. Vectors are not taken over: to read them needs an extension of SQLite, and the engine makes them
in the background as after any change of the model. Nothing of v2 is changed, neither its base nor its files.
"""

import json
import os
import re
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path, PureWindowsPath

import apsw

from kb.engine.errors import Unavailable
from kb.engine.model.hashes import hash_of, hash_of_original
from kb.engine.model.limits import (
    MAX_DERIVED_TITLE_CHARACTERS,
    MAX_SOURCE_PATH_CHARACTERS,
    MAX_TAG_CHARACTERS,
    MAX_TITLE_CHARACTERS,
)
from kb.engine.model.naming import without_controls
from kb.engine.model.portable import PortableChunk
from kb.engine.originals import FolderOriginals, compute_digest, sync_folder
from kb.engine.storage.sqlite.chunks import insert_chunk
from kb.engine.storage.sqlite.connection import SqliteConnection
from kb.engine.storage.sqlite.database import open_untouched
from kb.engine.storage.tables.chunks import spaced_or_none
from kb.engine.storage.tables.rows import fetch_all, to_text
from kb.engine.storage.tables.tags import insert_tags

V2 = 2
V2_NAMES = ("kb.db", "kb.sqlite3", "knowledge.db")
V2_TABLES = ("documents", "chunks", "tags", "document_tags", "jobs")

PICTURES = frozenset({"jpg", "png", "svg", "tiff", "webp"})
FORMATS = PICTURES | {
    "pdf",
    "docx",
    "pptx",
    "xlsx",
    "html",
    "md",
    "txt",
    "csv",
    "json",
    "code",
    "eml",
    "epub",
    "odt",
    "rtf",
}
FORMAT_OF_NAME = {"markdown": "md", "text": "txt", "jpeg": "jpg", "htm": "html", "tif": "tiff"}

LARGEST_PAGE = 2**31
# There must be room for the ids to come.
LARGEST_ID = 2**53
UNFINISHED = "It was not finished before the upgrade; submit it again."


@dataclass(frozen=True)
class V2Document:
    id: int
    title: str
    doc_type: str
    source_path: str | None
    stored_path: str | None
    created_at: str

    @property
    def is_note(self) -> bool:
        return self.doc_type == "note"


@dataclass(frozen=True)
class Content:
    """What a document's hash is of: its original, or its text where it has none."""

    content_hash: str
    size_bytes: int
    original: str | None


def is_v2(db: apsw.Connection) -> bool:
    if db.pragma("user_version") != V2:
        return False
    if not _is_plain_table(db, "documents"):
        return False
    columns = {row[0] for row in db.execute("SELECT name FROM pragma_table_info('documents')")}
    return "id" in columns and "updated_at" not in columns


def _is_plain_table(db: apsw.Connection, name: str) -> bool:
    """Whether it is neither a view nor a virtual table: reading one of these could run foreign code."""
    sql = db.execute("SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?", (name,)).get
    return str(sql).startswith("CREATE TABLE ")


def find_v2_base(folder: Path) -> Path | None:
    """Nothing fixes what v2 called its base, so it is known by what is in it."""
    found = [folder / name for name in V2_NAMES if (folder / name).is_file() and _holds_v2(folder / name)]
    if len(found) > 1:
        names = " and ".join(path.name for path in found)
        raise Unavailable(f"Both {names} in {folder} are bases of kb v2. Move away all but the one to take over.")
    return found[0] if found else None


def _holds_v2(path: Path) -> bool:
    try:
        with open_untouched(path) as db:
            return is_v2(db)
    except apsw.NotADBError:
        return False


def take_over(
    old: apsw.Connection, new: SqliteConnection, *, folder: Path, originals: FolderOriginals, now: datetime
) -> None:
    """Fill the empty base `new` with everything in `old`. `folder` is where v2 kept its files.

    Originals get their place among ours before anything refers to them. A file that is gone leaves its document
    without an original: its text is still there.

    Only the tables of v2 are read. Anything else in the file never runs.
    """
    old.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
    old.config(apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0)
    for table in V2_TABLES:
        if not _is_plain_table(old, table):
            raise Unavailable(f"{table} is not the table that kb v2 made.")
    # v2 has no index by document, and without one each document would be a walk through all chunks.
    old.execute(
        "CREATE TEMP TABLE places AS SELECT document_id, chunk_index, id AS chunk_id FROM chunks; "
        "CREATE INDEX temp.places_by_document ON places (document_id, chunk_index, chunk_id)"
    )
    for row in old.execute(
        "SELECT id, CAST(title AS TEXT), CAST(doc_type AS TEXT), CAST(source_path AS TEXT), CAST(stored_path AS TEXT), "
        "CAST(created_at AS TEXT) FROM documents ORDER BY id"
    ):
        document = V2Document(*row)
        if not 0 < document.id < LARGEST_ID:
            raise Unavailable(f"Document {document.id} has an id that cannot be kept.")
        chunks = fetch_all(
            old,
            "SELECT id, CAST(text AS TEXT), CAST(metadata AS TEXT) FROM places JOIN chunks ON chunks.id = chunk_id "
            "WHERE places.document_id = ? ORDER BY places.chunk_index, id",
            (document.id,),
        )
        text = "\n\n".join(chunk[1] for chunk in chunks)
        content = _find_content(document, text, folder, originals)
        _add_document(new, document, text, content, len(chunks), now)
        for ordinal, (chunk_id, chunk_text, metadata) in enumerate(chunks):
            page_num, heading = _read_chunk_metadata(metadata)
            chunk = PortableChunk(uuid.uuid4(), chunk_text, heading, page_num)
            insert_chunk(new, document.id, ordinal, chunk, chunk_id=chunk_id)
    new.execute(
        "INSERT INTO note_revisions (document_id, version, title, title_is_given, content_hash, created_at) "
        "SELECT id, version, title, title_is_given, content_hash, created_at FROM documents WHERE note_text IS NOT NULL"
    )
    _flush_originals(new, originals)
    _take_over_tags(old, new)
    _take_over_jobs(old, new, now)
    _never_give_ids_again(old, new)


def _find_content(document: V2Document, text: str, folder: Path, originals: FolderOriginals) -> Content:
    file = None if document.is_note else _find_file(folder, document.stored_path)
    if file is None:
        encoded = text.encode()
        return Content(hash_of(encoded), len(encoded), None)
    name = _keep_original(file, originals)
    return Content(hash_of_original(name), file.stat().st_size, name)


def _find_file(folder: Path, stored_path: str | None) -> Path | None:
    if not stored_path or "\0" in stored_path:
        return None
    try:
        path = (folder / stored_path).resolve()
        # v2 stored all files in this folder, so kb reads no file elsewhere.
        return path if path.is_relative_to(folder.resolve()) and path.is_file() else None
    except (OSError, RuntimeError):
        # The path is too long, or its links form a loop.
        return None


def _keep_original(path: Path, originals: FolderOriginals) -> str:
    name = compute_digest(path)
    place = originals.path_of(name)
    if not place.exists():
        place.parent.mkdir(exist_ok=True)
        try:
            # Neither we nor v2 ever write into a stored file, so one copy on disk is enough for both.
            os.link(path, place)
        except OSError:
            # Some file systems have no links.
            originals.bring_back(name, path)
    return name


def _flush_originals(new: apsw.Connection, originals: FolderOriginals) -> None:
    """A file's new name is on disk only when its folder is, and that folder's name only when the one above it is."""
    rows = new.execute("SELECT DISTINCT original FROM documents WHERE original IS NOT NULL")
    folders = {originals.path_of(str(name)).parent for (name,) in rows}
    for folder in folders | {folder.parent for folder in folders}:
        sync_folder(folder)


def _add_document(
    new: apsw.Connection, document: V2Document, text: str, content: Content, chunk_count: int, now: datetime
) -> None:
    format = "note" if document.is_note else _format_of(document)
    title = _title_of(document, text)
    new.execute(
        "INSERT INTO documents (id, uuid, doc_type, format, title, search_title, title_is_given, filename, "
        "source_path, size_bytes, content_hash, original, note_text, processing_method, chunk_count, created_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            document.id,
            uuid.uuid4().bytes,
            "image" if format in PICTURES else format,
            format,
            title,
            spaced_or_none(title),
            # Whether somebody gave it is not known; a title that was seen must not change by itself.
            bool(document.title.strip()),
            _filename_of(document, title),
            _path_of(document),
            content.size_bytes,
            content.content_hash,
            content.original,
            text if document.is_note else None,
            "image_analysis" if format in PICTURES - {"svg"} else "text_extraction",
            chunk_count,
            _to_moment(document.created_at, now),
        ),
    )


def _format_of(document: V2Document) -> str:
    paths = [PureWindowsPath(path) for path in (document.stored_path, document.source_path) if path]
    for name in (document.doc_type, *[path.suffix.removeprefix(".") for path in paths]):
        format = FORMAT_OF_NAME.get(name.lower(), name.lower())
        if format in FORMATS:
            return format
    return "txt"


def _title_of(document: V2Document, text: str) -> str:
    first_line = text.strip().partition("\n")[0].strip()[:MAX_DERIVED_TITLE_CHARACTERS]
    return document.title.strip()[:MAX_TITLE_CHARACTERS] or first_line or f"Document {document.id}"


def _path_of(document: V2Document) -> str | None:
    return (document.source_path or "").replace("\0", "")[:MAX_SOURCE_PATH_CHARACTERS] or None


def _filename_of(document: V2Document, title: str) -> str:
    # A Windows path is read rightly from any system: it takes both slashes.
    path = document.source_path or document.stored_path or ""
    name = PureWindowsPath(without_controls(path)).name.strip()
    return name or (re.sub(r"[^\w .-]+", " ", title).strip(" .") or "Untitled") + ".md"


def _read_chunk_metadata(metadata: str | None) -> tuple[int | None, str | None]:
    """Page and heading, where they are what they should be: nobody ever checked what was written here."""
    try:
        fields = json.loads(metadata or "{}")
    except (ValueError, RecursionError):
        return None, None
    if not isinstance(fields, dict):
        return None, None
    page, heading = fields.get("page"), fields.get("heading")
    has_page = isinstance(page, int) and not isinstance(page, bool) and 0 < page < LARGEST_PAGE
    has_heading = isinstance(heading, str) and heading.strip()
    return (page if has_page else None), (heading if has_heading else None)


def _take_over_tags(old: apsw.Connection, new: SqliteConnection) -> None:
    links = fetch_all(
        old,
        "SELECT document_id, CAST(name AS TEXT) FROM document_tags JOIN tags ON tags.id = tag_id "
        "WHERE document_id IN (SELECT id FROM documents) ORDER BY document_id, tag_id",
    )
    # In the order of their ids: v2 knew no other.
    for document_id, names in groupby(links, key=lambda link: link[0]):
        tags = (name.replace("\0", "").strip()[:MAX_TAG_CHARACTERS].strip() for _, name in names)
        # All tags, even if they are too many: none is lost, and the user can remove some.
        insert_tags(new, document_id, [*dict.fromkeys(filter(None, tags))])


def _take_over_jobs(old: apsw.Connection, new: apsw.Connection, now: datetime) -> None:
    """What was done is kept as done. The rest has failed: what it was to work on is v2's own affair."""
    for job_id, kind, status, error, document_id, created_at, finished_at in fetch_all(
        old, "SELECT id, kind, status, error, document_id, created_at, finished_at FROM jobs ORDER BY id"
    ):
        is_done = status == "completed"
        code, message = (None, None) if is_done else ("internal_error", error if status == "failed" else UNFINISHED)
        new.execute(
            "INSERT INTO jobs (id, uuid, kind, status, priority, filename, available_at, error_code, error_message, "
            "created_at, finished_at, document_id, document_uuid, chunks_created) "
            "SELECT ?1, ?2, ?3, ?4, 1, '', ?5, ?6, ?7, ?5, ?8, d.id, d.uuid, d.chunk_count "
            "FROM (SELECT 1) LEFT JOIN documents AS d ON d.id = ?9 AND ?4 = 'completed'",
            (
                job_id,
                uuid.uuid4().bytes,
                "note" if kind == "note" else "file",
                "completed" if is_done else "failed",
                _to_moment(created_at, now),
                code,
                message or (None if is_done else UNFINISHED),
                _to_moment(finished_at, now),
                document_id,
            ),
        )


def _never_give_ids_again(old: apsw.Connection, new: apsw.Connection) -> None:
    for table in ("documents", "chunks", "tags", "jobs"):
        highest = max(
            old.execute("SELECT max(seq) FROM sqlite_sequence WHERE name = ?", (table,)).get or 0,
            new.execute("SELECT max(seq) FROM sqlite_sequence WHERE name = ?", (table,)).get or 0,
        )
        new.execute("DELETE FROM sqlite_sequence WHERE name = ?", (table,))
        new.execute("INSERT INTO sqlite_sequence VALUES (?, ?)", (table, highest))


def _to_moment(text: str | None, otherwise: datetime) -> str:
    """v2 wrote UTC without saying so."""
    try:
        moment = datetime.fromisoformat(str(text))
        return to_text(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        return to_text(otherwise)
