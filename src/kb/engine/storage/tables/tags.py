"""Tags: a document's tags stand in the order they were added, and an unused tag is gone."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from kb.engine.model import Action, Document, DocumentId, Ref, TagCount
from kb.engine.storage.tables.connection import Connection, Database
from kb.engine.storage.tables.journal import record_change
from kb.engine.storage.tables.rows import fetch_all, load_unchanged_document


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
            kept = [tag for tag in document.tags if tag not in set(remove)]
            return _save_tags(db, document, [*kept, *add], now)

    def replace_tags(self, ref: Ref, tags: Sequence[str], *, expected_version: int | None, now: datetime) -> Document:
        with self._database.write() as db:
            return _save_tags(db, load_unchanged_document(db, ref, expected_version), tags, now)

    def list_tags(self) -> list[TagCount]:
        with self._database.read() as db:
            rows = db.execute(
                "SELECT name, count(*) FROM document_tags JOIN tags ON tags.id = tag_id "
                "GROUP BY name ORDER BY lower(name), name"
            )
            return [TagCount(name, count) for name, count in rows]


def _save_tags(db: Connection, document: Document, tags: Iterable[str], now: datetime) -> Document:
    wanted = tuple(dict.fromkeys(tags))
    if wanted == document.tags:
        return document
    replace_all_tags(db, document.id, wanted)
    return record_change(db, Action.TAGS_CHANGED, document.id, now)


def replace_all_tags(db: Connection, document_id: DocumentId, tags: Iterable[str]) -> None:
    former = db.execute("SELECT tag_id FROM document_tags WHERE document_id = ?", (document_id,)).fetchall()
    db.execute("DELETE FROM document_tags WHERE document_id = ?", (document_id,))
    add_tags(db, document_id, tags)
    for (tag_id,) in sorted(former):
        # One that somebody is giving to another document just now stays.
        free = fetch_all(db, f"SELECT id FROM tags WHERE id = ? {db.dialect.skip_locked}", (tag_id,))
        if free:
            db.execute(
                "DELETE FROM tags WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM document_tags WHERE tag_id = ?1)",
                (tag_id,),
            )


def add_tags(db: Connection, document_id: DocumentId, tags: Iterable[str]) -> bool:
    """Add the tags that are missing, after those that are there; tell whether any was."""
    is_any_new = False
    wanted = list(dict.fromkeys(tags))
    # In one order for all, so that no two wait for each other.
    ids = {tag: _find_or_insert(db, tag) for tag in sorted(wanted)}
    for tag in wanted:
        added = fetch_all(
            db,
            "INSERT INTO document_tags (document_id, tag_id, position) "
            "SELECT ?1, ?2, COALESCE(max(position), 0) + 1 FROM document_tags WHERE document_id = ?1 "
            "ON CONFLICT DO NOTHING RETURNING tag_id",
            (document_id, ids[tag]),
        )
        is_any_new |= bool(added)
    return is_any_new


def _find_or_insert(db: Connection, tag: str) -> int:
    """Nobody removes it as unused before this transaction ends; others may use it."""
    while True:
        found: int | None = db.execute(f"SELECT id FROM tags WHERE name = ? {db.dialect.for_use}", (tag,)).get
        if found is not None:
            return found
        db.execute("INSERT INTO tags (name) VALUES (?) ON CONFLICT DO NOTHING", (tag,))
