"""How much a word is worth, after BM25 as FTS5 has it."""

import math
from collections.abc import Sequence
from itertools import chain

from kb.engine.storage.words.phrases import Phrase
from kb.engine.storage.words.vocabulary import Vocabulary

# FTS5's constants: the score of one term approaches (K1 + 1) * idf; B says how much a long text has to have more of it.
BM25_K1 = 1.2
BM25_B = 0.75
# A word in the title says more about a chunk than one in its text; docs/design/search.md has what 1, 2 and 4 did.
TITLE_WEIGHT = 2.0


def inverse_frequency(frequency: int, row_count: int) -> float:
    """As in FTS5: a term in more than half of all rows is worth next to nothing."""
    return max(math.log((max(row_count - frequency, 0) + 0.5) / (frequency + 0.5)), 1e-6)


def best_possible_score(words: Vocabulary, phrases: Sequence[Phrase]) -> float:
    """The score of an imagined chunk that holds everything sought, just as it was asked for, and little else.

    Words that no chunk has count too: a chunk with the other half of the query is half an answer. Other spellings do
    not: nobody writes a name in two ways at once.
    """
    forms_of_words: list[list[int]] = []
    # FTS5 counts required phrases twice: they are ranked by, and stand beside what is ranked by.
    for phrase in chain(phrases, (phrase for phrase in phrases if phrase.is_required)):
        if phrase.is_spelling:
            continue
        frequency = words.count(phrase).rarest_term
        if phrase.is_other_form:
            forms_of_words[-1].append(frequency)
        else:
            forms_of_words.append([frequency])
    return sum(
        (BM25_K1 + 1) * inverse_frequency(frequency, words.row_count)
        for forms in forms_of_words
        for frequency in _frequencies_to_expect(*forms)
    )


def _frequencies_to_expect(word: int, *others: int) -> list[int]:
    """A chunk with a word as it was asked for has one of its other forms as well, namely its beginning."""
    if not others:
        return [word]
    return [word or max(others), max(others)]
