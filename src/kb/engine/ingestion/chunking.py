"""Cutting text into passages that fit the model's window.

A section is tokenised once; from then on everything is arithmetic on character positions. Passages are
filled greedily, and end at the best boundary of the part that fits: a paragraph break if one lies in its
second half, else the last sentence end (or list item, or line of code), else a line end, else a space,
else anywhere. A sentence that fits a passage is never cut. Nothing is lost but whitespace at the cuts.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kb.engine.ingestion.fences import find_fences, is_inside
from kb.engine.ingestion.packing import join_tiny_sections
from kb.engine.ingestion.row_passages import split_rows
from kb.engine.ingestion.sections import Section
from kb.engine.ingestion.token_spans import MAX_CHARACTERS_PER_TOKEN, STRETCH, TokenSpans
from kb.engine.model import Passage

_SPACE = re.compile(r"\s+")
_PARAGRAPH_BREAK = re.compile(r"\n[^\S\n]*\n\s*")
_LINE_END = re.compile(r"\n")
_ITEM_START = re.compile(r"\n(?=[^\S\n]*(?:(?:[-*+•>]|#{1,6}|\d{1,3}[.)])\s|\||[`~]{3}))")
# Full stops, question and exclamation marks of all scripts, with what closes after them. Chinese and
# Japanese ones (the second line) need no space to follow.
_SENTENCE_END = re.compile(
    r"""
      (?<=[.!?\u2026\u061f\u06d4\u0964\u0965\u1362\u0589\u17d4\u104b]) ["'\u201d\u2019\u00bb)\]*_]*+ (?=\s)
    | (?<=[\u3002\uff01\uff1f\uff61]) ["\u300d\u300f\uff09\u3011\u201d\u2019]*+ (?![\u3002\uff01\uff1f\uff61])
    """,
    re.VERBOSE,
)
_ABBREVIATION = re.compile(
    r"(?:\b[^\W\d_]|\b(?:mr|mrs|ms|dr|prof|st|sr|jr|vs|cf|ca|al|fig|figs|no|nos|vol|pp|ed|eds|eq|sec|ch|approx|dept|bzw|nr|art))\.\Z",
    re.IGNORECASE,
)
_ABBREVIATION_LENGTH = 8


def split_into_passages(sections: Sequence[Section], token_spans: TokenSpans, *, max_tokens: int) -> list[Passage]:
    """The sections' text as passages of at most `max_tokens` tokens, none blank, none on two pages.

    None is in two sections either, unless very many are tiny (see `packing`).
    """

    def split_text(text: str, limit: int) -> Iterator[str]:
        return (piece for stretch in _stretches(text) for piece in _split(stretch, token_spans(stretch), limit))

    def split_section(section: Section) -> Iterator[Passage]:
        if section.rows:
            return split_rows(section, section.rows, token_spans, split_text, max_tokens=max_tokens)
        return (Passage(text, section.heading, section.page_num) for text in split_text(section.text, max_tokens))

    joined = join_tiny_sections(sections, max_tokens=max_tokens)
    return [passage for section in joined for passage in split_section(section)]


def _stretches(text: str) -> Iterator[str]:
    """The text in pieces small enough to tokenise, cut where a passage would most likely end anyway."""
    start = 0
    while len(text) - start > STRETCH:
        end = start + STRETCH
        cuts = (text.rfind(mark, start + STRETCH // 2, end) for mark in ("\n\n", "\n", ". ", " "))
        cut = next((cut + 1 for cut in cuts if cut >= 0), end)
        yield text[start:cut]
        start = cut
    yield text[start:]


def _split(text: str, spans: list[tuple[int, int]], max_tokens: int) -> Iterator[str]:
    ruler = _Ruler([start for start, _ in spans], [end for _, end in spans], max_tokens)
    boundaries = _find_boundaries(text)
    start, end = _skip_space(text, 0), len(text.rstrip())
    while start < end:
        cut = _choose_cut(text, start, end, ruler, boundaries)
        yield text[start:cut].rstrip()
        start = _skip_space(text, cut)


def _skip_space(text: str, position: int) -> int:
    space = _SPACE.match(text, position)
    return space.end() if space else position


@dataclass(frozen=True)
class _Ruler:
    """Measures stretches of one text, in characters: a token counts as the most characters it may have.

    An overlong word is one unknown token, but a short rest cut from it may be known letter by letter, so
    that rest counts as so many tokens; a short beginning of it is never cut off.
    """

    token_starts: list[int]
    token_ends: list[int]
    max_tokens: int

    @property
    def limit(self) -> int:
        return self.max_tokens * MAX_CHARACTERS_PER_TOKEN

    def measure(self, start: int, end: int) -> int:
        first, extra = self._first_token(start)
        tokens = bisect_left(self.token_starts, end) - first + extra
        return max(tokens * MAX_CHARACTERS_PER_TOKEN, end - start)

    def reach(self, start: int, size: int) -> int:
        """The furthest position that is at most `size` away; always at least one character."""
        first, extra = self._first_token(start)
        beyond = first + max(1, size // MAX_CHARACTERS_PER_TOKEN - extra)
        furthest = start + size
        if beyond < len(self.token_starts):
            furthest = min(furthest, self.token_starts[beyond])
        cut_token = bisect_right(self.token_ends, furthest)
        if cut_token < len(self.token_starts):
            token_start = self.token_starts[cut_token]
            if start < token_start < furthest < token_start + self.max_tokens:
                furthest = token_start
        return max(furthest, start + 1)

    def _first_token(self, start: int) -> tuple[int, int]:
        """The first token that is not all before `start`, and how many more its rest may become."""
        first = bisect_right(self.token_ends, start)
        is_cut = first < len(self.token_starts) and self.token_starts[first] < start
        rest = self.token_ends[first] - start if is_cut else 1
        return first, rest - 1 if rest < self.max_tokens else 0


@dataclass(frozen=True)
class _Boundaries:
    paragraphs: list[int]
    sentences: list[int]
    """Ends of sentences and of what holds together like one: paragraphs, list items, lines of code."""
    lines: list[int]

    def is_sentence_end(self, position: int) -> bool:
        return _last_before(self.sentences, position - 1, position) == position


def _find_boundaries(text: str) -> _Boundaries:
    paragraphs = [m.end() for m in _PARAGRAPH_BREAK.finditer(text)]
    lines = [m.end() for m in _LINE_END.finditer(text)]
    items = [m.end() for m in _ITEM_START.finditer(text)]
    sentences = [m.end() for m in _SENTENCE_END.finditer(text) if _ends_sentence(text, m)]
    fences = find_fences(text)
    if fences:
        code_lines = [line for line in lines if is_inside(line, fences)]
        prose = (sentence for sentence in sentences if not is_inside(sentence, fences))
        sentences = [*prose, *code_lines]
    return _Boundaries(paragraphs, sorted({*paragraphs, *sentences, *items}), lines)


def _ends_sentence(text: str, end: re.Match[str]) -> bool:
    """Whether a full stop is one: not after an initial or abbreviation, nor before a small letter."""
    if text[end.start() - 1] != ".":
        return True
    before = text[max(0, end.start() - _ABBREVIATION_LENGTH) : end.start()]
    next_character = text[end.end() + 1 : end.end() + 2]
    return not (next_character.islower() or _ABBREVIATION.search(before))


def _choose_cut(text: str, start: int, end: int, ruler: _Ruler, boundaries: _Boundaries) -> int:
    if ruler.measure(start, end) <= ruler.limit:
        return end
    cut = _cut_within(text, start, ruler.limit, ruler, boundaries)
    if ruler.measure(_skip_space(text, cut), end) >= ruler.limit // 4:
        return cut
    # A scrap of a last passage would say too little to be found: share the rest between two, unless
    # that cuts a sentence which is whole now.
    even_size = min(ruler.limit, ruler.measure(start, end) * 3 // 5)
    even = _cut_within(text, start, even_size, ruler, boundaries)
    is_no_worse = boundaries.is_sentence_end(even) or not boundaries.is_sentence_end(cut)
    return even if is_no_worse and ruler.measure(_skip_space(text, even), end) <= ruler.limit else cut


def _cut_within(text: str, start: int, size: int, ruler: _Ruler, boundaries: _Boundaries) -> int:
    """The best place to end a passage of at most `size` that begins at `start` and does not reach the end."""
    reach = ruler.reach(start, size)
    paragraph = _last_before(boundaries.paragraphs, start, reach)
    if paragraph and ruler.measure(start, paragraph) >= size // 2:
        return paragraph
    sentence = _last_before(boundaries.sentences, start, reach)
    if sentence and _is_worth_ending_at(sentence, start, size, ruler, boundaries, len(text)):
        return sentence
    line = _last_before(boundaries.lines, start, reach)
    if line and ruler.measure(start, line) >= size // 4:
        return line
    space = _last_space(text, start, reach)
    return space if space and ruler.measure(start, space) >= size // 4 else reach


def _is_worth_ending_at(
    sentence: int, start: int, size: int, ruler: _Ruler, boundaries: _Boundaries, text_end: int
) -> bool:
    """Whether the passage is not too short, or its shortness keeps the next sentence whole."""
    if ruler.measure(start, sentence) >= size // 4:
        return True
    following = bisect_right(boundaries.sentences, sentence)
    next_end = boundaries.sentences[following] if following < len(boundaries.sentences) else text_end
    return ruler.measure(sentence, next_end) <= ruler.limit


def _last_before(positions: list[int], start: int, reach: int) -> int | None:
    index = bisect_right(positions, reach) - 1
    return positions[index] if index >= 0 and positions[index] > start else None


def _last_space(text: str, start: int, reach: int) -> int | None:
    if text[reach - 1].isspace() or text[reach : reach + 1].isspace():
        return reach
    head, *tail = text[start:reach].rsplit(None, 1)
    return start + len(head) if tail else None
