"""Titles and headings at a length that can be shown, and the paths of headings that lead to a text."""

from collections.abc import Iterable

MAX_HEADING_CHARACTERS = 120
"""A heading is repeated with every chunk under it; a longer one is a paragraph in the wrong style."""

PATH_SEPARATOR = " > "


def shorten(text: str, limit: int) -> str:
    """The text on one line and at most `limit` characters long, cut after a word with `…` if need be."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    head = line[:limit]
    at_word = head.rpartition(" ")[0]
    # With no space in the second half (a URL, Chinese), a cut inside the word says more.
    return (at_word if len(at_word) >= limit // 2 else head[:-1]) + "…"


def render_path(names: Iterable[str]) -> str | None:
    """The headings from the top, "Chapter > Part", each shortened; blank ones left out; None if there is none."""
    return PATH_SEPARATOR.join(filter(None, (shorten(name, MAX_HEADING_CHARACTERS) for name in names))) or None
