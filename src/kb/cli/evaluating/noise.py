"""Whether a text reads like language or like what a machine makes of specks, folds and pictures.

A word is noise if a sign or a digit stands amid its letters, if no vowel or too many consonants are in it, if a letter
comes three times in a row, if small and capital letters alternate, or if it is one letter where no language has such a
word. Every good text has some: names of files, formulas, abbreviations. So only their share tells something, and
tables, code and the like are not to be judged by it.
"""

import re

# Of fewer words nothing can be said.
FEWEST_WORDS = 12

_LATIN = re.compile(r"[a-z\u00df-\u024f]")
_LETTER = re.compile(r"[^\W\d_]")
_NOT_PUNCTUATION = re.compile(r"[^\W_](?:\S*[^\W_])?")
# It's, e-mail, and/or, u.s., and what stands beside a foot note or at the end of a line.
_ORDINARY = re.compile(r"[^\W\d_]+(?:['\u2019.\-\u2010-\u2014/&,;:][^\W\d_]+)*\d{0,2}")
# 1960s, 2nd, 12.5kg, 3-4: a number with its unit. Addresses and names of files are no language, but neither noise.
_NUMBER = re.compile(r"[\d.,:/%\u00b0\u2013-]+[^\W\d_]{0,3}|\S*(?:@|://|www\.)\S*|\S+\.[a-z]{2,4}")
_VOWEL = re.compile(r"[aeiouy\u00e0-\u00e6\u00e8-\u00ef\u00f2-\u00f6\u00f8-\u00ff]")
_CROWDED = re.compile(r"[bcdfghjklmnpqrstvwxz]{6}|([a-z])\1\1")
_ALTERNATING = re.compile(r"[a-z][A-Z]+[a-z]|^[a-z]+[A-Z]{1,2}$")
_LETTERS_THAT_ARE_WORDS = frozenset("aeiouyàéèóáíåö")
_LONGEST_WITHOUT_VOWEL = 3


def measure_noise(text: str) -> float | None:
    """The share of the text's Latin words that are noise; None if there are too few to tell.

    A text in another script is not judged by the names and formulas in it.
    """
    if 2 * len(_LATIN.findall(text.lower())) < len(_LETTER.findall(text)):
        return None
    words = [word for word in _NOT_PUNCTUATION.findall(text) if _LATIN.search(word.lower())]
    if len(words) < FEWEST_WORDS:
        return None
    return sum(map(is_noise, words)) / len(words)


def is_noise(word: str) -> bool:
    """Of a word in Latin letters, without the punctuation around it."""
    small = word.lower()
    if len(small) == 1:
        return small not in _LETTERS_THAT_ARE_WORDS
    if _NUMBER.fullmatch(small):
        return False
    if not _ORDINARY.fullmatch(small) or _ALTERNATING.search(word) or _CROWDED.search(small):
        return True
    return not word.isupper() and len(small) > _LONGEST_WITHOUT_VOWEL and not _VOWEL.search(small)
