"""Documents and originals out of a bundle, each checked before it is given out."""

import hashlib
import re
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from pydantic import TypeAdapter, ValidationError

from kb.engine.bundles.bundle import BLOCK_BYTES, BundleEnd, BundleNotice, DocumentMember, padding_of
from kb.engine.bundles.rules import find_fault
from kb.engine.errors import InvalidRequest, TooLarge, UnsupportedFormat
from kb.engine.model import Vectors
from kb.engine.model.portable import PortableDocument

# A file of the largest accepted size and its text, or a note with a thousand long revisions, is well below.
MAX_MEMBER_BYTES = 1024**3
MAX_NOTICE_BYTES = 4096
NAME = re.compile(r"(bundle\.json|end\.json|(originals|vectors)/([0-9a-f]{64})|documents/([0-9a-f]{64})\.json)")
NOT_A_BUNDLE = "This is not a bundle of kb: send what GET /export answers."

_DOCUMENT = TypeAdapter(DocumentMember)


@dataclass(frozen=True)
class IncomingOriginal:
    name: str
    size_bytes: int
    pieces: Iterator[bytes]
    """Raises `InvalidRequest` at the end if they are not what the name says; good until the next member is read."""


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
        self._require_digest(hashlib.sha256(content).hexdigest())
        return content

    def verified_pieces(self) -> Iterator[bytes]:
        computed = hashlib.sha256()
        for piece in self.stream.take_pieces(self.size_bytes):
            computed.update(piece)
            yield piece
        self._skip_padding()
        self._require_digest(computed.hexdigest())

    def _skip_padding(self) -> None:
        if any(self.stream.take(padding_of(self.size_bytes))):
            raise _damaged(self.name)

    def _require_digest(self, computed: str) -> None:
        if computed != self.digest:
            raise _damaged(self.name)


def _damaged(name: str) -> InvalidRequest:
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
        header = tarfile.TarInfo.frombuf(stream.take(BLOCK_BYTES), "utf-8", "strict")
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
        raise _damaged(member.name) from error
    if told != counted:
        raise InvalidRequest(f"The bundle should hold {told.documents} documents and {told.originals} originals.")
    zeros = 0
    for piece in member.stream.take_rest():
        if any(piece):
            raise InvalidRequest("The bundle goes on after its end.")
        zeros += len(piece)
    if zeros < 2 * BLOCK_BYTES:
        raise InvalidRequest("The bundle breaks off before its end.")
