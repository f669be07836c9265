"""Small files, each of which once cost its reader a minute or more."""

from collections.abc import Iterator

from tests.hostile.containers import XLSX
from tests.hostile.hostile_file import CORRUPT, LIMIT, READ, HostileFile, hostile

_ROW = b'<row r="%s"><c r="%s" t="inlineStr"><is><t>word</t></is></c></row>'
_MAIL = b'From: a@example.org\nTo: b@example.org\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="b"\n\n'


def hostile_costs() -> Iterator[HostileFile]:
    far_cells: dict[str, tuple[bytes, bytes]] = {
        "a-row-beyond-the-last": (b"9999999", b"A9999999"),
        "a-row-beyond-numbers": (b"99999999999", b"A99999999999"),
        "a-column-beyond-the-last": (b"2", b"ZZZ2"),
        "a-column-of-five-letters": (b"2", b"ZZZZZ2"),
        "a-cell-beyond-everything": (b"99999999999", b"ZZZZZZZZ99999999999"),
    }
    for name, place in far_cells.items():
        yield hostile(f"{name}.xlsx", lambda place=place: _sheet(_ROW % place), CORRUPT)  # type: ignore[misc]
    oddly_written = _ROW.replace(b'"', b"'") % (b"2", b"ZZZZZ2")
    yield hostile("a-column-oddly-written.xlsx", lambda: _sheet(oddly_written), CORRUPT, LIMIT)
    yield hostile("rows-that-end-in-the-last-column.xlsx", lambda: _sheet(_last_column() * 50_000), LIMIT, is_slow=True)
    yield hostile("nothing-but-rows-without-cells.xlsx", lambda: _sheet(_ROW % (b"1048576", b"XFD1048576")), READ)
    part = b"--b\nContent-Type: " + b"a" * 4_000 + b"\n\nword\n"
    yield hostile("types-of-one-long-word.eml", lambda: _MAIL + part * 100 + b"--b--\n", READ)


def _sheet(row: bytes) -> bytes:
    return XLSX.document(_ROW % (b"1", b"A1") + row)


def _last_column() -> bytes:
    return b'<row><c r="XFD2" t="inlineStr"><is><t>word</t></is></c></row>'
