"""How much the vectors count for one query, and how much its keywords.

Four things tell. Of a language that the model has to spell out letter by letter, its cosines are noise. Where the
nearest chunk stands out from all others, the vectors have understood the query; where the best keyword score does,
its words are rare and found together. And where parts of long documents are found, words tell better than vectors
which one is meant: the parts of a document are all about the same, and have its title in front.

The figures were chosen by hand on seven judged sets; `docs/design/search.md` tells how, and which signs hold on a set
that was left out when fitting.
"""

import math
from collections.abc import Sequence

import numpy as np

from kb.engine.model import Background, Ids
from kb.engine.words import is_unspaced

# The share of the vectors in the average, the rest being the keywords': of a query in words the model knows, and of one
# that it has to spell out.
USUAL_WEIGHT = 0.5
LEAST_WEIGHT = 0.1
# Neither is ever left out.
LOWEST_FLUENT_WEIGHT, HIGHEST_WEIGHT = 0.15, 0.9
# What a deviation more or less changes; the usual best keyword score stands out by seven.
PER_VECTOR_DEVIATION = 0.09
PER_KEYWORD_DEVIATION = 0.02
USUAL_KEYWORD_PEAK = 7.0
LESS_IN_THE_DEPTH = 0.15

# Only a long document has more; behind them a chunk stands deep in it.
EARLY_CHUNKS = 4

# An English model has some four characters of English to a token, two or three of a language that shares its
# alphabet, and one of any other. A token longer than any word it can know stands for a word it does not know.
FLUENT_TOKEN_LENGTH = 3.0
LONGEST_KNOWN_WORD = 18
# Below this a query is taken to be in a language that the model does not know, English names and codes being
# spelt out as well.
KNOWN_LANGUAGE = 0.95


def measure_fluency(text: str, token_spans: Sequence[tuple[int, int]]) -> float:
    """How well the model knows the words of a text that it takes in these tokens, between 0 and 1."""
    if not token_spans:
        return 0.0
    known = sum(_known_length(text[start:end]) for start, end in token_spans)
    return min(1.0, max(0.0, (known / len(token_spans) - 1) / (FLUENT_TOKEN_LENGTH - 1)))


def _known_length(token: str) -> int:
    # A whole sentence without a space may be a single token, and an unknown one.
    return 0 if len(token) > LONGEST_KNOWN_WORD or (len(token) > 1 and is_unspaced(token)) else len(token)


def measure_peak(best: float, background: Background) -> float:
    """By how many deviations the best stands out, beyond what the best of so many would by chance."""
    if background.deviation <= 0 or background.count < 2:
        return 0.0
    by_chance = math.sqrt(2 * math.log(background.count))
    return (best - background.mean) / background.deviation - by_chance


def measure_depth(ordinals: Ids) -> float:
    """The share of chunks that stand deep in a long document, by their places in theirs."""
    return float(np.count_nonzero(ordinals >= EARLY_CHUNKS)) / len(ordinals) if len(ordinals) else 0.0


def weigh_vectors(keyword_peak: float, *, vector_peak: float, fluency: float, depth: float) -> float:
    weight = USUAL_WEIGHT - LESS_IN_THE_DEPTH * depth
    weight += PER_VECTOR_DEVIATION * vector_peak - PER_KEYWORD_DEVIATION * (keyword_peak - USUAL_KEYWORD_PEAK)
    weight = min(HIGHEST_WEIGHT, max(LOWEST_FLUENT_WEIGHT, weight))
    return LEAST_WEIGHT + (weight - LEAST_WEIGHT) * fluency
