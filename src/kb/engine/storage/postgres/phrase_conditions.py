"""Phrases as conditions on the table `chunk_words`: SQL with placeholders, and the values for them."""

from collections.abc import Sequence
from typing import NamedTuple

from kb.engine.model import Scope
from kb.engine.storage.postgres.terms import find_known_terms, find_pairs, to_token
from kb.engine.storage.words.phrases import find_excluded, find_required
from kb.engine.words import space_out

# For chunks that meet conditions. Nearly all searches take a hundredth of it.
LONGEST_SEARCH_SECONDS = 1.0

Condition = tuple[str, list[object]]


class PhraseTokens(NamedTuple):
    places: list[list[int]]
    """In the places of its terms the numbers, any of which will do."""
    pairs: list[int]
    """Those of its pairs of characters."""

    @classmethod
    def of(cls, terms: Sequence[str]) -> "PhraseTokens":
        return cls([[to_token(term)] for term in terms], [to_token(pair) for pair in find_pairs(terms)])

    @property
    def is_word(self) -> bool:
        return len(self.places) == 1

    @property
    def is_pair(self) -> bool:
        return len(self.places) == 2 and len(self.pairs) == 1


def has_word(tokens: list[int]) -> Condition:
    """Any of them."""
    return "tokens && ?::bigint[]", [tokens]


def has_pair(pairs: list[int]) -> Condition:
    """Any of them."""
    return "pairs && ?::bigint[]", [pairs]


def has_all(tokens: PhraseTokens) -> Condition:
    """The chunk has all terms of a phrase: what an index can tell."""
    if tokens.pairs and len(tokens.pairs) == len(tokens.places) - 1:
        return "pairs @> ?::bigint[]", [tokens.pairs]
    return " AND ".join(["tokens && ?::bigint[]"] * len(tokens.places)), [*tokens.places]


def has_phrase(tokens: PhraseTokens) -> Condition:
    """The chunk has these one after another in its title, its heading or its text; in each place any of some."""
    condition, values = has_all(tokens)
    if tokens.is_word or tokens.is_pair:
        return condition, values
    first, *others = tokens.places
    last = len(others)
    follow = " AND ".join(f"tokens[at + {place}] = ANY (?::bigint[])" for place in range(1, last + 1))
    # It may not begin in the title and end in the text.
    ends = f"at + {last} <= title_length OR at > title_length + heading_length"
    within_heading = f"at > title_length AND at + {last} <= title_length + heading_length"
    follows = (
        f"EXISTS (SELECT 1 FROM unnest(array_positions(tokens, ?::bigint)) AS at "
        f"WHERE {follow} AND ({ends} OR {within_heading}))"
    )
    # Only the last word of a phrase may be a beginning, so the first is one.
    return f"{condition} AND {follows}", [*values, first[0], *others]


def condition_on_words(scope: Scope) -> Condition:
    """The chunk has all phrases that the scope requires, and none that it excludes."""
    parts, values = ["1 = 1"], list[object]()
    for form, phrases in (("({})", find_required(scope)), ("({}) IS NOT TRUE", find_excluded(scope))):
        for terms in filter(None, (find_known_terms(space_out(phrase)) for phrase in phrases)):
            condition, needed = has_phrase(PhraseTokens.of(terms))
            parts.append(form.format(condition))
            values += needed
    return " AND ".join(parts), values


def limits_words(scope: Scope) -> bool:
    return bool(find_required(scope) or find_excluded(scope))
