"""The documents of a bundle into a base."""

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from datetime import datetime

from kb.control_characters import without_control_characters
from kb.engine.bundles.reading import IncomingOriginal, read_bundle
from kb.engine.errors import DocumentNotFound, FileTooLarge, InvalidRequest, KbError
from kb.engine.model import EmbeddingModel
from kb.engine.model.naming import UNNAMED, without_controls
from kb.engine.model.portable import Arrival, Arrived, DocumentRecord, PortableDocument
from kb.engine.originals import DamagedOriginal, IncomingFile, Originals
from kb.engine.ports import Store


@dataclass(frozen=True)
class Imported:
    documents_added: int = 0
    documents_replaced: int = 0
    documents_unchanged: int = 0
    originals_added: int = 0
    reindexing: bool = False
    """Whether some have vectors of another model, so that they are made anew in the background."""


def import_bundle(
    store: Store,
    originals: Originals,
    pieces: Iterable[bytes],
    *,
    model: EmbeddingModel,
    max_file_bytes: int,
    clock: Callable[[], datetime],
) -> Imported:
    """Add what the bundle holds; of a document that is already there the newer version stays.

    Each document is there wholly or not at all. If the bundle turns out to be wrong, those before the wrong place stay,
    and the error tells how many: importing the mended bundle goes on from there.
    """
    bringing = _Bringing(store, originals, model, max_file_bytes, clock)
    try:
        try:
            for member in read_bundle(pieces):
                if isinstance(member, IncomingOriginal):
                    bringing.receive_original(member)
                else:
                    bringing.add_document(member)
        finally:
            bringing.finish()
    except KbError as error:
        done = bringing.imported.documents_added + bringing.imported.documents_replaced
        error.message += f" Documents imported before that: {done}. They stay; importing again goes on after them."
        error.details |= asdict(bringing.imported)
        raise
    return bringing.imported


class _Bringing:
    """One import, under way."""

    def __init__(
        self,
        store: Store,
        originals: Originals,
        model: EmbeddingModel,
        max_file_bytes: int,
        clock: Callable[[], datetime],
    ) -> None:
        self.imported = Imported()
        self._store = store
        self._originals = originals
        self._model = model
        self._max_file_bytes = max_file_bytes
        self._clock = clock
        self._waiting: dict[str, tuple[IncomingFile, ExitStack]] = {}

    def receive_original(self, original: IncomingOriginal) -> None:
        """Put it where it waits for the documents that refer to it; or in its place, if the base lacks it there."""
        if original.size_bytes > self._max_file_bytes:
            found = f"The bundle has a file of {original.size_bytes} bytes"
            raise FileTooLarge(self._max_file_bytes, found=found)
        if original.name in self._waiting or self._is_there(original.name):
            return
        with ExitStack() as stack:
            incoming = stack.enter_context(self._originals.receive())
            for piece in original.pieces:
                incoming.write(piece)
            incoming.finish()
            if not self._repair(incoming, original.name):
                self._waiting[original.name] = incoming, stack.pop_all()

    def _is_there(self, name: str) -> bool:
        try:
            self._originals.check(name)
        except DamagedOriginal:
            return False
        return True

    def _repair(self, incoming: IncomingFile, name: str) -> bool:
        """Whether something in the base refers to it already, so that it was lost or damaged and has come back."""
        with self._originals.locked():
            if not self._store.is_original_in_use(name):
                return False
            self._originals.keep(incoming, name)
        self._count("originals_added")
        return True

    def finish(self) -> None:
        """Forget the originals that no document has taken, and have vectors of another model made anew."""
        for _, stack in self._waiting.values():
            stack.close()
        has_all_vectors = self._store.adopt_model(now=self._clock())
        self.imported = replace(self.imported, reindexing=not has_all_vectors)

    def add_document(self, document: PortableDocument) -> None:
        document = replace(document, record=_with_plain_names(document.record))
        record = document.record
        is_own_model = bool(record.chunks) and record.vector_model == self._model.fingerprint
        if is_own_model and document.vectors.shape[1:] != (self._model.dimension,):
            # They would be searched together with those that are there.
            raise InvalidRequest(f"The vectors of document {record.uuid} are not as long as those of their model.")
        if self._is_known(record):
            arrived = Arrived(Arrival.UNCHANGED)
        elif record.original is None:
            arrived = self._store.add_portable(document, now=self._clock())
        else:
            arrived = self._add_with_original(document, record.original)
        if arrived.released_original is not None:
            self._originals.release([arrived.released_original], self._store.is_original_in_use)
        self._count(f"documents_{arrived.arrival.value}")

    def _is_known(self, record: DocumentRecord) -> bool:
        """Also decided in the transaction, where it counts; here it saves the original from being kept in vain."""
        try:
            return self._store.get_document(record.uuid).version >= record.version
        except DocumentNotFound:
            return False

    def _add_with_original(self, document: PortableDocument, name: str) -> Arrived:
        try:
            with self._originals.locked():
                self._keep_original(document.record, name)
                return self._store.add_portable(document, now=self._clock())
        finally:
            # If it came to nothing, nobody may have a use for the file.
            self._originals.release([name], self._store.is_original_in_use)

    def _keep_original(self, record: DocumentRecord, name: str) -> None:
        if name in self._waiting:
            incoming, stack = self._waiting.pop(name)
            with stack:
                self._originals.keep(incoming, name)
            size_bytes = incoming.size_bytes
            self._count("originals_added")
        else:
            try:
                size_bytes = self._originals.renew(name)
            except DamagedOriginal as error:
                told = f"The original of document {record.uuid} does not come before it."
                raise InvalidRequest(told) from error
        if size_bytes != record.size_bytes:
            raise InvalidRequest(f"The original of document {record.uuid} has not the size that it tells.")

    def _count(self, name: str) -> None:
        self.imported = replace(self.imported, **{name: getattr(self.imported, name) + 1})


def _with_plain_names(record: DocumentRecord) -> DocumentRecord:
    """The record with titles and file names without control characters, as if it had been added here."""
    revisions = tuple(replace(one, title=without_control_characters(one.title)) for one in record.revisions)
    title, filename = without_control_characters(record.title), without_controls(record.filename) or UNNAMED
    return replace(record, title=title, filename=filename, revisions=revisions)
