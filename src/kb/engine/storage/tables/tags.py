"""Tags: a document's tags are in the order in which they were added, and an unused tag is gone.

The number of statements does not depend on the number of tags, since other writers wait meanwhile.
"""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime

from kb.engine.errors import InvalidRequest
from kb.engine.model import Action, Document, DocumentId, Page, Ref, TagCount
from kb.engine.model.limits import MAX_LISTED_TAGS, MAX_TAGS
from kb.engine.storage.tables.connection import Connection, Database
from kb.engine.storage.tables.journal import record_change
from kb.engine.storage.tables.rows import fetch_all, load_tags, load_unchanged_document


class TagsPart:
    """The part of the store that keeps tags."""

    _database: Database

    def change_tags(
        self,
        ref: Ref,
        *,
        add: Sequence[str],
        remove: Sequence[str],
        expected_version: int | None,
        now: datetime,
    ) -> Document:
        with self._database.write() as db:
            document = load_unchanged_document(db, ref, expected_version)
            removed = set(remove)
            kept = [tag for tag in document.tags if tag not in removed]
            return _save_tags(db, document, [*kept, *add], now)

    def replace_tags(self, ref: Ref, tags: Sequence[str], *, expected_version: int | None, now: datetime) -> Document:
        with self._database.write() as db:
            return _save_tags(db, load_unchanged_document(db, ref, expected_version), tags, now)

    def list_tags(self, *, limit: int = MAX_LISTED_TAGS, offset: int = 0) -> Page[TagCount]:
        with self._database.read() as db:
            total = db.execute("SELECT count(DISTINCT tag_id) FROM document_tags").get
            rows = db.execute(
                "SELECT name, count(*) FROM document_tags JOIN tags ON tags.id = tag_id "
                "GROUP BY name ORDER BY lower(name), name LIMIT ? OFFSET ?",
                (limit, offset),
            )
            return Page([TagCount(name, count) for name, count in rows], total)


def _save_tags(db: Connection, document: Document, tags: Iterable[str], now: datetime) -> Document:
    wanted = tuple(dict.fromkeys(tags))
    if wanted == document.tags:
        return document
    replace_all_tags(db, document.id, wanted)
    return record_change(db, Action.TAGS_CHANGED, document.id, now)


def replace_all_tags(db: Connection, document_id: DocumentId, tags: Iterable[str]) -> None:
    """Raises `InvalidRequest` if there are too many tags."""
    wanted = list(dict.fromkeys(tags))
    former = fetch_all(db, "SELECT tag_id FROM document_tags WHERE document_id = ?", (document_id,))
    _require_room(len(wanted), former=len(former))
    db.execute("DELETE FROM document_tags WHERE document_id = ?", (document_id,))
    insert_tags(db, document_id, wanted)
    delete_unused_tags(db, [row[0] for row in former])


def delete_unused_tags(db: Connection, tag_ids: Sequence[int]) -> None:
    """Delete the given tags that no document has."""
    # A tag that another transaction is giving to another document stays.
    unused = fetch_all(
        db,
        f"SELECT id FROM tags WHERE id IN {db.dialect.id_list} "
        f"AND NOT EXISTS (SELECT 1 FROM document_tags WHERE tag_id = tags.id) ORDER BY id {db.dialect.skip_locked}",
        (json.dumps(tag_ids),),
    )
    # A document may have got the tag before this transaction locked it.
    db.execute(
        f"DELETE FROM tags WHERE id IN {db.dialect.id_list} "
        "AND NOT EXISTS (SELECT 1 FROM document_tags WHERE tag_id = tags.id)",
        (json.dumps([row[0] for row in unused]),),
    )


def add_tags(db: Connection, document_id: DocumentId, tags: Sequence[str]) -> bool:
    """Add the missing tags after the existing ones; returns whether any was missing.

    The document must be locked, or new. Raises `InvalidRequest` if it would have too many.
    """
    former = set(load_tags(db, [document_id]).get(document_id, []))
    missing = [tag for tag in dict.fromkeys(tags) if tag not in former]
    if missing:
        _require_room(len(former) + len(missing), former=len(former))
        insert_tags(db, document_id, missing)
    return bool(missing)


def _require_room(count: int, *, former: int) -> None:
    """Raises `InvalidRequest`, but a document of an older base that already has too many may keep as many."""
    if count > max(MAX_TAGS, former):
        raise InvalidRequest(
            f"The document would have {count} tags, and the most is {MAX_TAGS}. Remove some of its tags, or add fewer."
        )


def insert_tags(db: Connection, document_id: DocumentId, tags: Sequence[str]) -> None:
    """Add these tags after those of the document, which must have none of them. Their number is not checked."""
    if not tags:
        return
    ids = _find_or_insert_tags(db, tags)
    last: int = db.execute(
        "SELECT COALESCE(max(position), 0) FROM document_tags WHERE document_id = ?", (document_id,)
    ).get
    db.executemany(
        "INSERT INTO document_tags (document_id, tag_id, position) VALUES (?, ?, ?)",
        [(document_id, ids[tag], position) for position, tag in enumerate(tags, start=last + 1)],
    )


def _find_or_insert_tags(db: Connection, tags: Iterable[str]) -> dict[str, int]:
    """The ids by name. Until this transaction ends, no other one deletes these tags; others may use them."""
    missing = set(tags)
    ids: dict[str, int] = {}
    while True:
        # All transactions use the same order, so that no two wait for each other.
        names = json.dumps(sorted(missing))
        ids |= dict(
            fetch_all(
                db,
                f"SELECT name, id FROM tags WHERE name IN {db.dialect.text_list} ORDER BY name {db.dialect.for_use}",
                (names,),
            )
        )
        missing -= ids.keys()
        if not missing:
            return ids
        # Another transaction may insert some of them at the same time: the next round finds those.
        db.executemany(
            "INSERT INTO tags (name) VALUES (?) ON CONFLICT DO NOTHING", [(name,) for name in sorted(missing)]
        )
