"""What has to be known of the terms of a base, which is kept where the terms are."""

import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from kb.engine.storage.words.phrases import Phrase

LAST = chr(sys.maxunicode)
"""Behind a term: comes after all that begin like it."""

# Of what was counted so much is remembered from one search to the next.
MOST_COUNTS = 20_000
# Fewer are counted anew after any change: of a word that seems to be nowhere no chunk is looked for.
FEWEST_TO_BE_SURE = 200
# And all are when so large a share of the chunks has come or gone.
STALE_SHARE = 0.01


class Frequency(NamedTuple):
    chunks: int
    """How many chunks have it; for a beginning at most so many, since one with two such words counts twice."""
    rarest_term: int
    """How many chunks have the rarest of its terms."""


class Vocabulary(Protocol):
    @property
    def row_count(self) -> int:
        """How many chunks there are."""
        ...

    def count(self, phrase: Phrase) -> Frequency: ...

    def find_term(self, first: str, beyond: str) -> str | None:
        """The first of those that lie between the two, `beyond` not included."""
        ...

    def list_terms(self, first: str, beyond: str, *, shortest: int, longest: int) -> Iterable[tuple[str, int]]:
        """Those between the two that have so many letters, and in how many chunks each is."""
        ...

    def find_written(self, term: str) -> str | None:
        """A word as it stands in a text: terms are stems ("retriev"), the text knows the word ("retrieval")."""
        ...

    def time_limited(self, seconds: float) -> AbstractContextManager[None]:
        """Raises `TooBroad` when the block has taken so long."""
        ...
