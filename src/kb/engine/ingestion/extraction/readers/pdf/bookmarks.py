"""A PDF's outline (its bookmarks), and a page's text cut where they lead to.

A bookmark names a page, and mostly only that can be relied on. Where its title stands on that page as lines of its
own, the text is cut in front of them; otherwise it holds from the place of the bookmark before it, or from the
page's beginning.
"""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import pypdfium2 as pdfium

from kb.engine.ingestion.extraction.line_ends import ends_sentence
from kb.engine.ingestion.extraction.readers.pdf.text import on_one_line
from kb.engine.ingestion.sections import Section
from kb.engine.ingestion.titles import MAX_HEADING_CHARACTERS, render_path, shorten

# More than this is an index, or a file made to keep its reader busy; the pages behind just have no finer headings.
MAX_BOOKMARKS = 10_000
MAX_LEVELS = 8
MAX_HEADING_LINES = 3

_NOT_IN_KEYS = re.compile(r"[\W_]+")
_LONGEST_KEY = 300


@dataclass(frozen=True)
class Heading:
    title: str
    level: int
    path: str | None
    key: str
    page_index: int | None


class Bookmarks:
    def __init__(self, headings: Sequence[Heading]) -> None:
        self.first_heading = next((heading for heading in headings if heading.title), None)
        located = [(heading.page_index, heading) for heading in headings if heading.page_index is not None]
        # Stable: on one page they stay in the outline's order.
        located.sort(key=lambda entry: entry[0])
        self._page_indexes = [page_index for page_index, _ in located]
        self._headings = [heading for _, heading in located]

    def cut(self, page_index: int, text: str) -> list[Section]:
        """The page's text in sections, each under its heading; nothing is lost but blank lines.

        A heading with nothing between it and its first sub-heading begins the sub-heading's section; so does the
        page's running head. A heading that is not found holds from where the one before it does.
        """
        first = bisect_left(self._page_indexes, page_index)
        end = bisect_right(self._page_indexes, page_index)
        lines = text.split("\n")
        path = self._headings[first - 1].path if first else None
        starts = [(0, path)]
        above: Heading | None = None
        body_start = 0
        for heading, place in _locate(self._headings[first:end], lines):
            if place is None:
                begins_section = False
            elif above is None:
                begins_section = not _is_running_head(lines[: place.start])
            else:
                begins_section = above.level >= heading.level or any(lines[body_start : place.start])
            if place and begins_section:
                starts.append((place.start, heading.path))
            else:
                starts[-1] = (starts[-1][0], heading.path)
            above, body_start = heading, place.stop if place else body_start
        ends = [start for start, _ in starts[1:]] + [len(lines)]
        pieces = ["\n".join(lines[start:end]).strip("\n") for (start, _), end in zip(starts, ends, strict=True)]
        return [Section(piece, path, page_index + 1) for piece, (_, path) in zip(pieces, starts, strict=True) if piece]

    def heading_at_end(self, page_index: int) -> str | None:
        """What the last line of the page stands under, wherever on it the headings are."""
        end = bisect_right(self._page_indexes, page_index)
        return self._headings[end - 1].path if end else None


def read_bookmarks(document: pdfium.PdfDocument) -> Bookmarks:
    return Bookmarks(list(_read_headings(document)))


def _read_headings(document: pdfium.PdfDocument) -> Iterator[Heading]:
    titles: list[str] = []
    for bookmark in islice(document.get_toc(max_depth=MAX_LEVELS), MAX_BOOKMARKS):
        try:
            title = on_one_line(bookmark.get_title())
        except UnicodeDecodeError:
            title = ""
        destination = bookmark.get_dest()
        titles = [*titles[: bookmark.level], shorten(title, MAX_HEADING_CHARACTERS)]
        yield Heading(
            title=titles[-1],
            level=bookmark.level,
            path=render_path(titles),
            key=_strip_number(_fold(title[:_LONGEST_KEY])),
            page_index=destination.get_index() if destination else None,
        )


def _is_running_head(lines: Sequence[str]) -> bool:
    """Whether all that the page has above a heading is its number or the book's name, if that."""
    return not lines or (len(lines) == 1 and not ends_sentence(lines[0]))


def _locate(headings: Sequence[Heading], lines: Sequence[str]) -> Iterator[tuple[Heading, range | None]]:
    """Each heading with the lines that it stands on, None if it stands on none behind the heading before it."""
    # Letters may be spaced out on the page, and a number stand in front of them.
    longest = max((2 * len(heading.key) + 10 for heading in headings), default=0)
    places = _find_places(lines, longest) if headings else {}
    cursor = 0
    for heading in headings:
        candidates = places.get(heading.key, [])
        following = bisect_left(candidates, cursor, key=lambda candidate: candidate.start)
        place = candidates[following] if following < len(candidates) else None
        cursor = place.stop if place else cursor
        yield heading, place


def _find_places(lines: Sequence[str], longest: int) -> dict[str, list[range]]:
    """All that a heading could be: one to three lines together, none longer than `longest`, by their letters."""
    folded = [_fold(line) if len(line) <= longest else "" for line in lines]
    places: dict[str, list[range]] = {}
    for start, key in enumerate(folded):
        if not key:
            continue
        for end in range(start + 1, min(start + MAX_HEADING_LINES, len(lines)) + 1):
            if folded[end - 1]:
                places.setdefault(_strip_number("".join(folded[start:end])), []).append(range(start, end))
    return places


def _fold(text: str) -> str:
    """Its letters and digits alone: blanks, dots and capitals differ between page and outline."""
    return _NOT_IN_KEYS.sub("", unicodedata.normalize("NFKC", text).casefold())


def _strip_number(key: str) -> str:
    """Without the number in front, which may stand in only one of the two."""
    return key.lstrip("0123456789") or key
