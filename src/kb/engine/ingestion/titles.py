"""Titles that nobody gave."""

import re

from kb.engine.words import WORD

MAX_TITLE_CHARACTERS = 80

_HEADING_MARKS = re.compile(r"^#{1,6}\s+|\s+#+$")
_LOOKED_AT_CHARACTERS = 1_000


def derive_note_title(text: str) -> str:
    """The note's first line that has a word in it, or failing that its first line that is not blank."""
    first = ""
    for line in text.splitlines():
        title = _HEADING_MARKS.sub("", line.strip()[:_LOOKED_AT_CHARACTERS])
        first = first or title
        if WORD.search(title):
            return shorten(title, MAX_TITLE_CHARACTERS)
    return shorten(first, MAX_TITLE_CHARACTERS)


def shorten(text: str, limit: int) -> str:
    """The text on one line and at most `limit` characters long, cut after a word with `…` if need be."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    head = line[:limit]
    at_word = head.rpartition(" ")[0]
    # With no space in the second half (a URL, Chinese), a cut inside the word says more.
    return (at_word if len(at_word) >= limit // 2 else head[:-1]) + "…"
