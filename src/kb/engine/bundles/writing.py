"""Bundles out of documents."""

import json
import tarfile
from collections.abc import Iterable, Iterator
from datetime import datetime
from uuid import UUID

from kb.engine.bundles.bundle import BLOCK_BYTES, BundleEnd, BundleNotice, padding_of
from kb.engine.model.portable import PortableChunk, PortableHead, PortableRevision


def begin_bundle() -> bytes:
    return _render_member("bundle.json", BundleNotice().model_dump_json().encode())


def render_document(
    head: PortableHead,
    revisions: Iterable[PortableRevision],
    chunks: Iterable[PortableChunk],
    *,
    vectors: str | None,
) -> Iterator[bytes]:
    """The content of a document's member, in pieces. `vectors` is the digest in the name of its member of vectors."""
    yield b'{"document":%b,"revisions":[' % _render_head(head)[:-1]
    yield from _render_list(revisions)
    yield b'],"chunks":['
    yield from _render_list(chunks)
    yield b']},"vectors":%b}' % _to_json(vectors)


def _render_head(head: PortableHead) -> bytes:
    document = head.document
    before = {
        "id": document.id,
        "uuid": document.uuid,
        "title": document.title,
        "title_is_given": document.title_is_given,
        "doc_type": document.doc_type,
        "format": document.format,
        "filename": document.filename,
        "source_path": document.source_path,
        "size_bytes": document.size_bytes,
        "content_hash": document.content_hash,
        "original": document.original,
        "tags": document.tags,
    }
    after = {
        "processing_method": document.processing_method,
        "version": document.version,
        "created_at": document.created_at,
        "updated_at": document.updated_at,
        "vector_model": head.vector_model,
        "note_text": head.note_text,
    }
    # The metadata is JSON already.
    return b'%b,"metadata":%b,%b' % (_to_json(before)[:-1], document.metadata_json.encode(), _to_json(after)[1:])


def _render_list(values: Iterable[PortableRevision | PortableChunk]) -> Iterator[bytes]:
    separator = b""
    for value in values:
        yield separator + _to_json(vars(value))
        separator = b","


def _to_json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_render_value).encode()


def end_member(size_bytes: int) -> bytes:
    """The bytes after the content of a member."""
    return bytes(padding_of(size_bytes))


def end_bundle(*, documents: int, originals: int) -> bytes:
    end = BundleEnd(documents=documents, originals=originals)
    return _render_member("end.json", end.model_dump_json().encode()) + bytes(2 * BLOCK_BYTES)


def _render_member(name: str, content: bytes) -> bytes:
    return begin_member(name, len(content)) + content + end_member(len(content))


def begin_member(name: str, size_bytes: int) -> bytes:
    """The bytes before the content of a member."""
    member = tarfile.TarInfo(name)
    member.size = size_bytes
    # Unlike the older ustar, it has a way to write sizes from 8 GB on.
    return member.tobuf(tarfile.GNU_FORMAT)


def _render_value(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds").replace("+00:00", "Z")
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(type(value))
