"""The vectors that a process searches, and how they follow the base.

What changed is learnt from `index_log`: before each search the tail of the log since the last look is read
(nothing, nearly always) and the documents it names are read anew. So it makes no difference which process
changed them, and a search sees every change whose transaction was committed before the search began.

The worker makes files of many vectors (`building`) and writes their token into the base. Here they are opened when the
token is seen, and what the log has since is added. A base of many vectors without files, as after a restore, is not
searched by vectors until there are some.
"""

import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import numpy as np

from kb.engine.model import VectorIndexState
from kb.engine.storage.sqlite.index_log import documents_changed_since, newest_change
from kb.engine.storage.sqlite.vectors.exact import ExactRows
from kb.engine.storage.sqlite.vectors.files import VectorFiles, open_files, read_token
from kb.engine.storage.sqlite.vectors.reading import (
    count_chunks,
    count_chunks_of,
    read_chunk_ids,
    read_vectors,
    read_vectors_of,
)
from kb.engine.storage.sqlite.vectors.snapshot import Snapshot

# More are not read into memory while somebody waits: 230 MB, and half a second.
MOST_EXACT_ROWS = 150_000

NO_ROWS = ExactRows.make_room(0, 0)


class VectorIndex:
    def __init__(self, base: Path, model_fingerprint: str) -> None:
        self._base = base
        self._model = model_fingerprint
        self._lock = threading.Lock()
        self._files: VectorFiles | None = None
        self._token: str | None = None
        self._snapshot: Snapshot | None = None
        self._seen_seq = 0
        self._held = threading.local()

    @contextmanager
    def hold(self, db: apsw.Connection) -> Iterator[None]:
        """Whoever asks on this thread within the block is given what is there at its beginning.

        That is just what is there at `db`'s moment, if the moment begins with this.
        """
        outer: Snapshot | None = getattr(self._held, "snapshot", None)
        self._held.snapshot = self.catch_up(db)
        try:
            yield
        finally:
            self._held.snapshot = outer

    def catch_up(self, db: apsw.Connection) -> Snapshot | None:
        """The vectors as of `db`'s moment, or of a later one; None while there are too many without files."""
        held: Snapshot | None = getattr(self._held, "snapshot", None)
        if held is not None:
            return held
        with self._lock:
            token = read_token(db)
            if token != self._token and (token is None or self._take_files(token)):
                self._token = token
            newest, changed = documents_changed_since(db, self._seen_seq)
            if self._snapshot is None or changed is None:
                self._load(db)
            elif changed:
                self._refresh(self._snapshot, db, changed)
                self._seen_seq = newest
            return self._snapshot

    def describe(self) -> VectorIndexState:
        with self._lock:
            if self._snapshot is None:
                return VectorIndexState("none", chunks=0, recall=None)
            about = self._files.about if self._files else None
            chunks = sum(int(np.count_nonzero(part.is_alive)) for part in self._snapshot.parts)
            return VectorIndexState("codes" if about else "exact", chunks, recall=about.recall if about else 1.0)

    def _take_files(self, token: str) -> bool:
        """Go on from the moment of these files; returns false if they cannot be used."""
        files = open_files(self._base, token)
        if files is None or files.about.model != self._model:
            return False
        self._files = files
        self._snapshot = Snapshot(files.rows, NO_ROWS)
        self._seen_seq = files.about.seq
        return True

    def _load(self, db: apsw.Connection) -> None:
        """Begin with what is in the base, if it is not too much."""
        self._snapshot = self._files = None
        if count_chunks(db) <= MOST_EXACT_ROWS:
            self._snapshot = Snapshot(None, NO_ROWS.add(read_vectors(db, self._model)))
            self._seen_seq = newest_change(db)

    def _refresh(self, known: Snapshot, db: apsw.Connection, document_ids: Collection[int]) -> None:
        document_ids = set(document_ids) - _find_unchanged(known, db, document_ids)
        if known.exact.count + count_chunks_of(db, document_ids) > MOST_EXACT_ROWS:
            self._load(db)
            return
        coded = known.coded
        if coded is not None and self._files is not None:
            coded, died = coded.bury(document_ids)
            self._files.erase(died)
        exact = known.exact.bury(document_ids).add(read_vectors_of(db, self._model, document_ids))
        self._snapshot = Snapshot(coded, exact)


def _find_unchanged(known: Snapshot, db: apsw.Connection, document_ids: Collection[int]) -> set[int]:
    """Documents whose chunks are those that are known: a new title changes their words, but neither ids nor vectors."""
    ids: dict[int, set[int]] = {document_id: set() for document_id in document_ids}
    for part in known.parts:
        rows = np.flatnonzero(np.isin(part.document_ids, list(document_ids)) & part.is_alive)
        for document_id, chunk_id in zip(part.document_ids[rows].tolist(), part.chunk_ids[rows].tolist(), strict=True):
            ids[document_id].add(chunk_id)
    return {document_id for document_id, found in read_chunk_ids(db, document_ids).items() if found == ids[document_id]}
