"""Tags in SQLite: a document's tags stand in the order they were added, and an unused tag is gone."""

from collections.abc import Iterable, Sequence
from datetime import datetime

import apsw

from kb.engine.model import Action, Document, DocumentId, Ref, TagCount
from kb.engine.storage.sqlite.database import Database
from kb.engine.storage.sqlite.journal import record_change
from kb.engine.storage.sqlite.rows import load_unchanged_document


class TagRows:
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
                "GROUP BY tag_id ORDER BY name COLLATE NOCASE, name"
            )
            return [TagCount(name, count) for name, count in rows]


def _save_tags(db: apsw.Connection, document: Document, tags: Iterable[str], now: datetime) -> Document:
    wanted = tuple(dict.fromkeys(tags))
    if wanted == document.tags:
        return document
    replace_all_tags(db, document.id, wanted)
    return record_change(db, Action.TAGS_CHANGED, document.id, now)


def replace_all_tags(db: apsw.Connection, document_id: DocumentId, tags: Iterable[str]) -> None:
    former = db.execute("SELECT tag_id FROM document_tags WHERE document_id = ?", (document_id,)).fetchall()
    db.execute("DELETE FROM document_tags WHERE document_id = ?", (document_id,))
    add_tags(db, document_id, tags)
    for (tag_id,) in former:
        db.execute(
            "DELETE FROM tags WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM document_tags WHERE tag_id = ?1)",
            (tag_id,),
        )


def add_tags(db: apsw.Connection, document_id: DocumentId, tags: Iterable[str]) -> bool:
    """Add the tags that are missing, after those that are there; tell whether any was."""
    before = db.total_changes()
    for tag in tags:
        db.execute("INSERT INTO tags (name) VALUES (?) ON CONFLICT DO NOTHING", (tag,))
        db.execute(
            "INSERT INTO document_tags (document_id, tag_id, position) "
            "SELECT ?1, id, (SELECT COALESCE(max(position), 0) + 1 FROM document_tags WHERE document_id = ?1) "
            "FROM tags WHERE name = ?2 ON CONFLICT DO NOTHING",
            (document_id, tag),
        )
    return db.total_changes() != before
