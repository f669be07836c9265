"""The text of a PDF's page as a person would type it: whole words, clean lines, paragraphs.

PDFium gives lines that end where they end on the paper. A paragraph's end is guessed by two signs together, a full
stop and a line that is much shorter than its neighbours: where the guess is wrong, a sentence ends all the same, and
a chunk may well begin there. The letters' positions would tell more, for a call into PDFium each.
"""

import re
import unicodedata

from kb.engine.ingestion.extraction.line_ends import ends_sentence, join_divided_words

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
# Lines of one paragraph, set ragged in a proportional font, differ by less than this.
_MUCH_LONGER = 1.25


def lay_out(text: str) -> str:
    """Lines as PDFium gives them, in paragraphs, with hyphenated words made whole."""
    text = join_divided_words(text.replace("\r\n", "\n").replace("\r", "\n"))
    lines = [" ".join(line.split()) for line in _clean(text).split("\n")]
    return "\n".join(_separate_paragraphs(lines))


def on_one_line(text: str) -> str:
    return " ".join(_clean(text).split())


def _clean(text: str) -> str:
    text = _INVISIBLE.sub("", text)
    text = _LIGATURE.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text)
    return unicodedata.normalize("NFC", _ACCENT_APART.sub(_put_accent_on, text))


def _put_accent_on(match: re.Match[str]) -> str:
    drawn = match[0].translate(_COMBINING)
    accented = unicodedata.normalize("NFC", drawn[1] + drawn[0])
    return accented if len(accented) == 1 else match[0]


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
