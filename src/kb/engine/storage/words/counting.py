"""In how many chunks each phrase of a query is, and what that makes it worth."""

from collections.abc import Sequence
from dataclasses import dataclass

from kb.engine.storage.words.phrases import Phrase
from kb.engine.storage.words.scores import inverse_frequency
from kb.engine.storage.words.vocabulary import Vocabulary


@dataclass(frozen=True)
class CountedPhrase:
    phrase: Phrase
    chunks: int
    """How many chunks have it."""
    worth: float
    """Its inverse document frequency: about what one mention of it adds to the score of a chunk of usual length."""


def count_phrase(words: Vocabulary, phrase: Phrase) -> CountedPhrase:
    chunks = words.count(phrase).chunks
    return CountedPhrase(phrase, chunks, inverse_frequency(chunks, words.row_count))


def can_match(phrases: Sequence[CountedPhrase]) -> bool:
    """Whether any chunk can have what is sought: one of the phrases, and all that are required."""
    return any(counted.chunks for counted in phrases) and all(
        counted.chunks for counted in phrases if counted.phrase.is_required
    )
