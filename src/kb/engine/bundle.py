"""A bundle: documents on their way from one base to another, as one stream of bytes.

It is a tar file, uncompressed, with these members in this order:

    bundle.json               says that this is a bundle
    originals/<sha256>        before the first document that refers to it
    vectors/<sha256>          before their document, if it has any
    documents/<sha256>.json   everything else of a document
    end.json                  how many there were: a bundle without it was cut off

Each member between the first and the last is named by the SHA-256 of its content, so damage is found before
anything is made of it. What a member refers to comes before it, so a reader never holds more than one document.
Equal bases make equal bundles: nothing in it tells when or where it was made.

Everything read is taken for what anybody may have written: `read_bundle` gives out nothing that it has not checked.
"""

import hashlib
import json
import re
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

import numpy as np
from pydantic import BaseModel, ConfigDict, NonNegativeInt, TypeAdapter, ValidationError

from kb.engine.bundle_rules import find_fault
from kb.engine.errors import InvalidRequest, TooLarge, UnsupportedFormat
from kb.engine.model import Vectors
from kb.engine.model.portable import STRICT, DocumentRecord, PortableDocument

MEDIA_TYPE = "application/x-tar"
# A file of the largest accepted size and its text, or a note with a thousand long revisions, is well below.
MAX_MEMBER_BYTES = 1024**3
MAX_NOTICE_BYTES = 4096

BLOCK = 512
NAME = re.compile(r"(bundle\.json|end\.json|(originals|vectors)/([0-9a-f]{64})|documents/([0-9a-f]{64})\.json)")
NOT_A_BUNDLE = "This is not a bundle of kb: send what GET /export answers."


class BundleNotice(BaseModel):
    """The first member."""

    model_config = ConfigDict(extra="forbid", strict=True)

    format: Literal["kb-bundle"] = "kb-bundle"
    version: int = 1


class BundleEnd(BaseModel):
    """The last member."""

    model_config = ConfigDict(extra="forbid", strict=True)

    documents: NonNegativeInt
    originals: NonNegativeInt


@dataclass(frozen=True)
class DocumentMember:
    __pydantic_config__ = STRICT

    document: DocumentRecord
    vectors: str | None


@dataclass(frozen=True)
class IncomingOriginal:
    name: str
    size_bytes: int
    pieces: Iterator[bytes]
    """Raises `InvalidRequest` at the end if they are not what the name says; good until the next member is read."""


_DOCUMENT = TypeAdapter(DocumentMember)


# writing


def begin_bundle() -> bytes:
    return _render_member("bundle.json", BundleNotice().model_dump_json().encode())


def render_document(document: PortableDocument) -> bytes:
    vectors = document.vectors.astype("<f4").tobytes()
    name = _digest(vectors) if vectors else None
    content = json.dumps(
        {"document": asdict(document.record), "vectors": name},
        ensure_ascii=False,
        separators=(",", ":"),
        default=_render_value,
    ).encode()
    members = [_render_member(f"vectors/{name}", vectors)] if vectors else []
    return b"".join([*members, _render_member(f"documents/{_digest(content)}.json", content)])


def begin_original(name: str, size_bytes: int) -> bytes:
    """What goes before its bytes."""
    return _render_header(f"originals/{name}", size_bytes)


def end_original(size_bytes: int) -> bytes:
    """What goes after its bytes."""
    return bytes(-size_bytes % BLOCK)


def end_bundle(*, documents: int, originals: int) -> bytes:
    end = BundleEnd(documents=documents, originals=originals)
    return _render_member("end.json", end.model_dump_json().encode()) + bytes(2 * BLOCK)


def _render_member(name: str, content: bytes) -> bytes:
    return _render_header(name, len(content)) + content + bytes(-len(content) % BLOCK)


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


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


# reading


