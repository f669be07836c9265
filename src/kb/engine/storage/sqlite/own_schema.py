"""The schema that kb makes, and the refusal of a base with any other schema.

A foreign trigger, view, index or default in a base could run when kb reads or writes. So before a base is used, all
rows of `sqlite_schema` are compared, word by word, with the schema that the numbered steps make.
"""

from contextlib import closing
from functools import cache
from importlib import resources
from typing import Final, TypeAlias

import apsw

from kb.engine.errors import Unavailable
from kb.engine.storage.sqlite.checksums import register_checksum
from kb.engine.storage.sqlite.connection import SqliteConnection
from kb.engine.storage.tables.rows import fetch_all

_Parts: TypeAlias = dict[tuple[str, str], tuple[str, str | None]]
"""Parts of a schema. The key is type and name; the value is the table that the part belongs to, and its SQL."""

# Tables of SQLite's ANALYZE. kb does not run it, but they do no harm.
_STATISTICS: Final[_Parts] = {
    ("table", "sqlite_stat1"): ("sqlite_stat1", "CREATE TABLE sqlite_stat1(tbl,idx,stat)"),
    ("table", "sqlite_stat4"): ("sqlite_stat4", "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)"),
}
_LONGEST_NAME: Final = 60


@cache
def load_steps() -> dict[int, str]:
    """The SQL of each step, by the version that it makes: 0003_initial.sql makes version 3."""
    folder = resources.files("kb.engine.storage.sqlite") / "schema"
    return {int(file.name[:4]): file.read_text() for file in folder.iterdir() if file.name.endswith(".sql")}


def apply_steps(db: apsw.Connection, *, after: int, up_to: int | None = None) -> None:
    for version, sql in sorted(load_steps().items()):
        if after < version <= (version if up_to is None else up_to):
            db.execute(sql)
            db.pragma("user_version", version)


def refuse_foreign_schema(db: apsw.Connection, version: int) -> None:
    """Raises `Unavailable` unless the schema of the base is exactly the one that kb makes for this version."""
    own, there = _own_parts(version), _read_parts(db)
    for (kind, name), part in there.items():
        if part not in (own.get((kind, name)), _STATISTICS.get((kind, name))):
            changed = "which is not as kb made it" if (kind, name) in own else "which kb did not make"
            raise _refusal(f"holds the {kind} {_shown(name)}, {changed}")
    for kind, name in own.keys() - there.keys():
        raise _refusal(f"lacks the {kind} {_shown(name)}")


@cache
def _own_parts(version: int) -> _Parts:
    """The parts of kb's schema. Making them takes 7 ms, once in a process."""
    with closing(SqliteConnection(":memory:")) as db:
        register_checksum(db)
        apply_steps(db, after=0, up_to=version)
        return _read_parts(db)


def _read_parts(db: apsw.Connection) -> _Parts:
    rows = fetch_all(db, "SELECT type, name, tbl_name, sql FROM sqlite_schema")
    parts = {(kind, name): (table, sql) for kind, name, table, sql in rows}
    if len(parts) < len(rows):
        raise _refusal("names something twice")
    return parts


def _shown(name: object) -> str:
    """The name in ASCII: it may be hostile."""
    return ascii(name)[:_LONGEST_NAME]


def _refusal(what: str) -> Unavailable:
    return Unavailable(
        f"The base {what}. kb uses only a base whose schema is as kb made it: anything else could run when kb reads or "
        "writes. Restore a backup that you made. If you changed the base, undo that with the sqlite3 program on a copy."
    )
