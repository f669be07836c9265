"""All documents of a base into one bundle."""

import hashlib
import os
from collections.abc import Generator, Iterator
from typing import BinaryIO

from kb.engine.errors import Unavailable
from kb.engine.exchange.writing import begin_bundle, begin_original, end_bundle, end_original, render_document
from kb.engine.model import DocumentId
from kb.engine.model.portable import DocumentRecord, PortableDocument
from kb.engine.originals import Originals, translated_errors
from kb.engine.ports import Store

PIECE_BYTES = 256 * 1024


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
        if name is not None and bytes.fromhex(name) not in exported:
            try:
                # An open file can be read to its end, whoever deletes it meanwhile.
                file = originals.path_of(name).open("rb")
            except FileNotFoundError as error:
                document = _read_again(store, originals, document.record, error)
                continue
            yield from _export_original(file, document.record, name)
            exported.add(bytes.fromhex(name))
        yield render_document(document)
        documents += 1
        document = store.find_portable(after=DocumentId(document.record.id))
    yield end_bundle(documents=documents, originals=len(exported))


def _read_again(
    store: Store, originals: Originals, record: DocumentRecord, error: FileNotFoundError
) -> PortableDocument | None:
    """The document whose original was not there any more: as it is by now, or the next one."""
    name = record.original or ""
    if store.is_original_in_use(name) and not originals.path_of(name).exists():
        raise _broken_original(record, "is missing") from error
    return store.find_portable(after=DocumentId(record.id - 1))


def _export_original(file: BinaryIO, record: DocumentRecord, name: str) -> Iterator[bytes]:
    computed = hashlib.sha256()
    with file, translated_errors():
        size_bytes = os.fstat(file.fileno()).st_size
        yield begin_original(name, size_bytes)
        while piece := file.read(PIECE_BYTES):
            computed.update(piece)
            yield piece
    if computed.hexdigest() != name:
        raise _broken_original(record, "is damaged")
    yield end_original(size_bytes)


def _broken_original(record: DocumentRecord, what: str) -> Unavailable:
    return Unavailable(
        f"The original of document {record.id} ({record.filename}) {what}. "
        "Add the file again, or delete the document, and export again."
    )
