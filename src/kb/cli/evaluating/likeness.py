"""How much of a text stands in another one."""

from collections.abc import Sequence
from itertools import islice

from kb.cli.evaluating.terms import find_terms

# So many words in a row are seldom the same by chance.
_TERMS_OF_SHINGLE = 4

Shingles = frozenset[tuple[str, ...]]


def cut_shingles(chunks: Sequence[str]) -> Shingles:
    """All runs of a few terms; a text that is shorter is one run. Where chunks end makes no difference."""
    terms = [term.text for chunk in chunks for term in find_terms(chunk)]
    runs = zip(*(islice(terms, start, None) for start in range(_TERMS_OF_SHINGLE)), strict=False)
    return frozenset(runs) or frozenset([tuple(terms)] if terms else [])


def share_within(part: Shingles, whole: Shingles) -> float:
    """Between 0 and 1; of nothing, nothing is in it."""
    return len(part & whole) / len(part) if part else 0.0
