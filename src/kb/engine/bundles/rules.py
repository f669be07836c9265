"""What must be true of a document that comes from elsewhere, beyond the types of its fields.

Lengths are checked only where a longer one would harm others; what a base may hold must also be able to come back.
"""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta

import numpy as np

from kb.engine.model.hashes import hash_of, hash_of_original, is_name_of_original
from kb.engine.model.limits import (
    MAX_METADATA_BYTES,
    MAX_METADATA_DEPTH,
    MAX_SOURCE_PATH_CHARACTERS,
    MAX_TAG_CHARACTERS,
    MAX_TAGS,
    MAX_TITLE_CHARACTERS,
    count_metadata_bytes,
    is_deeper_than,
)
from kb.engine.model.portable import DocumentRecord, PortableDocument, PortableRevision

# Far beyond any count of versions, pages and bytes, and far from where SQLite's integers end.
LARGEST_NUMBER = 2**53
LARGEST_VERSION = 2**31
# What rounding to float32 may add to the length of a unit vector, with room to spare.
UNIT_TOLERANCE = 1e-3

KIND = re.compile(r"[a-z0-9_-]{1,40}")
MODEL = re.compile(r"[\x20-\x7e]{0,200}")
UNUSABLE_IN_FILENAMES = re.compile(r"[\x00-\x1f\x7f/\\]")


def find_fault(document: PortableDocument) -> str | None:
    """The first thing that is wrong with it, for a person; None if nothing is."""
    record = document.record
    return next(
        (
            fault
            for check in (_check_numbers, _check_names, _check_tags, _check_times, _check_metadata, _check_content)
            for fault in check(record)
        ),
        None,
    ) or next(_check_vectors(document), None)


def _check_numbers(record: DocumentRecord) -> Iterator[str]:
    if not 1 <= record.version <= LARGEST_VERSION:
        yield f"version must be between 1 and {LARGEST_VERSION}"
    pages = (chunk.page_num for chunk in record.chunks if chunk.page_num is not None)
    if not all(0 <= number <= LARGEST_NUMBER for number in (record.id, record.size_bytes, *pages)):
        yield f"id, size_bytes and page_num must be between 0 and {LARGEST_NUMBER}"


def _check_names(record: DocumentRecord) -> Iterator[str]:
    for name in ("doc_type", "format", "processing_method"):
        if KIND.fullmatch(getattr(record, name)) is None:
            yield f"{name} is none that kb could have"
    if MODEL.fullmatch(record.vector_model) is None:
        yield "vector_model is none that kb could have"
    if any(len(title) > MAX_TITLE_CHARACTERS for title in (record.title, *(one.title for one in record.revisions))):
        yield f"a title must have at most {MAX_TITLE_CHARACTERS} characters"
    filename = record.filename
    if filename in ("", ".", "..") or UNUSABLE_IN_FILENAMES.search(filename):
        yield "filename must be a name and not a path"
    path = record.source_path
    if path is not None and ("\0" in path or not 1 <= len(path) <= MAX_SOURCE_PATH_CHARACTERS):
        yield f"source_path must have 1 to {MAX_SOURCE_PATH_CHARACTERS} characters and no NUL"


def _check_tags(record: DocumentRecord) -> Iterator[str]:
    if len(record.tags) > MAX_TAGS:
        yield f"a document must have at most {MAX_TAGS} tags"
    if len(set(record.tags)) < len(record.tags):
        yield "a tag stands there twice"
    for tag in record.tags:
        if not tag.strip() or len(tag) > MAX_TAG_CHARACTERS or "\0" in tag:
            yield f"a tag must have 1 to {MAX_TAG_CHARACTERS} characters, not all blank, and no NUL"


def _check_times(record: DocumentRecord) -> Iterator[str]:
    times = [record.created_at, record.updated_at, *(revision.created_at for revision in record.revisions)]
    if not all(time is None or _is_utc(time) for time in times):
        yield "times must be in UTC"


def _is_utc(time: datetime) -> bool:
    return time.utcoffset() == timedelta(0)


def _check_metadata(record: DocumentRecord) -> Iterator[str]:
    if is_deeper_than(MAX_METADATA_DEPTH, record.metadata):
        yield f"metadata must be nested at most {MAX_METADATA_DEPTH} deep"
        return
    try:
        size_bytes = count_metadata_bytes(record.metadata)
    except ValueError:
        yield "metadata must be JSON without NaN and infinity"
        return
    if size_bytes > MAX_METADATA_BYTES:
        yield f"metadata must have at most {MAX_METADATA_BYTES} bytes of JSON"


def _check_content(record: DocumentRecord) -> Iterator[str]:
    if (record.doc_type == "note") != (record.note_text is not None):
        yield "a note, and nothing else, has a note_text"
        return
    if record.note_text is not None:
        content = record.note_text.encode()
        if record.original is not None:
            yield "a note has no original"
        if (record.size_bytes, record.content_hash) != (len(content), hash_of(content)):
            yield "size_bytes and content_hash must be those of its note_text"
    if record.original is not None and not is_name_of_original(record.original):
        yield "original must be a SHA-256"
    if record.original is not None and record.content_hash != hash_of_original(record.original):
        yield "content_hash must be that of its original"
    yield from _check_revisions(record)


def _check_revisions(record: DocumentRecord) -> Iterator[str]:
    """A file has those of a note whose place it took, and a later version than each of them."""
    is_note = record.note_text is not None
    newest = record.version if is_note else record.version - 1
    versions = [revision.version for revision in record.revisions]
    if versions != sorted(set(versions)) or not all(1 <= version <= newest for version in versions):
        yield "its revisions must be in order, and none newer than the document"
    if is_note and not record.revisions:
        yield "a note must have a revision: without one, what it says would be lost with its next change"
    former = record.revisions[:-1] if is_note else record.revisions
    if not all(_is_whole(revision) for revision in former):
        yield "a former revision must have its text, and the content_hash of it"
    for current in record.revisions[len(former) :]:
        # Not title_is_given: somebody may have given the note the title that it had, which is no new revision.
        if (current.text, current.title, current.content_hash) != (None, record.title, record.content_hash):
            yield "the newest revision of a note must be what the note says, without a text of its own"


def _is_whole(revision: PortableRevision) -> bool:
    return revision.text is not None and revision.content_hash == hash_of(revision.text.encode())


def _check_vectors(document: PortableDocument) -> Iterator[str]:
    record, vectors = document.record, document.vectors
    if record.chunks and (len(vectors) > 0) != (record.vector_model != ""):
        yield "it must have vectors if, and only if, it names their model"
    if len(vectors) and not record.chunks:
        yield "it has vectors and no chunks"
    # A number that is none, or infinite, makes a length that is not near 1 either.
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.linalg.norm(vectors, axis=1) if len(vectors) else np.empty(0)
    if not np.all(np.abs(lengths - 1) < UNIT_TOLERANCE):
        yield "its vectors must have the length 1"
