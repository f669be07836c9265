"""A word that is still being typed: by what else to look for it.

Of words stems are kept, and a beginning is compared with those. So `kuber` finds kubernet(es), but `universi` does not
find univers(ity), although whoever types it means that. Where nothing is known by what was typed, it is taken for a
word of which the stem is complete and the ending is not.
"""

from collections.abc import Iterator

from kb.engine.errors import TooBroad
from kb.engine.storage.words.phrases import Phrase, build_beginning
from kb.engine.storage.words.terms import find_terms
from kb.engine.storage.words.vocabulary import LAST, Vocabulary
from kb.engine.words import fold, space_out

# Beyond this what begins so tells nothing, and FTS5 takes too long to put together where it stands: two letters in a
# large base. One letter more is typed at once.
MOST_CHUNKS = 100_000
LONGEST_COUNT_SECONDS = 0.05
# generalizati(on) is kept as gener.
LONGEST_ENDING = 7
SHORTEST_STEM = 5
COMMON_ENDINGS = ("ing", "ed", "ion", "ation", "ity", "er", "est", "ness", "ment")
ENDINGS_THAT_ARE_CUT = ("e", "ing", "ed")
# knowle is knowl to FTS5, and so is knowled.
MOST_LETTERS_MORE = 3


def find_completions(words: Vocabulary, typed: str) -> list[Phrase]:
    """By what to look for it besides; by nothing if there is nothing to add to the word as it was typed."""
    folded = fold(typed)
    try:
        with words.time_limited(LONGEST_COUNT_SECONDS):
            # Asked first: of a whole word FTS5 would cut the ending, and find policies by what begins like police.
            if not _has_term(words, folded, folded + LAST):
                stem = None if words.count(Phrase(space_out(typed))).chunks else _find_stem(words, folded)
                return [] if stem is None else [stem]
            completions = list(_find_beginnings(words, folded))
            chunks = sum(words.count(completion).chunks for completion in completions)
            return completions if chunks <= MOST_CHUNKS else []
    except TooBroad:
        return []


def _find_beginnings(words: Vocabulary, typed: str) -> Iterator[Phrase]:
    """What begins so; by more letters where FTS5 would cut an ending off it, and find red by the `re` of `res`."""
    to_try = [typed]
    while to_try:
        word = to_try.pop()
        if "".join(find_terms(word)).startswith(typed):
            yield build_beginning(word)
            continue
        if len(word) - len(typed) == MOST_LETTERS_MORE:
            continue
        if _has_term(words, word, word + "\1"):
            yield from _find_whole(word)
        to_try += [word + letter for letter in _list_next_letters(words, word)]


def _find_whole(stem: str) -> Iterator[Phrase]:
    """A word that is kept as this stem: hous(e), embed(ding)."""
    whole = (stem + ending for ending in ENDINGS_THAT_ARE_CUT)
    yield from (Phrase(space_out(word), is_other_form=True) for word in whole if find_terms(word) == [stem])


def _list_next_letters(words: Vocabulary, typed: str) -> Iterator[str]:
    letter = ""
    while True:
        first = typed + letter + LAST if letter else typed + "\1"
        term = words.find_term(first, typed + LAST)
        if term is None:
            return
        letter = term[len(typed)]
        yield letter


def _find_stem(words: Vocabulary, typed: str) -> Phrase | None:
    shortest = max(SHORTEST_STEM, len(typed) - LONGEST_ENDING)
    stems = (typed[:end] for end in range(len(typed) - 1, shortest - 1, -1))
    stem = next((stem for stem in stems if _has_term(words, stem, stem + "\1")), None)
    if stem is None:
        return _guess_word(words, typed)
    # Of some stems FTS5 would cut another ending.
    is_kept = find_terms(stem) == [stem]
    return Phrase(space_out(stem), is_other_form=True) if is_kept else build_beginning(stem)


def _guess_word(words: Vocabulary, typed: str) -> Phrase | None:
    """Of a shorter stem only what the most common endings make of it: runni is running, and has to do with run."""
    for ending in COMMON_ENDINGS:
        for begun in (length for length in range(len(ending)) if typed.endswith(ending[:length])):
            word = typed + ending[begun:]
            stem = "".join(find_terms(word))
            # taki is taking, of which take is kept.
            if typed.startswith(stem.removesuffix("e")) and _has_term(words, stem, stem + "\1"):
                return Phrase(space_out(word), is_other_form=True)
    return None


def _has_term(words: Vocabulary, first: str, beyond: str) -> bool:
    return words.find_term(first, beyond) is not None
