"""Which word of the base was probably meant by one that is nowhere in it."""

from collections.abc import Iterable, Iterator
from contextlib import suppress

from kb.engine.errors import TooBroad
from kb.engine.storage.words.phrases import Phrase
from kb.engine.storage.words.terms import find_terms
from kb.engine.storage.words.vocabulary import LAST, Vocabulary
from kb.engine.words import space_out

# Short words are near too many others.
SHORTEST_WORD = 4
# A suggestion is worth no more than the search it comes with; without one nothing is missing.
LONGEST_SEARCH_SECONDS = 0.05


def suggest_words(known: Vocabulary, words: Iterable[str]) -> dict[str, str]:
    """By each word that is nowhere in the base the one that was probably meant, if there is one."""
    meant = {word: _suggest_word(known, word) for word in words}
    return {word: known_word for word, known_word in meant.items() if known_word is not None}


def _suggest_word(known: Vocabulary, word: str) -> str | None:
    if len(word) < SHORTEST_WORD or not word.isalpha():
        return None
    terms = find_terms(word)
    if len(terms) != 1 or known.count(Phrase(space_out(word))).chunks > 0:
        return None
    with suppress(TooBroad), known.time_limited(LONGEST_SEARCH_SECONDS):
        nearest = _nearest_term(known, terms[0])
        return None if nearest is None else known.find_written(nearest)
    return None


def _nearest_term(known: Vocabulary, term: str) -> str | None:
    """The known term within reach: the nearest, and of equally near ones the most used.

    Only terms with the same first two letters are looked at, and those for which they were swapped or the second is one
    too many. People rarely mistype the first letters, and FTS5 walks through all chunks of each term that it tells.
    """
    reach = 1 if len(term) < 7 else 2
    letters = set(term)
    best: tuple[int, int, str] | None = None
    for candidate, count in _terms_like(known, term, reach):
        # Most have too many other letters, which is told in a thirtieth of the time.
        if len(letters.symmetric_difference(candidate)) > 2 * reach:
            continue
        distance = edit_distance(term, candidate, at_most=reach)
        if distance <= reach and (best is None or (distance, -count) < best[:2]):
            best = (distance, -count, candidate)
    return None if best is None else best[2]


def _terms_like(known: Vocabulary, term: str, reach: int) -> Iterator[tuple[str, int]]:
    for beginning in dict.fromkeys([term[:2], term[1::-1], term[0] + term[2:3]]):
        yield from known.list_terms(beginning, beginning + LAST, shortest=len(term) - reach, longest=len(term) + reach)


def edit_distance(left: str, right: str, *, at_most: int) -> int:
    """Letters to add, drop, change or swap with their neighbour; anything above `at_most` is `at_most + 1`."""
    before_last: list[int] = []
    last = list(range(len(right) + 1))
    for i, letter in enumerate(left, start=1):
        current = [i]
        for j, other in enumerate(right, start=1):
            cost = min(last[j] + 1, current[j - 1] + 1, last[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == right[j - 2] and left[i - 2] == other:
                cost = min(cost, before_last[j - 2] + 1)
            current.append(cost)
        if min(current) > at_most:
            return at_most + 1
        before_last, last = last, current
    return last[-1]
