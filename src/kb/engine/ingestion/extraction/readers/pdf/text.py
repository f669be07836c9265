"""The text of a PDF's page as a person would type it: whole words, clean lines, paragraphs.

PDFium gives lines that end where they end on the paper. A paragraph's end is guessed by two signs together, a full
stop and a line that is much shorter than its neighbours: where the guess is wrong, a sentence ends all the same, and
a chunk may well begin there. The letters' positions would tell more, for a call into PDFium each.
"""

import re
import unicodedata
from collections.abc import Iterator

# Where PDFium has joined two lines, a hyphen at the end of the first is given as this non-character.
_JOINT = "\ufffe"
# Hyphens of other kinds (and, rarely, plain ones) it leaves at the line's end. Looking back after the hyphen is found
# is five times as fast as in front of every letter.
_HYPHEN_AT_LINE_END = re.compile(r"[-\u2010\u00ad](?<=\w.)\n(?=[^\W\d_])")
_HYPHEN_IN_COMPOUND = re.compile(r"-(?<=\w-)(?=\w)")
_LAST_WORD = re.compile(r"\w+\Z")
_FIRST_WORD = re.compile(r"\w+")
_FIRST_BLANK = re.compile(r"\s")
_LONGEST_WORD = 60
# Not those that `str.split` takes for blanks. U+FFFE may be left over where no words meet.
_INVISIBLE = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u200b\ufeff\ufffe\uffff]+")
_LIGATURE = re.compile(r"[\ufb00-\ufb06]")
# TeX's own fonts have no accented letters: "Größe" is drawn, and given, as "Gr¨oße". Acute and grave accents are
# also used as quotation marks, so they count only before a vowel, and the grave one only inside a word.
_ACCENT_APART = re.compile(
    r"[\u00a8\u00af\u00b4\u00b8\u02c6\u02c7\u02d8\u02d9\u02da\u02db\u02dc\u02dd`]"
    r"(?:(?:(?<=\u00b4)|(?<=\w`))[AEIOUYaeiouy\u0131]|(?<![\u00b4`])[A-Za-z\u0131])"
)
_COMBINING = str.maketrans(
    "\u00a8\u00af\u00b8\u02c6\u02c7\u02d8\u02d9\u02da\u02db\u02dc\u02dd\u00b4`\u0131",
    "\u0308\u0304\u0327\u0302\u030c\u0306\u0307\u030a\u0328\u0303\u030b\u0301\u0300i",
)
_SENTENCE_END = re.compile(r"""[.!?:\u2026\u3002\uff01\uff1f]["'\u201d\u2019\u00bb)\]]?\Z""")
# Lines of one paragraph, set ragged in a proportional font, differ by less than this.
_MUCH_LONGER = 1.25


def lay_out(text: str) -> str:
    """Lines as PDFium gives them, in paragraphs, with hyphenated words made whole."""
    text = _HYPHEN_AT_LINE_END.sub(_JOINT, text.replace("\r\n", "\n").replace("\r", "\n"))
    if _JOINT in text:
        text = _join_words(text)
    lines = [" ".join(line.split()) for line in _clean(text).split("\n")]
    return "\n".join(_separate_paragraphs(lines))


def on_one_line(text: str) -> str:
    return " ".join(_clean(text).split())


def ends_sentence(line: str) -> bool:
    return _SENTENCE_END.search(line, max(0, len(line) - 2)) is not None


def _clean(text: str) -> str:
    text = _INVISIBLE.sub("", text)
    text = _LIGATURE.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text)
    return unicodedata.normalize("NFC", _ACCENT_APART.sub(_put_accent_on, text))


def _put_accent_on(match: re.Match[str]) -> str:
    drawn = match[0].translate(_COMBINING)
    accented = unicodedata.normalize("NFC", drawn[1] + drawn[0])
    return accented if len(accented) == 1 else match[0]


def _join_words(text: str) -> str:
    """The halves of each word put together in the first line, without the hyphen unless it belongs to the word.

    It belongs there if the page has the same compound elsewhere in the middle of a line, and in names like
    Lucene-BM25, COVID-19 and X-ray. Other compounds lose it: most hyphens at a line's end divide a word.
    """
    first, *others = text.split(_JOINT)
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


def _separate_paragraphs(lines: list[str]) -> list[str]:
    """The lines with one blank line between paragraphs, and none at either end."""
    separated: list[str] = []
    lengths = [0, *map(len, lines), 0]
    for line, before, length, after in zip(lines, lengths, lengths[1:], lengths[2:], strict=False):
        if line:
            separated.append(line)
        is_short = length * _MUCH_LONGER < max(before, after)
        is_end = not line or (is_short and ends_sentence(line))
        if is_end and separated and separated[-1]:
            separated.append("")
    if separated and not separated[-1]:
        separated.pop()
    return separated
