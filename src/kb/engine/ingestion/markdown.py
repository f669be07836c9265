"""Markdown, as notes and files have it: sections by heading."""

import re
from dataclasses import dataclass

from kb.engine.ingestion.fences import find_fences, is_inside
from kb.engine.ingestion.sections import Section
from kb.engine.ingestion.titles import MAX_HEADING_CHARACTERS, render_path, shorten

# A hash heading, or a single line underlined; the line above an underline is checked in `_find_headings`.
_HEADING = re.compile(
    r"""
      ^[ ]{0,3}(?P<hashes>\#{1,6})(?:[ \t]+(?P<title>[^\n]*))?$
    | ^[ ]{0,3}(?![-*+>|][ ]|\d+[.)][ ]|\#{1,6}[ ])(?P<underlined>[^\s|][^\n]*)
      \n[ ]{0,3}(?P<line>={2,}|-{2,})[ \t]*$
    """,
    re.MULTILINE | re.VERBOSE,
)
_CLOSING_HASHES = re.compile(r"(?<=\s)#+\Z")
_LINK = re.compile(r"!?\[([^\[\]\n]*)\]\([^()\n]*\)")
_INLINE_MARKS = re.compile(r"\*+|`+|~~|(?<!\w)_+|_+(?!\w)")
_LOOKED_AT_CHARACTERS = 1_000


@dataclass(frozen=True)
class _Heading:
    start: int
    end: int
    level: int
    title: str


def sections_of_markdown(text: str) -> list[Section]:
    """The text cut in front of its headings; nothing is lost but blank sections.

    A section's heading is the path to it, "Chapter > Part". A heading with nothing between it and its
    first sub-heading begins the sub-heading's section: by itself it would be a chunk that says nothing.
    """
    sections: list[Section] = []
    path: list[_Heading] = []
    start = 0
    for heading in _find_headings(text):
        is_first_below = bool(path) and path[-1].level < heading.level
        if not (is_first_below and text[path[-1].end : heading.start].isspace()):
            sections.append(Section(text[start : heading.start], _render_path(path)))
            start = heading.start
        path = [*(above for above in path if above.level < heading.level), heading]
    sections.append(Section(text[start:], _render_path(path)))
    return [section for section in sections if section.text.strip()]


def find_title(text: str) -> str | None:
    headings = [heading for heading in _find_headings(text) if heading.title]
    return next((heading.title for heading in headings if heading.level == 1), None) or next(
        (heading.title for heading in headings), None
    )


def _render_path(path: list[_Heading]) -> str | None:
    return render_path(heading.title for heading in path)


def _find_headings(text: str) -> list[_Heading]:
    fences = find_fences(text)
    return [
        _heading_of(match)
        for match in _HEADING.finditer(text)
        if not is_inside(match.start(), fences) and (match["hashes"] or _follows_blank_line(match))
    ]


def _follows_blank_line(match: re.Match[str]) -> bool:
    """Whether the underlined line stands alone: under a longer paragraph, `---` is far more often a rule."""
    before = match.string.rfind("\n", 0, max(0, match.start() - 1)) + 1
    return not match.string[before : match.start()].strip()


def _heading_of(match: re.Match[str]) -> _Heading:
    if match["hashes"]:
        level = len(match["hashes"])
        title = _CLOSING_HASHES.sub("", f" {match['title'] or ''}".rstrip())
    else:
        level = 1 if match["line"].startswith("=") else 2
        title = match["underlined"]
    bare = _INLINE_MARKS.sub("", _LINK.sub(r"\1", title[:_LOOKED_AT_CHARACTERS]))
    return _Heading(match.start(), match.end(), level, shorten(bare, MAX_HEADING_CHARACTERS))
