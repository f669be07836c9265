"""Text taken apart into terms: the same whichever database keeps them, so that both find the same.

It is FTS5 that does it, for the table `chunks_fts` of SQLite and, called from here, for all others.
"""

import threading
from typing import cast

import apsw

# As in the table.
TOKENIZER = ("porter", ["unicode61", "remove_diacritics", "2", "categories", "L* N* Co M*"])

_of_thread = threading.local()


def tokenize(text: str) -> list[tuple[int, int, str]]:
    """Each term with where its word begins and ends, in bytes."""
    tokenizer: apsw.FTS5Tokenizer | None = getattr(_of_thread, "tokenizer", None)
    if tokenizer is None:
        # It belongs to a connection, and a connection to a thread.
        _of_thread.connection = apsw.Connection(":memory:")
        name, arguments = TOKENIZER
        tokenizer = _of_thread.tokenizer = _of_thread.connection.fts5_tokenizer(name, arguments)
    return cast(list[tuple[int, int, str]], tokenizer(text.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None))


def find_terms(text: str) -> list[str]:
    return [term for _, _, term in tokenize(text)]
