"""The terms of a text as PostgreSQL keeps them: bounded in length, as numbers, in pairs where words are not spaced."""

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from kb.engine.storage.words.terms import find_terms
from kb.engine.words import is_unspaced, space_out

# A longer term, which is no word but a key or a checksum, is known by its beginning and a digest: an index of terms
# takes no longer ones.
LONGEST_TERM = 64
DIGEST_LENGTH = 16


class ChunkTerms(NamedTuple):
    """As they are indexed, in their order."""

    title: list[str]
    heading: list[str]
    body: list[str]

    @property
    def all(self) -> list[str]:
        return [*self.title, *self.heading, *self.body]

    @property
    def pairs(self) -> set[str]:
        return {pair for part in self for pair in find_pairs(part)}


def find_known_terms(text: str) -> list[str]:
    """The terms of a text as they are kept, in their order."""
    return [shorten(term) for term in find_terms(text)]


def find_chunk_terms(title: list[str], heading: str | None, text: str) -> ChunkTerms:
    return ChunkTerms(title, find_known_terms(space_out(heading or "")), find_known_terms(space_out(text)))


def find_pairs(terms: Sequence[str]) -> list[str]:
    """The neighbouring characters of unspaced scripts, each pair as a term that no other term looks like."""
    pairs = pairwise(terms)
    return [f" {one} {other}" for one, other in pairs if not one.isascii() and is_unspaced(one) and is_unspaced(other)]


def shorten(term: str) -> str:
    if len(term) <= LONGEST_TERM:
        return term
    return term[: LONGEST_TERM - DIGEST_LENGTH] + hashlib.sha256(term.encode()).hexdigest()[:DIGEST_LENGTH]


@lru_cache(maxsize=100_000)
def to_token(term: str) -> int:
    """The number that stands for a term: 64 bits, so that no two terms of any base share one."""
    return int.from_bytes(hashlib.blake2b(term.encode(), digest_size=8).digest(), "big", signed=True)
