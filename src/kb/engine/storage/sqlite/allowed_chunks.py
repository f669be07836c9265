"""Which chunks a search by keyword may find, by what is known of their documents.

FTS5 knows chunks and a scope allows documents, so the document of each chunk is kept in memory, four bytes for each id that
was ever given away. A chunk never goes to another document, and new ones have higher ids: what is known stays true.
"""

import json
import threading
from functools import cached_property

import apsw
import numpy as np
import numpy.typing as npt

from kb.engine.model import Ids
from kb.engine.storage.sqlite.allowed import AllowedDocuments, Mask

# So many chunks are told to SQLite one by one; of more only those found are checked.
FEW_CHUNKS = 5_000


class ChunkOwners:
    """The document of each chunk, by the chunk's id; 0 where there is none."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._documents = np.zeros(1, np.uint32)

    def up_to_now(self, db: apsw.Connection) -> npt.NDArray[np.uint32]:
        with self._lock:
            known = self._documents
        last_chunk = db.execute("SELECT max(id) FROM chunks").get or 0
        if last_chunk < len(known):
            return known
        found = db.execute("SELECT group_concat(id || ',' || document_id) FROM chunks WHERE id >= ?", (len(known),)).get
        pairs = np.fromstring(found, np.int64, sep=",").reshape(-1, 2)
        documents = np.concatenate([known, np.zeros(last_chunk + 1 - len(known), np.uint32)])
        documents[pairs[:, 0]] = pairs[:, 1]
        with self._lock:
            if len(documents) > len(self._documents):
                self._documents = documents
        return documents


class AllowedChunks:
    """What keyword search asks of a scope: how many chunks it allows, which ones, and whether given ones are among them."""

    def __init__(self, db: apsw.Connection, documents: AllowedDocuments, owners: ChunkOwners) -> None:
        self._db = db
        self._documents = documents
        self._owners = owners
        self.count = documents.chunk_count

    @property
    def are_few(self) -> bool:
        return self.count <= FEW_CHUNKS

    @cached_property
    def ids(self) -> Ids:
        """Of few; there is no need to look at all chunks for them."""
        found = self._db.execute(
            "SELECT id FROM chunks WHERE document_id IN (SELECT value FROM json_each(?))",
            (json.dumps(self._documents.ids.tolist()),),
        )
        return np.fromiter((chunk_id for (chunk_id,) in found), np.int64)

    def contain(self, chunk_ids: Ids) -> Mask:
        return self._documents.have(self._owners.up_to_now(self._db)[chunk_ids].astype(np.int64))

    def table(self, length: int) -> Mask:
        """For each chunk, by its id, whether it is allowed."""
        table = np.zeros(length, np.bool_)
        if self.are_few:
            table[self.ids] = True
        else:
            owners = self._owners.up_to_now(self._db)[:length]
            table[: len(owners)] = self._documents.have(owners.astype(np.int64))
        return table
