"""Long documents that were read in one go, cut into parts of bearable length."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from kb.engine.ingestion.extraction.extracted import Picture
from kb.engine.ingestion.sections import Section

# Two or three seconds of embedding: progress is told part by part.
PART_CHARACTERS = 50_000
# To read one takes about as long as to embed so many.
PICTURE_CHARACTERS = 20_000


def cut_into_parts(items: Iterable[Section | Picture]) -> list[list[Section | Picture]]:
    """The items in parts of at most `PART_CHARACTERS`; a section that is longer is cut, unless it is rows."""
    parts: list[list[Section | Picture]] = [[]]
    characters = 0
    for item in items:
        for piece in _cut(item):
            length = PICTURE_CHARACTERS if isinstance(piece, Picture) else len(piece.text)
            if parts[-1] and characters + length > PART_CHARACTERS:
                parts.append([])
                characters = 0
            parts[-1].append(piece)
            characters += length
    return parts


def _cut(section: Section | Picture) -> Iterator[Section | Picture]:
    """Cut at a paragraph's end if there is one near, or else a line's, or a word's. Nothing is lost."""
    if isinstance(section, Picture):
        yield section
        return
    text, start = section.text, 0
    while section.rows is None and len(text) - start > PART_CHARACTERS:
        end = start + PART_CHARACTERS
        ends = (text.rfind(mark, start + PART_CHARACTERS // 2, end) for mark in ("\n\n", "\n", " "))
        cut = next((cut + 1 for cut in ends if cut >= 0), end)
        yield replace(section, text=text[start:cut])
        start = cut
    yield replace(section, text=text[start:]) if start else section
