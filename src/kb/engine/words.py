"""What a word is: for the keyword index, for the query that is put to it, and for marking what was found.

Chinese, Japanese, Thai and their like are written without spaces, so a tokenizer that splits at spaces
takes a whole sentence for one word and finds nothing (measured: recall .09 for Chinese, against .99 with
what is done here). The index is therefore given such text with spaces between its characters, and a
query's run of such characters is looked for as pairs of neighbours.
"""

import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

_LETTERS = frozenset({"Lo", "Lm"})
_COMBINING = frozenset({"Mn", "Mc"})


def _characters(categories: frozenset[str], *blocks: tuple[int, int]) -> str:
    """The inside of a regex class: the characters of these categories in these blocks, as ranges."""
    ranges: list[list[int]] = []
    for first, last in blocks:
        for code in range(first, last + 1):
            if unicodedata.category(chr(code)) not in categories:
                continue
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


_THAI_LAO_KHMER_MYANMAR = (
    (0x0E00, 0x0EFF),
    (0x1780, 0x17FF),
    (0x1000, 0x109F),
    (0xA9E0, 0xA9FF),
    (0xAA60, 0xAA7F),
)

_UNSPACED = (
    "\u3005-\u3007\u3021-\u3029\u3031-\u3035\u303b"  # Han iteration marks and numerals
    "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # kana, half-width too
    "\u3105-\u312f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Bopomofo, Han
    "\uac00-\ud7a3"  # Hangul: written with spaces, but its particles are glued to the words
    "\U0001b000-\U0001b16f\U00020000-\U000323af"  # old kana, rare Han
) + _characters(_LETTERS, *_THAI_LAO_KHMER_MYANMAR)

# Vowel signs and tone marks belong to the letter before them.
_ATTACHED = "\u3099\u309a\ufe00-\ufe0f\U000e0100-\U000e01ef" + _characters(_COMBINING, *_THAI_LAO_KHMER_MYANMAR)

# Python's \w leaves out the vowel signs that Hindi, Arabic, Tamil and others write inside their words.
MARKS = _characters(_COMBINING, (0x0300, 0x1FFF), (0xA800, 0xABFF)) + "\u3099\u309a"

WORD = re.compile(rf"[^\W_]+(?:[{MARKS}]+[^\W_]*)*")
"""Letters, digits and their marks, as the keyword index understands them: `snake_case` is two words."""

_UNSPACED_CHARACTER = re.compile(rf"[{_UNSPACED}][{_ATTACHED}]*")
_UNSPACED_RUN = re.compile(rf"[{_UNSPACED}][{_UNSPACED}{_ATTACHED}]*")
_GAP = re.compile(rf"(?<=\S)(?=[{_UNSPACED}])|(?<=[{_UNSPACED}{_ATTACHED}])(?=[^\s{_ATTACHED}])")
_DIACRITICS = re.compile("[\u0300-\u036f]+")
_MARK = re.compile(f"[{MARKS}]")

# What joins the parts of a name or a code: wi-fi, COVID-19, H2A.Z, TCP/IP.
_JOINTS = frozenset("-\u2010\u2011./")
_LETTERS_OR_DIGITS = re.compile(r"\d+|\D+")
# A part so short, or a number, says next to nothing by itself: the 2 of SHP-2.
LONGEST_SHORT_PART = 2
# Codes of more parts are keys and checksums, which everybody writes alike.
MOST_PARTS_OF_A_WORD = 3

# What is left of a word when its ending is cut off; measured with make evaluate in eight languages.
SHORTEST_BEGINNING = 5
LONGEST_ENDING = 3

_ARTICLE = "\u0627\u0644"
_ARABIC = re.compile("[\u0620-\u064a]{3}")
# The article, alone or after "and", "so", "with", "like" and "for"; at least three letters follow.
_ARABIC_ARTICLE = re.compile(f"^[\u0648\u0641]?(?:[\u0628\u0643]?{_ARTICLE}|\u0644\u0644)(?=[\u0620-\u064a]{{3}})")


