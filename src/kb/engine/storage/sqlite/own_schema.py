"""The schema as kb makes it, and the refusal of a base that holds anything else.

A trigger, a view, an index or a default that somebody put into a base runs when kb reads or writes. So before a base is
used, all that `sqlite_schema` lists is compared with what the numbered steps make, word by word.
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
"""By type and name: the table it belongs to, and its SQL."""

# What SQLite's own ANALYZE makes; kb never does, but it does no harm.
_STATISTICS: Final[_Parts] = {
    ("table", "sqlite_stat1"): ("sqlite_stat1", "CREATE TABLE sqlite_stat1(tbl,idx,stat)"),
    ("table", "sqlite_stat4"): ("sqlite_stat4", "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)"),
}
_LONGEST_NAME: Final = 60


@cache
def load_steps() -> dict[int, str]:
    """The SQL of each step by the version it leads to: 0003_initial.sql leads to 3."""
    folder = resources.files("kb.engine.storage.sqlite") / "schema"
    return {int(file.name[:4]): file.read_text() for file in folder.iterdir() if file.name.endswith(".sql")}


def apply_steps(db: apsw.Connection, *, after: int, up_to: int | None = None) -> None:
    for version, sql in sorted(load_steps().items()):
        if after < version <= (version if up_to is None else up_to):
            db.execute(sql)
            db.pragma("user_version", version)


def refuse_foreign_schema(db: apsw.Connection, version: int) -> None:
    """Raises `Unavailable` unless the base has just what kb makes for this version of the schema."""
    own, there = _own_parts(version), _read_parts(db)
    for (kind, name), part in there.items():
        if part not in (own.get((kind, name)), _STATISTICS.get((kind, name))):
            changed = "which is not as kb made it" if (kind, name) in own else "which kb did not make"
            raise _refusal(f"holds the {kind} {_shown(name)}, {changed}")
    for kind, name in own.keys() - there.keys():
        raise _refusal(f"lacks the {kind} {_shown(name)}")


@cache
def _own_parts(version: int) -> _Parts:
    """Takes 7 ms, once in a process."""
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
    """In ASCII: whoever put it there chose the name."""
    return ascii(name)[:_LONGEST_NAME]


def _refusal(what: str) -> Unavailable:
    return Unavailable(
        f"The base {what}. kb uses only a base whose schema is as kb made it: anything else could run when kb reads or "
        "writes. Restore a backup that you made. If you changed the base, undo that with the sqlite3 program on a copy."
    )
