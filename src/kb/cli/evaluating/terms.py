"""What a text is made of, as far as one text can be told from another: words, and pairs of characters.

Chinese, Japanese, Thai and their like set no words apart: there a term is two neighbouring characters, as it is to
the engine's keyword index. Nothing here has to agree with that index to the letter, for no term is ever searched: they
only say what is rare and what two texts share.
"""

import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Myanmar, Khmer
    "\u3005-\u3007\u3041-\u3096\u30a1-\u30fa\u30fc-\u30ff"  # kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"  # Han
)
# Vowel signs and tone marks belong to the letter before them.
_MARKS = "".join(
    chr(code)
    for first, last in ((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF))
    for code in range(first, last + 1)
    if unicodedata.category(chr(code)).startswith("M")
)
# Not by what belongs to a word: Hindi and Arabic end words with marks that Python takes for no part of them.
_PUNCTUATION = "".join(chr(code) for code in range(0x3100) if unicodedata.category(chr(code))[0] in "PS")

_STRETCH = re.compile(rf"[{_UNSPACED}]+|[^\s{_UNSPACED}]+")
_UNSPACED_CHARACTER = re.compile(rf"[{_UNSPACED}][{_MARKS}]*")
# What the engine takes for the beginning of a phrase.
_QUOTES = str.maketrans(dict.fromkeys('"\u201c\u201d\u201e\u201f\uff02', " "))


class Term(NamedTuple):
    text: str
    """Without case."""
    start: int
    end: int
    is_word: bool


def find_terms(text: str) -> Iterator[Term]:
    """In their order; pairs of characters overlap."""
    for stretch in _STRETCH.finditer(text):
        word, start = stretch[0], stretch.start()
        if not word.isascii() and _UNSPACED_CHARACTER.match(word):
            yield from _pair_up(text, start, stretch.end())
            continue
        # Most words are bare, and stripping takes longer than all else.
        bare = word if word.isalnum() else word.strip(_PUNCTUATION)
        if bare:
            start += word.index(bare)
            yield Term(bare.casefold(), start, start + len(bare), is_word=True)


def type_plainly(text: str) -> str:
    """As somebody types it who remembers the words: no quotes, nor any other sign that would mean something."""
    words = (word.strip(_PUNCTUATION) for word in text.translate(_QUOTES).split())
    return " ".join(filter(None, words))


def _pair_up(text: str, start: int, end: int) -> Iterator[Term]:
    """A character that stands alone is its own pair."""
    spans = [character.span() for character in _UNSPACED_CHARACTER.finditer(text, start, end)]
    pairs = [(first[0], second[1]) for first, second in pairwise(spans)] or spans
    yield from (Term(text[first:last], first, last, is_word=False) for first, last in pairs)
