"""All documents of a base into one bundle."""

import hashlib
from collections.abc import Generator, Iterator
from contextlib import closing

from kb.engine.bundles.writing import begin_bundle, begin_original, end_bundle, end_original, render_document
from kb.engine.errors import Unavailable
from kb.engine.model import DocumentId
from kb.engine.model.hashes import is_name_of_original
from kb.engine.model.portable import DocumentRecord, PortableDocument
from kb.engine.originals import MissingOriginal, OpenOriginal, Originals
from kb.engine.ports import Store


def export_bundle(store: Store, originals: Originals) -> Generator[bytes]:
    """The base as one bundle, by id. Raises `Unavailable`, in its middle too, where an original is missing or damaged.

    Each document is as it was at one moment, but not all at the same one: what is deleted meanwhile may be missing,
    what is added meanwhile is there.
    """
    exported: set[bytes] = set()
    documents = 0
    document = store.find_portable(after=DocumentId(0))
    yield begin_bundle()
    while document is not None:
        name = document.record.original
        if name is not None and not is_name_of_original(name):
            raise _broken_original(document.record, "has a name that is not a SHA-256")
        if name is not None and bytes.fromhex(name) not in exported:
            try:
                original = originals.open_pieces(name)
            except MissingOriginal as error:
                document = _read_again(store, originals, document.record, error)
                continue
            yield from _export_original(original, document.record, name)
            exported.add(bytes.fromhex(name))
        yield render_document(document)
        documents += 1
        document = store.find_portable(after=DocumentId(document.record.id))
    yield end_bundle(documents=documents, originals=len(exported))


def _read_again(
    store: Store, originals: Originals, record: DocumentRecord, error: MissingOriginal
) -> PortableDocument | None:
    """The document whose original was not there any more: as it is by now, or the next one."""
    name = record.original or ""
    if store.is_original_in_use(name) and not _is_there(originals, name):
        raise _broken_original(record, "is missing") from error
    return store.find_portable(after=DocumentId(record.id - 1))


def _is_there(originals: Originals, name: str) -> bool:
    try:
        originals.open_pieces(name).pieces.close()
    except MissingOriginal:
        return False
    return True


def _export_original(original: OpenOriginal, record: DocumentRecord, name: str) -> Iterator[bytes]:
    computed = hashlib.sha256()
    with closing(original.pieces) as pieces:
        yield begin_original(name, original.size_bytes)
        for piece in pieces:
            computed.update(piece)
            yield piece
    if computed.hexdigest() != name:
        raise _broken_original(record, "is damaged")
    yield end_original(original.size_bytes)


def _broken_original(record: DocumentRecord, what: str) -> Unavailable:
    return Unavailable(
        f"The original of document {record.id} ({record.filename}) {what}. "
        "Add the file again, or delete the document, and export again."
    )
