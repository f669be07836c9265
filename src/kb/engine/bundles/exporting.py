"""All documents of a base into one bundle."""

import hashlib
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from kb.engine.bundles.spool import Spool
from kb.engine.bundles.writing import begin_bundle, begin_member, end_bundle, end_member, render_document
from kb.engine.errors import Unavailable
from kb.engine.model import Document, DocumentId
from kb.engine.model.hashes import is_name_of_original
from kb.engine.model.portable import PortableChunk, PortableRevision
from kb.engine.originals import MissingOriginal, OpenOriginal, Originals
from kb.engine.ports import Store


def export_bundle(store: Store, originals: Originals, folder: Path) -> Generator[bytes]:
    """The base as one bundle, by id. Raises `Unavailable`, in its middle too, where an original is missing or damaged.

    Each document is as it was at one moment, but not all at the same one: what is deleted meanwhile may be missing,
    and documents that are added meanwhile are included. A long document is kept in a file in `folder` while it is sent.
    """
    exported: set[bytes] = set()
    documents, after = 0, DocumentId(0)
    # Raises the error of a base that cannot be read before anything is sent.
    store.find_portable(after=after)
    yield begin_bundle()
    while True:
        with render_next(store, after, folder) as member:
            if member is None:
                break
            name = member.document.original
            if name is not None and not is_name_of_original(name):
                raise _broken_original(member.document, "has a name that is not a SHA-256")
            if name is not None and bytes.fromhex(name) not in exported:
                try:
                    original = originals.open_pieces(name)
                except MissingOriginal as error:
                    _require_change(store, originals, member.document, error)
                    continue
                yield from _export_original(original, member.document, name)
                exported.add(bytes.fromhex(name))
            yield from _export_document(member)
        documents += 1
        after = member.document.id
    yield end_bundle(documents=documents, originals=len(exported))


@dataclass(frozen=True)
class RenderedDocument:
    document: Document
    vectors: Spool
    """Empty if the document has no vectors."""
    content: Spool


@contextmanager
def render_next(store: Store, after: DocumentId, folder: Path) -> Iterator[RenderedDocument | None]:
    """The document with the next greater id, as of one moment; None if there is none."""
    with Spool(folder) as vectors, Spool(folder) as content:
        with store.one_moment():
            head = store.find_portable(after=after)
            if head is not None:
                document_id = head.document.id
                if head.vector_model:
                    _write_vectors(store, document_id, vectors)
                name = vectors.digest if vectors.size_bytes else None
                revisions, chunks = _read_revisions(store, document_id), _read_chunks(store, document_id)
                for piece in render_document(head, revisions, chunks, vectors=name):
                    content.write(piece)
        yield None if head is None else RenderedDocument(head.document, vectors, content)


def _write_vectors(store: Store, document_id: DocumentId, spool: Spool) -> None:
    offset = 0
    while len(vectors := store.read_portable_vectors(document_id, offset=offset)):
        spool.write(vectors.astype("<f4").tobytes())
        offset += len(vectors)


def _read_revisions(store: Store, document_id: DocumentId) -> Iterator[PortableRevision]:
    version = 0
    while revisions := store.list_portable_revisions(document_id, after=version):
        yield from revisions
        version = revisions[-1].version


def _read_chunks(store: Store, document_id: DocumentId) -> Iterator[PortableChunk]:
    offset = 0
    while chunks := store.list_portable_chunks(document_id, offset=offset):
        yield from chunks
        offset += len(chunks)


def _export_document(member: RenderedDocument) -> Iterator[bytes]:
    if member.vectors.size_bytes:
        yield from _export_spool(f"vectors/{member.vectors.digest}", member.vectors)
    yield from _export_spool(f"documents/{member.content.digest}.json", member.content)


def _export_spool(name: str, spool: Spool) -> Iterator[bytes]:
    yield begin_member(name, spool.size_bytes)
    yield from spool.read_pieces()
    yield end_member(spool.size_bytes)


def _require_change(store: Store, originals: Originals, document: Document, error: MissingOriginal) -> None:
    """Raises `Unavailable` if a document still uses the missing original. If none does, its document has changed."""
    name = document.original or ""
    if store.is_original_in_use(name) and not _is_there(originals, name):
        raise _broken_original(document, "is missing") from error


def _is_there(originals: Originals, name: str) -> bool:
    try:
        originals.open_pieces(name).pieces.close()
    except MissingOriginal:
        return False
    return True


def _export_original(original: OpenOriginal, document: Document, name: str) -> Iterator[bytes]:
    computed = hashlib.sha256()
    with closing(original.pieces) as pieces:
        yield begin_member(f"originals/{name}", original.size_bytes)
        for piece in pieces:
            computed.update(piece)
            yield piece
    if computed.hexdigest() != name:
        raise _broken_original(document, "is damaged")
    yield end_member(original.size_bytes)


def _broken_original(document: Document, what: str) -> Unavailable:
    return Unavailable(
        f"The original of document {document.id} ({document.filename}) {what}. "
        "Add the file again, or delete the document, and export again."
    )
