"""Where each chunk belongs, and so which chunks a search by keyword may find.

FTS5 knows ids of chunks and nothing else. Asking the table where 200 chunks belong takes as long as
ranking 500, and a scope may have to be asked about thousands; so it is kept in memory, 24 bytes for each chunk. A chunk
keeps its place for life and new ones have higher ids: what is known stays true. Of many chunks it stands in the files
of their vectors, which are mapped. To read it from the base takes half a second of a million, and the first to search
would wait for it.
"""

import json
import threading
from dataclasses import dataclass
from functools import cached_property

import apsw
import numpy as np

from kb.engine.model import Ids, Mask
from kb.engine.storage.sqlite.vectors.coded import CodedRows
from kb.engine.storage.tables.allowed import AllowedDocuments
from kb.engine.storage.tables.rows import fetch_all

# So many chunks are told to SQLite one by one; of more only those found are checked.
FEW_CHUNKS = 5_000

# What was deleted since it was read is dropped when it is as much as there is, and so much more.
MOST_LEFT_OVER = 100_000


@dataclass(frozen=True, eq=False)
class Places:
    """Chunks, and in the same places where they belong. Some may have been deleted since."""

    chunk_ids: Ids
    """Rising."""
    document_ids: Ids
    ordinals: Ids

    def look_up(self, chunk_ids: Ids) -> tuple[Ids, Ids]:
        """The document of each chunk, and its place in it; of a chunk that is not there, 0."""
        rows = np.searchsorted(self.chunk_ids, chunk_ids)
        is_there = rows < len(self.chunk_ids)
        is_there[is_there] = self.chunk_ids[rows[is_there]] == chunk_ids[is_there]
        if is_there.all():
            return self.document_ids[rows], self.ordinals[rows]
        found = np.zeros((2, len(chunk_ids)), np.int64)
        found[:, is_there] = self.document_ids[rows[is_there]], self.ordinals[rows[is_there]]
        return found[0], found[1]


NO_PLACES = Places(*np.empty((3, 0), np.int64))


class ChunkPlaces:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._places = NO_PLACES

    def at(self, db: apsw.Connection, *, chunk_count: int, coded: CodedRows | None) -> Places:
        """Of all chunks of the snapshot that `db` looks at, of which there are so many; and perhaps of others.

        `coded` are those that have vectors in files.
        """
        known = self._places
        if len(known.chunk_ids) > 2 * chunk_count + MOST_LEFT_OVER:
            known = NO_PLACES
        places = None
        if known is NO_PLACES and coded is not None:
            places = _begin_with(coded, db, chunk_count=chunk_count)
        places = places or _add_newer(db, known)
        if places is not self._places:
            with self._lock:
                self._places = places
        return places


def _begin_with(coded: CodedRows, db: apsw.Connection, *, chunk_count: int) -> Places | None:
    """From the files, where it takes no time; None if they lack any, as they do of documents without vectors."""
    places = _add_newer(db, Places(coded.chunk_ids, coded.document_ids, coded.ordinals))
    dead = coded.count - np.count_nonzero(coded.is_alive)
    return places if len(places.chunk_ids) - dead == chunk_count else None


def _add_newer(db: apsw.Connection, known: Places) -> Places:
    last_known = int(known.chunk_ids[-1]) if len(known.chunk_ids) else 0
    if (db.execute("SELECT max(id) FROM chunks").get or 0) <= last_known:
        return known
    # Of all chunks these columns stand in an index, which is a hundredth of the table. They are read as text, by
    # numpy: rows given to Python one by one take three times as long.
    columns = "SELECT group_concat(id), group_concat(document_id), group_concat(ordinal) FROM chunks"
    texts = fetch_all(db, *((f"{columns} WHERE id > ?", (last_known,)) if last_known else (columns,)))[0]
    added = np.stack([np.fromstring(text, np.int64, sep=",") for text in texts])
    added = added[:, np.argsort(added[0])]
    return Places(*np.hstack([[known.chunk_ids, known.document_ids, known.ordinals], added]))


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
        return self.documents.set.have(self.places.look_up(chunk_ids)[0])

    def table(self, length: int) -> Mask:
        """For each chunk, by its id, whether it is allowed."""
        table = np.zeros(length, np.bool_)
        if self.are_few:
            table[self.ids] = True
        else:
            ids = self.places.chunk_ids[self.documents.set.have(self.places.document_ids)]
            table[ids[ids < length]] = True
        return table
