"""Text as the table `chunks_fts` takes it apart: a word is looked up as the table would have stored it."""

from typing import cast

import apsw

# As in the table.
TOKENIZER = ("porter", ["unicode61", "remove_diacritics", "2", "categories", "L* N* Co M*"])


def tokenize(db: apsw.Connection, text: str) -> list[tuple[int, int, str]]:
    """Each term with where its word begins and ends, in bytes."""
    name, arguments = TOKENIZER
    tokens = db.fts5_tokenizer(name, arguments)(text.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None)
    return cast(list[tuple[int, int, str]], tokens)


def find_terms(db: apsw.Connection, text: str) -> list[str]:
    return [term for _, _, term in tokenize(db, text)]
