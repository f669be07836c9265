"""Which documents a search may find, remembered from one search to the next.

Whoever searches under a filter does so again and again, and reading the ids of half a million documents takes longer
than the search. What is remembered follows the base as `events` tells: only documents that changed are asked for anew.
"""

import json
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kb.engine.model import Ids, Scope
from kb.engine.storage.tables.connection import Connection
from kb.engine.storage.tables.id_sets import IdSet
from kb.engine.storage.tables.rows import fetch_all
from kb.engine.storage.tables.scope import condition_on_documents

# Of a million documents, eight megabytes each.
REMEMBERED_SCOPES = 16


@dataclass(frozen=True, eq=False)
class AllowedDocuments:
    ids: Ids
    """Rising."""
    chunk_counts: Ids
    """In the same places, of how many chunks each is."""

    @cached_property
    def chunk_count(self) -> int:
        return int(self.chunk_counts.sum())

    @cached_property
    def set(self) -> IdSet:
        return IdSet(self.ids)

    def change(self, document_ids: Sequence[int], allowed: "AllowedDocuments") -> "AllowedDocuments":
        """After a change of these documents, of which some are allowed now."""
        stays = ~np.isin(self.ids, document_ids)
        ids = np.concatenate([self.ids[stays], allowed.ids])
        order = np.argsort(ids, kind="stable")
        return AllowedDocuments(ids[order], np.concatenate([self.chunk_counts[stays], allowed.chunk_counts])[order])


class AllowedScopes:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._remembered: OrderedDict[tuple[object, ...], tuple[int, AllowedDocuments]] = OrderedDict()

    def find(self, db: Connection, scope: Scope) -> AllowedDocuments | None:
        """As of `db`'s moment; None if the scope allows all."""
        if not scope.limits_documents:
            return None
        condition, values = condition_on_documents(db.dialect, scope)
        key = (condition, *values)
        with self._lock:
            seq, allowed = self._remembered.get(key, (0, None))
        newest, changed = _documents_changed_since(db, seq)
        if allowed is None or changed is None:
            allowed = _read(db, condition, values)
        elif changed:
            among = f"{condition} AND id IN {db.dialect.id_list}"
            allowed = allowed.change(changed, _read(db, among, [*values, json.dumps(changed)]))
        with self._lock:
            # A reader of an earlier moment does not undo what one of a later moment has learnt.
            if newest >= self._remembered.get(key, (0, None))[0]:
                self._remembered[key] = newest, allowed
            self._remembered.move_to_end(key)
            if len(self._remembered) > REMEMBERED_SCOPES:
                self._remembered.popitem(last=False)
        return allowed


def _read(db: Connection, condition: str, values: Sequence[object]) -> AllowedDocuments:
    found = fetch_all(db, f"SELECT id, chunk_count FROM documents WHERE {condition} ORDER BY id", values)
    ids, chunk_counts = np.array(found, np.int64).reshape(-1, 2).T
    return AllowedDocuments(ids, chunk_counts)


def _documents_changed_since(db: Connection, seq: int) -> tuple[int, list[int] | None]:
    """The newest event, and the documents of those after `seq`; None if that can no longer be told, or is all."""
    # Asked for both at once, SQLite would go through all of them.
    oldest, newest = (db.execute(f"SELECT {which}(seq) FROM events").get or 0 for which in ("min", "max"))
    if oldest > seq + 1 or newest < seq:
        return newest, None
    rows = fetch_all(
        db,
        "SELECT DISTINCT document_id, kind FROM events WHERE seq > ? AND kind NOT IN ('job', 'map_changed')",
        (seq,),
    )
    changed = [document_id for document_id, _ in rows]
    return newest, None if None in changed else sorted(set(changed))
