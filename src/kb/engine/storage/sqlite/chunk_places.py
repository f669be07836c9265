"""Where each chunk belongs, and so which chunks a search by keyword may find.

FTS5 knows ids of chunks and nothing else. Asking the table where 200 chunks belong takes as long as
ranking 500, and a scope may have to be asked about thousands; so both are kept in memory, eight bytes for each id that
was ever given away. A chunk keeps its place for life and new ones have higher ids: what is known stays true.
"""

import json
import threading
from dataclasses import dataclass
from functools import cached_property

import apsw
import numpy as np
import numpy.typing as npt

from kb.engine.model import Ids
from kb.engine.storage.sqlite.allowed import AllowedDocuments
from kb.engine.storage.sqlite.id_sets import Mask
from kb.engine.storage.sqlite.rows import fetch_all

# So many chunks are told to SQLite one by one; of more only those found are checked.
FEW_CHUNKS = 5_000

Numbers = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class Places:
    """By the id of a chunk; what was deleted before anybody looked has 0."""

    document_ids: Numbers
    ordinals: Numbers


class ChunkPlaces:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._places = Places(np.zeros(1, np.uint32), np.zeros(1, np.uint32))

    def at(self, db: apsw.Connection) -> Places:
        """Of all chunks of the snapshot that `db` looks at, at least."""
        known = self._places
        first = len(known.ordinals)
        last = db.execute("SELECT max(id) FROM chunks").get or 0
        if last < first:
            return known
        # Of all chunks these columns stand in an index, which is a hundredth of the table. They are read as text, by
        # numpy: rows given to Python one by one take three times as long.
        columns = "SELECT group_concat(id), group_concat(document_id), group_concat(ordinal) FROM chunks"
        texts = fetch_all(db, *((f"{columns} WHERE id >= ?", (first,)) if first > 1 else (columns,)))[0]
        ids, document_ids, ordinals = (np.fromstring(text, np.int64, sep=",") for text in texts)
        new = Places(np.zeros(last + 1 - first, np.uint32), np.zeros(last + 1 - first, np.uint32))
        new.document_ids[ids - first] = document_ids
        new.ordinals[ids - first] = ordinals
        places = Places(
            np.concatenate([known.document_ids, new.document_ids]), np.concatenate([known.ordinals, new.ordinals])
        )
        with self._lock:
            if last >= len(self._places.ordinals):
                self._places = places
        return places


@dataclass(frozen=True)
class AllowedChunks:
    """What keyword search asks of a scope: how many chunks it allows, which, and whether given ones are allowed."""

    db: apsw.Connection
    documents: AllowedDocuments
    places: Places

    @property
    def count(self) -> int:
        return self.documents.chunk_count

    @property
    def are_few(self) -> bool:
        return self.count <= FEW_CHUNKS

    @cached_property
    def ids(self) -> Ids:
        """Of few; there is no need to look at all chunks for them."""
        found = fetch_all(
            self.db,
            "SELECT id FROM chunks WHERE document_id IN (SELECT value FROM json_each(?))",
            (json.dumps(self.documents.ids.tolist()),),
        )
        return np.array(found, np.int64).reshape(-1)

    def contain(self, chunk_ids: Ids) -> Mask:
        return self.documents.set.have(self.places.document_ids[chunk_ids].astype(np.int64))

    def table(self, length: int) -> Mask:
        """For each chunk, by its id, whether it is allowed."""
        if not self.are_few:
            return self.documents.set.have(self.places.document_ids[:length].astype(np.int64))
        table = np.zeros(length, np.bool_)
        table[self.ids] = True
        return table
