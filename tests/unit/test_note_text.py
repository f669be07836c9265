"""The title of a note that nobody gave one."""

import pytest

from kb.engine.ingestion.note_text import derive_note_title
from kb.engine.model.limits import MAX_DERIVED_TITLE_CHARACTERS


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("\n\n  ## Shopping list ##\nmilk", "Shopping list"),
        ("---\nfirst words\n", "first words"),
        ("🎉\n", "🎉"),
        ("#hashtag first", "#hashtag first"),
        ("  \n", ""),
    ],
)
def test_a_note_is_titled_by_its_first_line(text: str, title: str) -> None:
    """I7"""
    assert derive_note_title(text) == title


def test_a_long_first_line_is_cut_at_a_word() -> None:
    """I7"""
    title = derive_note_title("word " * 100)

    assert title.endswith("word…")
    assert len(title) <= MAX_DERIVED_TITLE_CHARACTERS
    assert len(derive_note_title("今" * 500)) == MAX_DERIVED_TITLE_CHARACTERS