def space_out(text: str) -> str:
    """The text as the keyword index and its queries must be given it.

    Characters of unspaced scripts stand alone, and compatibility forms (full-width letters, half-width
    kana, ligatures) are the plain ones. Returns `text` itself when there is nothing to change.
    """
    if text.isascii():
        return text
    if not unicodedata.is_normalized("NFKC", text):
        text = unicodedata.normalize("NFKC", text)
    return _GAP.sub(" ", text) if _UNSPACED_CHARACTER.search(text) else text


def split_runs(word: str) -> Iterator[tuple[str, bool]]:
    """The parts of a word, each with whether it is written in an unspaced script: `第3章` has three."""
    position = 0
    for run in _UNSPACED_RUN.finditer(word):
        if run.start() > position:
            yield word[position : run.start()], False
        yield run.group(), True
        position = run.end()
    if position < len(word):
        yield word[position:], False


def pair_up(run: str) -> list[str]:
    """The neighbouring pairs of an unspaced run, by which it is looked for; a lone character is its own."""
    characters = _UNSPACED_CHARACTER.findall(run)
    return [a + b for a, b in pairwise(characters)] or characters


def is_unspaced(text: str) -> bool:
    """Whether it begins with a character of an unspaced script."""
    return _UNSPACED_CHARACTER.match(text) is not None


class SoughtForm(NamedTuple):
    text: str
    has_any_ending: bool


def forms_of(word: str) -> list[SoughtForm]:
    """By what to look for a word of a language that inflects its words, without knowing the language: first as it is.

    What endings tell is nearly always in the last three letters, and Arabic words are written together with their
    article as well. Numbers and codes are looked for as they are.
    """
    if not _MARK.sub("", word).isalpha():
        return [SoughtForm(word, has_any_ending=False)]
    if _ARABIC.match(word):
        bare = _cut_ending(_ARABIC_ARTICLE.sub("", word), SHORTEST_BEGINNING - 1)
        others = [bare, SoughtForm(_ARTICLE + bare.text, bare.has_any_ending)]
    else:
        # German has both spellings, the second for whoever cannot type the first.
        spellings = (word, word.replace("ß", "ss") if "ß" in word else word.replace("ss", "ß"))
        others = [_cut_ending(spelling, SHORTEST_BEGINNING) for spelling in spellings]
    return list(dict.fromkeys([SoughtForm(word, has_any_ending=False), *others]))


def _cut_ending(word: str, shortest: int) -> SoughtForm:
    beginning = word[: max(shortest, len(word) - LONGEST_ENDING)]
    return SoughtForm(beginning, has_any_ending=len(beginning) < len(word))


def spellings_of(text: str) -> list[str]:
    """Other ways to write the names and codes in a text, by which to look for them as well.

    `SHP-2` is also SHP2 and, because a 2 alone can stand anywhere, the phrase `SHP 2`; `SHP2` is also that phrase.
    """
    found: list[str] = []
    for parts in _find_compounds(text):
        if not all(map(str.isdecimal, parts)):
            found.append("".join(parts))
        if any(part.isdecimal() or len(part) <= LONGEST_SHORT_PART for part in parts):
            found.append(" ".join(parts))
    for word in find_words(text):
        parts = _LETTERS_OR_DIGITS.findall(word)
        if 1 < len(parts) <= MOST_PARTS_OF_A_WORD:
            found.append(" ".join(parts))
    return list(dict.fromkeys(found))


def _find_compounds(text: str) -> list[list[str]]:
    """The words that nothing but a joint stands between; in unspaced scripts a joint joins whole sentences."""
    runs: list[list[str]] = []
    end = -2
    for word in WORD.finditer(text):
        if word.start() == end + 1 and text[end] in _JOINTS:
            runs[-1].append(word[0])
        else:
            runs.append([word[0]])
        end = word.end()
    return [parts for parts in runs if len(parts) > 1 and not any(map(_UNSPACED_CHARACTER.search, parts))]


def find_words(text: str) -> Iterator[str]:
    """The words of a text in their order, cut where the script changes between spaced and unspaced."""
    for word in WORD.findall(text):
        if word.isascii():
            yield word
        else:
            yield from (run for run, _ in split_runs(word))


def fold(word: str) -> str:
    """The word without case and accents, for comparing; not for showing."""
    if word.isascii():
        return word.lower()
    bare = _DIACRITICS.sub("", unicodedata.normalize("NFKD", word))
    return unicodedata.normalize("NFC", bare).casefold()
