"""Which words of a query FTS5 finds and ranks chunks by, and which only add to the score of what was found. Pure.

FTS5 takes a microsecond or two for each chunk that it ranks, however few are wanted in the end, and most questions have
words that are in every tenth chunk. What tells chunks apart are the rare words. So chunks are found by as many of the
rarest as fit a budget. The others are known from memory (`word_index`): a chunk that has one is given what one
mention is worth. To leave them out altogether would be simpler, and far worse (docs/design/search.md).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kb.engine.storage.words.counting import CountedPhrase

# A base of so many chunks is not planned for: all that can be found in it is ranked in a few milliseconds.
SMALL_BASE = 20_000
# Nor is a query whose words are in so few chunks altogether.
RANKED_IN_FULL = 2_000
# Otherwise so many are ranked: enough to choose a list of 200 from, and more in a large base.
FEWEST_TO_RANK = 500
MOST_TO_RANK = 3_000
SHARE_TO_RANK = 0.003
# To walk past a chunk that is not ranked costs FTS5 so much of what it costs to rank it.
COST_OF_WALKING = 1 / 12


@dataclass(frozen=True)
class WordPlan:
    ranking: list[CountedPhrase]
    """Chunks are found and ranked by these."""
    adding: list[CountedPhrase]
    """These only add to the score, the most telling first."""
    cost: float
    """Of ranking, in chunks."""


def budget_of(row_count: int) -> float:
    if row_count <= SMALL_BASE:
        return math.inf
    return min(max(FEWEST_TO_RANK, SHARE_TO_RANK * row_count), MOST_TO_RANK)


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
