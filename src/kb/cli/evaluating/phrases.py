"""Words by which a document should be found: a few in a row that hardly any other has, from several of its places."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from math import log

from kb.cli.evaluating.noise import is_noise
from kb.cli.evaluating.terms import Term, find_terms, type_plainly

# So many somebody remembers; of unspaced characters it is one more.
TERMS_OF_PHRASE = 6
# From the beginning, the middle and the end.
MOST_PHRASES = 3
_SHORTEST_TELLING_WORD = 3
# What is longer is a picture or a key in the middle of a text, which nobody types.
_LONGEST_TYPED_WORD = 40

Frequencies = Mapping[str, int]


def count_documents(documents: Iterable[Sequence[str]]) -> Counter[str]:
    """In how many documents each term is; a document is given as its chunks' texts."""
    frequencies: Counter[str] = Counter()
    for chunks in documents:
        frequencies.update({term.text for chunk in chunks for term in find_terms(chunk)})
    return frequencies


def pick_phrases(chunks: Sequence[str], frequencies: Frequencies, documents: int) -> list[str]:
    """The rarest phrase of each third of the chunks; of each chunk if there are fewer. None is told twice."""
    parts = min(MOST_PHRASES, len(chunks))
    borders = [part * len(chunks) // parts for part in range(parts + 1)] if parts else [0]
    picked = (
        _pick_rarest(chunks[start:end], frequencies, documents)
        for start, end in zip(borders, islice(borders, 1, None), strict=False)
    )
    return list(dict.fromkeys(filter(None, picked)))


def _pick_rarest(chunks: Sequence[str], frequencies: Frequencies, documents: int) -> str:
    """The first of those that are as rare; nothing if no chunk has a term that anybody would type."""
    rarest, phrase = -1.0, ""
    for chunk in chunks:
        for terms in _find_stretches(chunk):
            weights = [_weigh(term, frequencies, documents) for term in terms]
            for start in range(max(1, len(terms) - TERMS_OF_PHRASE + 1)):
                window = terms[start : start + TERMS_OF_PHRASE]
                rarity = sum({term.text: weights[start + place] for place, term in enumerate(window)}.values())
                if rarity > rarest:
                    rarest, phrase = rarity, type_plainly(chunk[window[0].start : window[-1].end])
    return phrase


def _find_stretches(chunk: str) -> Iterator[list[Term]]:
    """The terms of the chunk, parted by those that nobody types."""
    for is_typed, terms in groupby(find_terms(chunk), key=lambda term: len(term.text) <= _LONGEST_TYPED_WORD):
        if is_typed:
            yield list(terms)


def _weigh(term: Term, frequencies: Frequencies, documents: int) -> float:
    """How much a term tells: what nobody would remember, numbers and noise, tells nothing."""
    if term.is_word and (len(term.text) < _SHORTEST_TELLING_WORD or not term.text[0].isalpha() or is_noise(term.text)):
        return 0.0
    return log((documents + 1) / frequencies.get(term.text, 1))
