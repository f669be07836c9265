"""Bundles made by hand, right and wrong."""

import hashlib
import io
import tarfile
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
from pydantic import TypeAdapter
from pydantic_core import to_json
from tests.folders import open_folder

from kb.engine.bundles.bundle import DocumentMember
from kb.engine.bundles.exporting import render_next
from kb.engine.bundles.reading import IncomingOriginal, read_bundle
from kb.engine.bundles.writing import begin_bundle, begin_member, end_bundle, end_member
from kb.engine.model import DocumentId
from kb.engine.model.portable import DocumentRecord, PortableChunk, PortableDocument, PortableRevision
from kb.engine.ports import Store

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def hash_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def portable_note(
    number: int = 1, text: str = "The walrus rests.", *, dimension: int = 4, **fields: Any
) -> PortableDocument:
    """A note of one chunk, with fields changed at will."""
    record = DocumentRecord(
        id=number,
        uuid=UUID(int=number),
        title="Walrus",
        title_is_given=False,
        doc_type="note",
        format="note",
        filename="Walrus.md",
        source_path=None,
        size_bytes=len(text.encode()),
        content_hash=hash_of(text.encode()),
        original=None,
        tags=("sea", "見出し"),
        metadata={"z": 1, "a": [1.5, None, "é"]},
        processing_method="text_extraction",
        version=1,
        created_at=NOW,
        updated_at=None,
        vector_model="tiny-1",
        note_text=text,
        revisions=(PortableRevision(1, "Walrus", title_is_given=False, text=None, content_hash="", created_at=NOW),),
        chunks=(PortableChunk(UUID(int=1000 + number), text, heading=None, page_num=None),),
    )
    revision = replace(record.revisions[0], content_hash=record.content_hash)
    record = replace(replace(record, revisions=(revision,)), **fields)
    return PortableDocument(record, unit_vectors(len(record.chunks) if record.vector_model else 0, dimension))


def portable_file(content: bytes, number: int = 1, **fields: Any) -> PortableDocument:
    name = hashlib.sha256(content).hexdigest()
    kind = {"doc_type": "txt", "format": "txt", "filename": "walrus.txt", "note_text": None, "revisions": ()}
    stored = {"original": name, "content_hash": f"sha256:{name}", "size_bytes": len(content)}
    return portable_note(number, **{**kind, **stored, **fields})


def unit_vectors(count: int, dimension: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.eye(dimension, dtype=np.float32)[np.arange(count) % dimension]


def pack(members: Iterable[PortableDocument | bytes]) -> bytes:
    """A bundle of documents and originals in this order."""
    members = list(members)
    originals = [member for member in members if isinstance(member, bytes)]
    rendered = [pack_original(one) if isinstance(one, bytes) else render_portable(one) for one in members]
    end = end_bundle(documents=len(members) - len(originals), originals=len(originals))
    return b"".join([begin_bundle(), *rendered, end])


def pack_original(content: bytes, name: str | None = None) -> bytes:
    name = name or hashlib.sha256(content).hexdigest()
    return begin_member(f"originals/{name}", len(content)) + content + end_member(len(content))


def render_portable(document: PortableDocument) -> bytes:
    """The member of the document, and the member of its vectors if it has any."""
    vectors = document.vectors.astype("<f4").tobytes()
    name = hashlib.sha256(vectors).hexdigest() if vectors else None
    content = to_json({"document": asdict(document.record), "vectors": name})
    members = [(f"vectors/{name}", vectors)] if vectors else []
    members += [(f"documents/{hashlib.sha256(content).hexdigest()}.json", content)]
    return b"".join(begin_member(path, len(inner)) + inner + end_member(len(inner)) for path, inner in members)


def take_portable(store: Store, *, after: DocumentId) -> PortableDocument | None:
    """The next document of a base, in the form for a bundle."""
    with open_folder() as folder, render_next(store, after, Path(folder)) as member:
        if member is None:
            return None
        record = TypeAdapter(DocumentMember).validate_json(b"".join(member.content.read_pieces())).document
        vectors = np.frombuffer(b"".join(member.vectors.read_pieces()), "<f4")
        count = len(record.chunks) if len(vectors) else 0
        return PortableDocument(record, vectors.reshape(count, -1) if count else np.empty((0, 0), np.float32))


def pack_member(name: str, content: bytes = b"", **header: Any) -> bytes:
    """Any member of a tar file, also such as no bundle has."""
    member = tarfile.TarInfo(name)
    member.size = len(content)
    for field, value in header.items():
        setattr(member, field, value)
    return member.tobuf(tarfile.GNU_FORMAT) + content + bytes(-len(content) % 512)


def unpack(bundle: bytes, *, piece_bytes: int = 1000) -> list[PortableDocument | bytes]:
    pieces = (bundle[start : start + piece_bytes] for start in range(0, len(bundle), piece_bytes))
    return [b"".join(one.pieces) if isinstance(one, IncomingOriginal) else one for one in read_bundle(pieces)]


def repack(bundle: bytes, change: Callable[[PortableDocument], PortableDocument]) -> bytes:
    """The same bundle with each document changed."""
    return pack(one if isinstance(one, bytes) else change(one) for one in unpack(bundle))


def list_members(bundle: bytes) -> list[str]:
    with tarfile.open(fileobj=io.BytesIO(bundle)) as archive:
        return archive.getnames()
