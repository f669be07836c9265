"""Whether the text layer of a page says what the page shows.

A font may lack the table that tells which letters its glyphs are, or have a wrong one; then the layer is made of
glyph numbers. Four signs give that away, none of which depends on a language: characters that stand for nothing,
Latin letters that follow each other as in no language, letters that nearly all have accents (Cyrillic or Thai in
a font of old), and letters whose two bytes are swapped, which look like Chinese. By them, one page in five hundred of
a library of TeX manuals is held for rubbish without being it; most of those are lists of made-up names. The shares of
letters, vowels and punctuation were tried and dropped: by them, formulas, code and tables look like rubbish too.

The layer that a scanner has left is held to more: its page can be read anew, and mostly better.
"""

import re
from collections.abc import Iterable
from operator import add

_SAMPLE_CHARACTERS = 1_200
# Of fewer nothing can be said.
_FEWEST_CHARACTERS = 10
_FEWEST_LETTERS = 25
_FEWEST_PAIRS = 20

# Controls, characters for private use, and the one for what could not be read.
_MEANINGLESS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\ue000-\uf8ff\ufffd\U000f0000-\U0010ffff]")
_MUCH_MEANINGLESS = 0.2
# More than a font has that lacks only its ligatures and dashes; a sign if the letters are odd as well.
_SOME_MEANINGLESS = 0.03

# "M" as U+4D00. Of all characters that there are, one in 256 is so.
_SWAPPED = re.compile(f"[{''.join(chr(code << 8) for code in range(0x20, 0x7F))}]")
_MANY_SWAPPED = 0.5

_LETTER = re.compile(r"[^\W\d_]")
_ACCENTED = re.compile("[\u00c0-\u02af]")
# Vietnamese has the most, 30 %.
_MANY_ACCENTED = 0.5

_LATIN_WORD = re.compile("[a-z]{3,}")
_PAIR = re.compile("[a-z]{2}")
# The 150 commonest pairs of letters, counted over what programs say to their users in 57 languages of Latin letters.
# They are 62 % of all pairs in Welsh and more in any other, 79 % in English; if letters are shifted, 45 % at most.
_FOLLOWERS = {
    "a": "bcdgiklmnprstuv",
    "b": "aeilou",
    "c": "aehio",
    "d": "aeio",
    "e": "acdgiklmnprst",
    "f": "io",
    "g": "aeiou",
    "h": "aeio",
    "i": "acdegklmnorstz",
    "j": "ae",
    "k": "aeiou",
    "l": "aeilou",
    "m": "abeio",
    "n": "adeginostu",
    "o": "dgklmnprstu",
    "p": "aeioru",
    "r": "adeimostu",
    "s": "aeikostu",
    "t": "aehioru",
    "u": "lmnrst",
    "v": "aei",
    "w": "a",
    "y": "a",
    "z": "ai",
}
_COMMON_PAIRS = frozenset(first + second for first, followers in _FOLLOWERS.items() for second in followers)
_FEW_COMMON = 0.45
# Pairs for each character. Fewer has a page in another script with some names or code on it.
_MOSTLY_LATIN = 0.3
# A glance, at every other pair of some lines, is enough for most pages, and takes a fiftieth of the time that reading
# the page does.
_GLANCE_CHARACTERS = 300
_MANY_COMMON = 0.55

_WORD = re.compile(r"[^\W_]+")
_NOT_ASCII = re.compile("[^\x00-\x7f]")
_SOME_OTHER = 0.3
_FEW_WORD_CHARACTERS = 0.65
_FEW_LONG_WORDS = 0.35


def is_legible(layer: str) -> bool:
    """Whether nothing speaks against the layer, which must be as PDFium gives it: cleaning removes the signs."""
    sample = layer[:_SAMPLE_CHARACTERS]
    meaningless = len(_MEANINGLESS.findall(sample))
    if _has_many_accents(sample):
        return False
    if not meaningless and _is_like_words(sample[:_GLANCE_CHARACTERS].lower()):
        return True
    visible = count_visible(sample)
    if visible < _FEWEST_CHARACTERS:
        return True
    if len(_SWAPPED.findall(sample)) > _MANY_SWAPPED * visible:
        return False
    # A page in another script is judged by its Latin names and code only if there is another sign.
    least = 0 if meaningless > _SOME_MEANINGLESS * visible else _MOSTLY_LATIN * visible
    return meaningless < _MUCH_MEANINGLESS * visible and not _has_odd_words(sample.lower(), least)


def is_noise(layer: str) -> bool:
    """Whether a program has taken specks and pictures for Latin letters: scattered ones, and much punctuation.

    Of good pages one in twenty is taken for noise, mostly tables and formulas: this is for layers that can be replaced.
    """
    sample = layer[:_SAMPLE_CHARACTERS]
    visible = count_visible(sample)
    words = _WORD.findall(sample)
    if visible < _FEWEST_CHARACTERS or len(_NOT_ASCII.findall(sample)) > _SOME_OTHER * visible:
        return False
    long_words = sum(len(word) > 2 for word in words)
    return sum(map(len, words)) < _FEW_WORD_CHARACTERS * visible or long_words < _FEW_LONG_WORDS * len(words)


def count_visible(text: str) -> int:
    return len("".join(text.split()))


def _has_many_accents(sample: str) -> bool:
    if sample.isascii():
        return False
    accented = len(_ACCENTED.findall(sample))
    return accented >= _FEWEST_LETTERS and accented > _MANY_ACCENTED * len(_LETTER.findall(sample))


def _is_like_words(sample: str) -> bool:
    pairs = _PAIR.findall(sample)
    return len(pairs) >= _FEWEST_PAIRS and _count_common(pairs) > _MANY_COMMON * len(pairs)


def _has_odd_words(sample: str, least: float) -> bool:
    """Whether Latin letters follow each other as in no language, if that is so often enough to tell."""
    words = _LATIN_WORD.findall(sample)
    pairs = sum(map(len, words)) - len(words)
    if pairs < max(_FEWEST_PAIRS, least):
        return False
    letters = " ".join(words)
    return _count_common(map(add, letters, letters[1:])) < _FEW_COMMON * pairs


def _count_common(pairs: Iterable[str]) -> int:
    return sum(map(_COMMON_PAIRS.__contains__, pairs))
