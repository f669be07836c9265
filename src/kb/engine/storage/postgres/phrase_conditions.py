"""Phrases as conditions on the table `chunk_words`: SQL with placeholders, and the values for them."""

from collections.abc import Sequence

from kb.engine.model import Scope
from kb.engine.storage.postgres.values import find_known_terms, to_token
from kb.engine.storage.words.phrases import find_excluded, find_required
from kb.engine.words import space_out


def condition_on_phrase(tokens: Sequence[Sequence[int]]) -> tuple[str, list[object]]:
    """The chunk has these one after another in its title, its heading or its text; in each place any of some."""
    if len(tokens) == 1:
        return "tokens && ?::bigint[]", [list(tokens[0])]
    parts = ["tokens && ?::bigint[]"] * len(tokens)
    first, *others = tokens
    last = len(others)
    follow = " AND ".join(f"tokens[at + {place}] = ANY (?::bigint[])" for place in range(1, last + 1))
    # Only the last word of a phrase may be a beginning, so the first is one.
    values: list[object] = [*map(list, tokens), first[0], *map(list, others)]
    # It may not begin in the title and end in the text.
    ends = f"at + {last} <= title_length OR at > title_length + heading_length"
    within_heading = f"at > title_length AND at + {last} <= title_length + heading_length"
    parts.append(
        f"EXISTS (SELECT 1 FROM unnest(array_positions(tokens, ?::bigint)) AS at "
        f"WHERE {follow} AND ({ends} OR {within_heading}))"
    )
    return " AND ".join(parts), values


def condition_on_words(scope: Scope) -> tuple[str, list[object]]:
    """The chunk has all phrases that the scope requires, and none that it excludes."""
    parts, values = ["1 = 1"], list[object]()
    for form, phrases in (("({})", find_required(scope)), ("NOT ({})", find_excluded(scope))):
        for tokens in filter(None, map(_tokens_of, phrases)):
            condition, needed = condition_on_phrase(tokens)
            parts.append(form.format(condition))
            values += needed
    return " AND ".join(parts), values


def limits_words(scope: Scope) -> bool:
    return bool(find_required(scope) or find_excluded(scope))


def _tokens_of(phrase: str) -> list[list[int]]:
    return [[to_token(term)] for term in find_known_terms(space_out(phrase))]
