"""RTF: text between control words, in groups that lie inside one another.

A group inherits what holds around it, and takes it back when it ends. The file is read from left to right, once;
groups are kept on a stack.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from kb.engine.errors import Unreadable
from kb.engine.ingestion.extraction.extracted import Extracted
from kb.engine.ingestion.extraction.readers.office.rtf_body import BULLET, Body, join_halves
from kb.engine.ingestion.extraction.readers.office.rtf_tables import Fonts, Style, Styles
from kb.engine.ingestion.extraction.readers.office.rtf_words import (
    BODY,
    CHARACTERS,
    COMMENT,
    DESTINATIONS,
    FONTS,
    MARGIN,
    MARK,
    NOTHING,
    OF_CHARACTERS,
    OF_PARAGRAPHS,
    PROPERTIES,
    STYLE,
    STYLES,
    SYMBOLS,
    TRANSPARENT,
)
from kb.engine.ingestion.extraction.readers.shared.properties import make_properties
from kb.engine.ingestion.extraction.readers.shared.refusals import corrupt

MAX_DEPTH = 2_000
"""Of groups in groups; honest documents need some dozens."""

_TOKEN = re.compile(
    rb"""
      \\ (?P<word> [A-Za-z]{1,32} ) (?P<number> -?[0-9]{1,10} )? [ ]?
    | \\' (?P<byte> [0-9A-Fa-f]{2} )
    | \\ (?P<symbol> [^A-Za-z] )
    | (?P<brace> [{}] )
    | (?P<text> [^\\{}]+ )
    """,
    re.VERBOSE,
)
_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{\\rtf")
_LINE_ENDS = re.compile(rb"[\r\n]+")
_NAMES = {"title": "title", "author": "author", "subject": "subject", "keywords": "keywords"}
_TIMES = {"creatim": "created", "revtim": "modified"}
_PROPERTIES_OF_MATHS = re.compile(r"m\w+Pr")


@dataclass
class _Group:
    holds: str
    written: list[str] | None
    """Where its text goes; None if it has none that counts."""
    values: dict[str, int] = field(default_factory=dict)
    is_optional: bool = False
    """Whether `\\*` was just read."""


def read(path: Path) -> Extracted:
    data = path.read_bytes()
    if not _START.match(data):
        raise corrupt("It is not RTF.")
    reader = _Reader()
    reader.take_all(data)
    properties = make_properties(reader.told)
    sections = reader.body.sections()
    return Extracted([sections], properties.title or reader.body.title, properties.metadata)


class _Reader:
    def __init__(self) -> None:
        self.body = Body()
        self.told: dict[str, str] = {}
        self._group = _Group(BODY, self.body.written)
        self._around: list[_Group] = []
        self._bytes = bytearray()
        self._to_skip = 0
        self._fonts = Fonts()
        self._styles = Styles()
        self._margins: set[str] = set()
        self._actions: dict[str, Callable[[int], None]] = {
            "u": self._take_unicode,
            "par": lambda _: self._end_paragraph(),
            "nestcell": lambda _: self._end_paragraph(),
            "cell": lambda _: self._end(self.body.end_cell, "\t"),
            "row": lambda _: self._end(self.body.end_row, "\n"),
            "page": lambda _: self._break_page(),
            "softpage": lambda _: self._break_page(),
            "nofpages": self.body.expect_pages,
            "sect": lambda _: self._end_division(),
            "sbknone": lambda _: self.body.stay_on_page(),
            "sbkcol": lambda _: self.body.stay_on_page(),
            "plain": lambda _: self._forget(OF_CHARACTERS),
            "pard": lambda _: self._forget(OF_PARAGRAPHS),
            "deff": self._take_default_font,
            "fcharset": lambda number: self._fonts.set_character_set_of(self._group.values.get("f", 0), number),
            "cpg": lambda number: self._fonts.set_code_page_of(self._group.values.get("f", 0), f"cp{number}"),
            "ansicpg": lambda number: self._fonts.set_code_page(f"cp{number}"),
            "mac": lambda _: self._fonts.set_code_page("mac_roman"),
            "pc": lambda _: self._fonts.set_code_page("cp437"),
            "pca": lambda _: self._fonts.set_code_page("cp850"),
        }

    def take_all(self, data: bytes) -> None:
        position: int | None = data.index(b"{")
        while position is not None:
            position = self._take_from(data, position)
        # The last brace alone may be missing: all programs forgive that.
        if len(self._around) > 1:
            raise corrupt("Its end is missing.")
        self._end_paragraph()

    def _take_from(self, data: bytes, position: int) -> int | None:
        """Take what is there up to bytes that are no RTF, and tell where they end; None at the end of all."""
        for token in _TOKEN.finditer(data, position):
            match token.lastgroup:
                case "text":
                    self._take_bytes(_LINE_ENDS.sub(b"", token["text"]))
                case "byte":
                    self._take_bytes(bytes.fromhex(token["byte"].decode()))
                case "symbol":
                    self._take_symbol(token["symbol"])
                case "brace" if token["brace"] == b"{":
                    self._open_group()
                case "brace" if len(self._around) == 1:
                    return None
                case "brace":
                    self._close_group()
                case _:
                    number = int(token["number"]) if token["number"] else None
                    if token["word"] == b"bin":
                        return token.end() + max(0, number or 0)
                    self._take_word(token["word"].decode(), number)
        return None

    def _take_bytes(self, data: bytes) -> None:
        skipped = min(self._to_skip, len(data))
        self._to_skip -= skipped
        if self._is_shown():
            self._bytes += data[skipped:]

    def _take_symbol(self, symbol: bytes) -> None:
        if symbol == b"*":
            self._group.is_optional = True
        elif symbol in b"\r\n":
            self._end_paragraph()
        elif symbol in b"\\{}":
            # As a byte: it may be the second of two that are one character.
            self._take_bytes(symbol)
        else:
            self._take_character(SYMBOLS.get(symbol, ""))

    def _take_word(self, word: str, number: int | None) -> None:
        is_optional, self._group.is_optional = self._group.is_optional, False
        if word in CHARACTERS:
            self._take_character(CHARACTERS[word])
        elif word in PROPERTIES:
            self._write_bytes()
            self._group.values[word] = 1 if number is None else number
        elif word in self._actions:
            self._actions[word](0 if number is None else number)
        elif word in DESTINATIONS:
            self._enter(DESTINATIONS[word])
        elif (is_optional and word not in TRANSPARENT) or _PROPERTIES_OF_MATHS.fullmatch(word):
            self._enter(NOTHING)

    def _take_character(self, character: str) -> None:
        if self._to_skip:
            self._to_skip -= 1
        else:
            self._write(character)

    def _take_unicode(self, number: int) -> None:
        self._write(chr(number & 0xFFFF if number <= 0xFFFF else min(number, 0x10FFFF)))
        # What stands for it in programs that know no Unicode follows.
        self._to_skip = max(0, self._group.values.get("uc", 1))

    def _is_shown(self) -> bool:
        values = self._group.values
        return self._group.written is not None and not values.get("v") and not values.get("deleted")

    def _write(self, text: str) -> None:
        self._write_bytes()
        if self._group.written is not None and self._is_shown():
            self._group.written.append(text)

    def _write_bytes(self) -> None:
        """Bytes wait until what they are in may change: in some code pages a character is two of them."""
        if self._bytes and self._group.written is not None:
            code_page = self._fonts.code_page_of(self._group.values.get("f"))
            self._group.written.append(self._bytes.decode(code_page, errors="replace"))
        self._bytes.clear()

    def _open_group(self) -> None:
        if len(self._around) == MAX_DEPTH:
            raise Unreadable(
                "extraction_limit",
                "The file has groups in groups deeper than any honest document. It is not safe to read.",
            )
        self._write_bytes()
        self._to_skip = 0
        around = self._group
        self._around.append(around)
        self._group = _Group(around.holds, around.written, dict(around.values))
        if around.holds == STYLES:
            self._enter(STYLE)

    def _close_group(self) -> None:
        self._write_bytes()
        self._to_skip = 0
        closed, self._group = self._group, self._around.pop()
        if closed.written is not None and closed.written is not self._group.written and closed.holds != BODY:
            self._finish(closed.holds, join_halves("".join(closed.written)), closed.values)

    def _enter(self, holds: str) -> None:
        self._write_bytes()
        self._group.holds = holds
        if holds == BODY:
            self._group.written = self.body.written
        else:
            self._group.written = None if holds in (NOTHING, STYLES, FONTS) else []

    def _finish(self, holds: str, text: str, values: dict[str, int]) -> None:
        if holds == STYLE:
            name = text.strip().removesuffix(";")
            style = Style(name, values.get("outlinelevel"), values.get("sbasedon"))
            self._styles.add(values.get("s", 0), style)
        elif holds == MARK:
            mark = text.strip()
            self.body.mark = f"{mark} " if any(map(str.isalnum, mark)) else BULLET
        elif holds in _TIMES:
            year, *rest = (values.get(unit, 0) for unit in ("yr", "mo", "dy", "hr", "min"))
            self.told[_TIMES[holds]] = "{:04}-{:02}-{:02}T{:02}:{:02}:00".format(year, *rest)
        elif holds in _NAMES:
            self.told[_NAMES[holds]] = text
        elif holds != MARGIN or text not in self._margins:
            self._margins.add(text)
            self.body.add_note(text, "Comment: " if holds == COMMENT else "")

    def _end_paragraph(self) -> None:
        if self._group.values.get("pagebb"):
            self.body.break_page_before_text()
        values = self._group.values
        level = self._styles.level_of(values.get("s", 0), values.get("outlinelevel"))
        self._end(lambda: self.body.end_paragraph(level, in_table=bool(values.get("intbl"))), "\n")

    def _end(self, end_in_body: Callable[[], None], otherwise: str) -> None:
        """End a paragraph, a cell or a row; in a note it only leaves a blank."""
        self._write_bytes()
        if self._group.written is self.body.written:
            end_in_body()
        elif self._group.written is not None:
            self._group.written.append(otherwise)

    def _break_page(self) -> None:
        if self._group.written is self.body.written and not self._group.values.get("intbl"):
            self._end_paragraph()
            self.body.break_page()

    def _end_division(self) -> None:
        self._end_paragraph()
        self.body.break_page_before_text()

    def _forget(self, words: frozenset[str]) -> None:
        self._write_bytes()
        for word in words:
            self._group.values.pop(word, None)

    def _take_default_font(self, number: int) -> None:
        self._fonts.default = number
