"""What the end of a printed line tells: a sentence may end there, and a word may be divided."""

import re
from collections.abc import Iterator

JOINT = "\ufffe"
"""Where PDFium has joined two lines, it gives a hyphen at the end of the first as this non-character."""

# Hyphens of other kinds (and, rarely, plain ones) it leaves at the line's end. Looking back after the hyphen is found
# is five times as fast as in front of every letter.
_HYPHEN_AT_LINE_END = re.compile(r"[-\u2010\u00ad](?<=\w.)\n(?=[^\W\d_])")
_HYPHEN_IN_COMPOUND = re.compile(r"-(?<=\w-)(?=\w)")
_LAST_WORD = re.compile(r"\w+\Z")
_FIRST_WORD = re.compile(r"\w+")
_FIRST_BLANK = re.compile(r"\s")
_LONGEST_WORD = 60
_SENTENCE_END = re.compile(r"""[.!?:\u2026\u3002\uff01\uff1f]["'\u201d\u2019\u00bb)\]]?\Z""")


def ends_sentence(line: str) -> bool:
    return _SENTENCE_END.search(line, max(0, len(line) - 2)) is not None


def join_divided_words(text: str) -> str:
    """The halves of each word put together in the first line, without the hyphen unless it belongs to the word.

    It belongs there if the page has the same compound elsewhere in the middle of a line, and in names like
    Lucene-BM25, COVID-19 and X-ray. Other compounds lose it: most hyphens at a line's end divide a word.
    """
    text = _HYPHEN_AT_LINE_END.sub(JOINT, text)
    if JOINT not in text:
        return text
    first, *others = text.split(JOINT)
    compounds = set(_find_compounds(text))
    pieces = [first]
    for piece in others:
        left = _LAST_WORD.search(pieces[-1][-_LONGEST_WORD:])
        right = _FIRST_WORD.match(piece[:_LONGEST_WORD])
        if not (left and right and _is_one_word(left[0], right[0], compounds)):
            pieces.append("-")
        pieces.append(_FIRST_BLANK.sub("\n", piece, count=1))
    return "".join(pieces)


def _find_compounds(text: str) -> Iterator[tuple[str, str]]:
    """The words on either side of each hyphen within a line, in small letters."""
    for hyphen in _HYPHEN_IN_COMPOUND.finditer(text):
        left = _LAST_WORD.search(text, max(0, hyphen.start() - _LONGEST_WORD), hyphen.start())
        right = _FIRST_WORD.match(text, hyphen.end(), hyphen.end() + _LONGEST_WORD)
        if left and right:
            yield left[0].casefold(), right[0].casefold()


def _is_one_word(left: str, right: str, compounds: set[tuple[str, str]]) -> bool:
    is_of_one_case = right.isupper() if left.isupper() else right.islower()
    return is_of_one_case and (left.casefold(), right.casefold()) not in compounds
