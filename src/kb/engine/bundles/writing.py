"""Bundles out of documents."""

import hashlib
import json
import tarfile
from dataclasses import asdict
from datetime import datetime
from uuid import UUID

from kb.engine.bundles.bundle import BLOCK_BYTES, BundleEnd, BundleNotice, padding_of
from kb.engine.model.portable import PortableDocument


def begin_bundle() -> bytes:
    return _render_member("bundle.json", BundleNotice().model_dump_json().encode())


def render_document(document: PortableDocument) -> bytes:
    vectors = document.vectors.astype("<f4").tobytes()
    name = hashlib.sha256(vectors).hexdigest() if vectors else None
    content = json.dumps(
        {"document": asdict(document.record), "vectors": name},
        ensure_ascii=False,
        separators=(",", ":"),
        default=_render_value,
    ).encode()
    members = [_render_member(f"vectors/{name}", vectors)] if vectors else []
    return b"".join([*members, _render_member(f"documents/{hashlib.sha256(content).hexdigest()}.json", content)])


def begin_original(name: str, size_bytes: int) -> bytes:
    """What goes before its bytes."""
    return _render_header(f"originals/{name}", size_bytes)


def end_original(size_bytes: int) -> bytes:
    """What goes after its bytes."""
    return bytes(padding_of(size_bytes))


def end_bundle(*, documents: int, originals: int) -> bytes:
    end = BundleEnd(documents=documents, originals=originals)
    return _render_member("end.json", end.model_dump_json().encode()) + bytes(2 * BLOCK_BYTES)


def _render_member(name: str, content: bytes) -> bytes:
    return _render_header(name, len(content)) + content + bytes(padding_of(len(content)))


def _render_header(name: str, size_bytes: int) -> bytes:
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
