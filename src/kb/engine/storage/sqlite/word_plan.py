"""Which words of a query FTS5 finds and ranks chunks by, and which only add to the score of what was found. Pure.

FTS5 takes about 0.9 µs for each chunk that it ranks, however many are wanted in the end, and a question of ten words
has a few that are in every tenth chunk. What tells chunks apart are its rare words. So chunks are found by as many of the
rarest words as fit a budget; the others are known from bits in memory (`word_index`), by which a chunk that has
the word is given what it is worth at least. To leave them out altogether would be simpler, and was far worse (docs/design/search.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kb.engine.storage.sqlite.match_expression import Phrase

# So many chunks are ranked in less than 4 ms, and up to that nothing is planned.
RANKED_IN_FULL = 4_000
# Otherwise so many: enough for a list of 200 to be chosen from, and in a large base more, since words are less telling there.
FEWEST_TO_RANK = 1_000
MOST_TO_RANK = 5_000
SHARE_TO_RANK = 0.005
# To walk past a chunk that is not ranked costs FTS5 so much of what it costs to rank it.
COST_OF_WALKING = 1 / 12


@dataclass(frozen=True)
class CountedPhrase:
    phrase: Phrase
    chunks: int
    """How many chunks have it."""
    worth: float
    """Its inverse document frequency: about what one mention of it adds to the score of a chunk of usual length."""


@dataclass(frozen=True)
class WordPlan:
    ranking: list[CountedPhrase]
    """Chunks are found and ranked by these."""
    adding: list[CountedPhrase]
    """These only add to the score, the most telling first."""
    cost: float
    """Of ranking, in chunks."""


def budget_of(row_count: int) -> int:
    return int(min(max(FEWEST_TO_RANK, SHARE_TO_RANK * row_count), MOST_TO_RANK))


def plan_words(phrases: Sequence[CountedPhrase], *, row_count: int, share: float = 1.0) -> WordPlan:
    """`share` is how many of the chunks with a word are ranked at all; the others are only walked past.

    The required phrases always rank, and without any the rarest word does. All words do if they can.
    """
    cost_of_chunk = max(share, COST_OF_WALKING)
    ranking = [phrase for phrase in phrases if phrase.phrase.is_required]
    others = [phrase for phrase in phrases if phrase.chunks > 0 and not phrase.phrase.is_required]
    rarest_first = sorted(others, key=lambda phrase: phrase.chunks)
    is_little = cost_of_chunk * sum(phrase.chunks for phrase in phrases) <= RANKED_IN_FULL
    budget = RANKED_IN_FULL if is_little else budget_of(row_count)
    cost = cost_of_chunk * sum(phrase.chunks for phrase in ranking)
    for place, phrase in enumerate(rarest_first):
        more = cost_of_chunk * phrase.chunks
        if ranking and cost + more > budget:
            return WordPlan(ranking, rarest_first[place:], cost)
        ranking.append(phrase)
        cost += more
    return WordPlan(ranking, [], cost)
