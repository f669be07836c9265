"""What follows from the text of a note, when it is added and when it is rewritten."""

import re
from dataclasses import dataclass

from kb.control_characters import without_control_characters
from kb.engine.ingestion.titles import shorten
from kb.engine.model.hashes import hash_of
from kb.engine.model.limits import MAX_DERIVED_TITLE_CHARACTERS
from kb.engine.model.naming import UNNAMED
from kb.engine.words import WORD

# What some file system or shell would stumble over.
UNSAFE_IN_FILENAMES = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]+')
_HEADING_MARKS = re.compile(r"^#{1,6}\s+|\s+#+$")
_LOOKED_AT_CHARACTERS = 1_000


@dataclass(frozen=True)
class NoteDescription:
    title: str
    filename: str
    size_bytes: int
    content_hash: str


def describe_note(text: str, given_title: str | None) -> NoteDescription:
    title = given_title or derive_note_title(text)
    content = text.encode()
    return NoteDescription(
        title=title,
        filename=UNSAFE_IN_FILENAMES.sub(" ", title).strip(" .") + ".md",
        size_bytes=len(content),
        content_hash=hash_of(content),
    )


def derive_note_title(text: str) -> str:
    """The note's first line that has a word in it, or failing that its first line that is not blank.

    A text that has only control characters has no such line, and its title is `UNNAMED`.
    """
    first = ""
    for line in text.splitlines():
        title = _HEADING_MARKS.sub("", without_control_characters(line).strip()[:_LOOKED_AT_CHARACTERS])
        first = first or title
        if WORD.search(title):
            return shorten(title, MAX_DERIVED_TITLE_CHARACTERS)
    return shorten(first, MAX_DERIVED_TITLE_CHARACTERS) or (UNNAMED if text.strip() else "")