class _Stream:
    """Bytes that arrive in pieces of any size, given out in the sizes that are asked for."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._rest = b""

    def take(self, size_bytes: int) -> bytes:
        return b"".join(self.take_pieces(size_bytes))

    def take_pieces(self, size_bytes: int) -> Iterator[bytes]:
        while size_bytes:
            self._rest = self._rest or next(self._pieces, b"")
            if not self._rest:
                raise InvalidRequest("The bundle breaks off before its end.")
            piece, self._rest = self._rest[:size_bytes], self._rest[size_bytes:]
            size_bytes -= len(piece)
            yield piece

    def take_rest(self) -> Iterator[bytes]:
        yield self._rest
        yield from self._pieces


@dataclass(frozen=True)
class _Member:
    stream: _Stream
    name: str
    size_bytes: int

    @property
    def digest(self) -> str:
        """What the content must hash to."""
        return self.name.rpartition("/")[2].removesuffix(".json")

    def read(self, *, limit: int) -> bytes:
        if self.size_bytes > limit:
            raise TooLarge(f"{self.name} has {self.size_bytes} bytes, and the most is {limit}.")
        content = self.stream.take(self.size_bytes)
        self._skip_padding()
        return content

    def read_verified(self) -> bytes:
        content = self.read(limit=MAX_MEMBER_BYTES)
        self._require_digest(_digest(content))
        return content

    def verified_pieces(self) -> Iterator[bytes]:
        computed = hashlib.sha256()
        for piece in self.stream.take_pieces(self.size_bytes):
            computed.update(piece)
            yield piece
        self._skip_padding()
        self._require_digest(computed.hexdigest())

    def _skip_padding(self) -> None:
        if any(self.stream.take(-self.size_bytes % BLOCK)):
            raise damaged(self.name)

    def _require_digest(self, computed: str) -> None:
        if computed != self.digest:
            raise damaged(self.name)


def damaged(name: str) -> InvalidRequest:
    return InvalidRequest(f"The bundle is damaged: the content of {name} is not what its name says.")


def read_bundle(pieces: Iterable[bytes]) -> Iterator[IncomingOriginal | PortableDocument]:
    """What is in the bundle, in its order, each checked. The caller may leave the bytes of an original unread.

    Raises `UnsupportedFormat` if it is no bundle, `InvalidRequest` where it is damaged, wrong or cut off, and
    `TooLarge`. What was given out before is good nevertheless.
    """
    stream = _Stream(pieces)
    _read_notice(stream)
    documents = originals = 0
    vectors: tuple[str, bytes] | None = None
    while (member := _read_header(stream)).name != "end.json":
        folder = member.name.partition("/")[0]
        if folder == "documents":
            yield _parse_document(member, vectors)
            vectors = None
            documents += 1
        elif vectors is not None or folder == "bundle.json":
            raise InvalidRequest(f"{member.name} is not where a bundle has it.")
        elif folder == "vectors":
            vectors = member.digest, member.read_verified()
        else:
            content = member.verified_pieces()
            yield IncomingOriginal(member.digest, member.size_bytes, content)
            for _ in content:
                pass
            originals += 1
    _read_end(member, BundleEnd(documents=documents, originals=originals))


def _read_notice(stream: _Stream) -> None:
    try:
        member = _read_header(stream)
        if member.name != "bundle.json":
            raise UnsupportedFormat(NOT_A_BUNDLE)
        notice = BundleNotice.model_validate_json(member.read(limit=MAX_NOTICE_BYTES))
    except (InvalidRequest, TooLarge, ValidationError) as error:
        raise UnsupportedFormat(NOT_A_BUNDLE) from error
    if notice.version != 1:
        raise UnsupportedFormat(f"This bundle is of version {notice.version}. Update kb, which knows version 1.")


def _read_header(stream: _Stream) -> _Member:
    try:
        header = tarfile.TarInfo.frombuf(stream.take(BLOCK), "utf-8", "strict")
    except (tarfile.HeaderError, UnicodeDecodeError) as error:
        raise InvalidRequest("The bundle is damaged: where a member should begin, none does.") from error
    if header.type != tarfile.REGTYPE or header.size < 0 or NAME.fullmatch(header.name) is None:
        raise InvalidRequest("The bundle has a member that no bundle has.")
    return _Member(stream, header.name, header.size)


def _parse_document(member: _Member, vectors: tuple[str, bytes] | None) -> PortableDocument:
    try:
        parsed = _DOCUMENT.validate_json(member.read_verified())
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False, include_context=False)
        told = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in faults[:5])
        raise InvalidRequest(f"{member.name} is not a document. {told}") from error
    name, content = vectors or (None, b"")
    if parsed.vectors != name:
        raise InvalidRequest(f"{member.name} does not come after its vectors.")
    count = len(parsed.document.chunks)
    if len(content) % (4 * count) if count else content:
        raise InvalidRequest(f"{member.name} has vectors of a length that does not fit its {count} chunks.")
    document = PortableDocument(parsed.document, _to_vectors(content, count))
    fault = find_fault(document)
    if fault is not None:
        raise InvalidRequest(f"{member.name} cannot be a document of kb: {fault}.")
    return document


def _to_vectors(content: bytes, count: int) -> Vectors:
    numbers = np.frombuffer(content, dtype="<f4")
    return numbers.reshape(count, -1) if content and count else np.empty((0, 0), dtype=np.float32)


def _read_end(member: _Member, counted: BundleEnd) -> None:
    try:
        told = BundleEnd.model_validate_json(member.read(limit=MAX_NOTICE_BYTES))
    except ValidationError as error:
        raise damaged(member.name) from error
    if told != counted:
        raise InvalidRequest(f"The bundle should hold {told.documents} documents and {told.originals} originals.")
    zeros = 0
    for piece in member.stream.take_rest():
        if any(piece):
            raise InvalidRequest("The bundle goes on after its end.")
        zeros += len(piece)
    if zeros < 2 * BLOCK:
        raise InvalidRequest("The bundle breaks off before its end.")
