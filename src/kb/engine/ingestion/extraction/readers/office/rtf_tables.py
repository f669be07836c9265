"""What an RTF document says of its fonts and styles before its text begins."""

import codecs
import re
from dataclasses import dataclass

from kb.engine.ingestion.extraction.readers.office.limits import MAX_ANCESTORS

# By the number of a font's character set; those that are not here are in the code page of the document.
_CHARACTER_SETS = {
    77: "mac_roman",
    128: "cp932",
    129: "cp949",
    130: "johab",
    134: "gb18030",
    136: "cp950",
    161: "cp1253",
    162: "cp1254",
    163: "cp1258",
    177: "cp1255",
    178: "cp1256",
    186: "cp1257",
    204: "cp1251",
    222: "cp874",
    238: "cp1250",
    254: "cp437",
    255: "cp850",
}
_HEADING_NAME = re.compile(r"heading (\d)", re.IGNORECASE)
# As a level of the outline.
_BODY_TEXT = 9


class Fonts:
    """Tells which code page bytes are in; a font may have its own."""

    def __init__(self) -> None:
        self.default = 0
        self._of_document = "cp1252"
        self._of_fonts: dict[int, str] = {}

    def set_code_page(self, code_page: str) -> None:
        if _is_known(code_page):
            self._of_document = code_page

    def set_code_page_of(self, font: int, code_page: str) -> None:
        if _is_known(code_page):
            self._of_fonts[font] = code_page

    def set_character_set_of(self, font: int, number: int) -> None:
        if number in _CHARACTER_SETS:
            self._of_fonts[font] = _CHARACTER_SETS[number]

    def code_page_of(self, font: int | None) -> str:
        return self._of_fonts.get(self.default if font is None else font, self._of_document)


@dataclass(frozen=True)
class Style:
    name: str
    outline_level: int | None
    based_on: int | None


class Styles:
    def __init__(self) -> None:
        self._styles: dict[int, Style] = {}

    def add(self, number: int, style: Style) -> None:
        self._styles[number] = style

    def level_of(self, number: int, outline_level: int | None) -> int | None:
        """That of a heading in this style, unless the paragraph has a level of its own; None if it is no heading."""
        if outline_level is not None:
            return outline_level + 1 if outline_level < _BODY_TEXT else None
        style = self._styles.get(number)
        for _ in range(MAX_ANCESTORS):
            if style is None:
                break
            level = _level_by_itself(style)
            if level is not None:
                return level
            style = None if style.based_on is None else self._styles.get(style.based_on)
        return None


def _level_by_itself(style: Style) -> int | None:
    if style.outline_level is not None and style.outline_level < _BODY_TEXT:
        return style.outline_level + 1
    named = _HEADING_NAME.fullmatch(style.name)
    return int(named[1]) if named else 0 if style.name.lower() == "title" else None


def _is_known(code_page: str) -> bool:
    try:
        codecs.lookup(code_page)
    except LookupError:
        return False
    return True
