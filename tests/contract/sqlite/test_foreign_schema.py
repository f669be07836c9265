"""Foreign parts in the schema of a base never run (E31)."""

from contextlib import closing
from pathlib import Path

import apsw
import pytest
from tests.contract.sqlite.foreign_parts import FOREIGN_PARTS, put_foreign_part
from tests.contract.sqlite.old_bases import build_base, bytes_of, open_base, upgrade
from tests.handmade_documents import NOW, add_note, found_by_text

from kb.engine.checkup import read_base
from kb.engine.errors import Unavailable
from kb.engine.storage import open_store
from kb.engine.storage.sqlite.connection import SqliteConnection

SOURCES = Path(__file__).parents[3] / "src" / "kb"


@pytest.fixture
def base(folder: Path) -> Path:
    return folder / "kb.sqlite"


@pytest.mark.parametrize("what", FOREIGN_PARTS)
def test_a_base_with_a_foreign_schema_is_refused_and_not_touched(folder: Path, base: Path, what: str) -> None:
    """E31"""
    open_store(folder, model_fingerprint="tiny-1").close()
    with open_base(base) as db:
        put_foreign_part(db, what)
    before = bytes_of(base)

    for start in (
        lambda: upgrade(folder),
        lambda: open_store(folder, model_fingerprint="tiny-1"),
        lambda: read_base(folder),
    ):
        with pytest.raises(Unavailable, match=FOREIGN_PARTS[what].message):
            start()

    assert bytes_of(base) == before


@pytest.mark.parametrize("version", [3, 4])
def test_foreign_trigger_does_not_run_in_an_upgrade(folder: Path, base: Path, version: int) -> None:
    """E31"""
    build_base(base, version)
    with open_base(base) as db:
        db.execute("CREATE TRIGGER evil AFTER UPDATE ON chunks BEGIN DELETE FROM jobs; END")
    before = bytes_of(base)

    with pytest.raises(Unavailable, match="the trigger 'evil', which kb did not make"):
        upgrade(folder)

    assert bytes_of(base) == before


def test_statistics_and_an_emptied_index_are_not_foreign(folder: Path, base: Path) -> None:
    """E31"""
    store = open_store(folder, model_fingerprint="tiny-1")
    add_note(store, "a walrus")
    store.delete_everything(now=NOW)
    store.close()
    with open_base(base) as db:
        db.execute("ANALYZE")

    store = open_store(folder, model_fingerprint="tiny-1")

    assert found_by_text(store, "walrus") == []
    store.close()


def test_sql_cannot_damage_a_base(folder: Path, base: Path) -> None:
    """E31"""
    open_store(folder, model_fingerprint="tiny-1").close()

    with closing(SqliteConnection(base)) as db:
        db.pragma("writable_schema", "on")
        for sql in ("UPDATE chunks_fts_data SET block = x'00'", "UPDATE sqlite_schema SET sql = ''"):
            with pytest.raises(apsw.SQLError, match="may not be modified"):
                db.execute(sql)
        assert db.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, -1) == 0


def test_every_base_is_opened_in_defensive_mode() -> None:
    """E31: only a connection in memory is opened in another way."""
    opening = {path.name for path in SOURCES.rglob("*.py") if "apsw.Connection(" in path.read_text(encoding="utf-8")}

    assert opening == {"terms.py"}
