"""Cutting the rows of a table into passages, each with the table's header at its head.

A row is not cut if it fits a passage by itself. Each passage names its rows behind its heading, "Prices > rows 2-40"
(with a dash as in print), so that a hit tells where in the sheet or file it stands.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from kb.engine.ingestion.sections import Rows, Section
from kb.engine.ingestion.titles import PATH_SEPARATOR
from kb.engine.ingestion.token_spans import MAX_CHARACTERS_PER_TOKEN, STRETCH, TokenSpans
from kb.engine.model import Passage

SplitText = Callable[[str, int], Iterator[str]]
"""Cuts a text that is no table into passages of at most so many tokens."""

# A header may take this share of a passage; of a longer one only the beginning stands at the head of each.
_SHARE_OF_HEADER = 4


def split_rows(
    section: Section, rows: Rows, token_spans: TokenSpans, split_text: SplitText, *, max_tokens: int
) -> Iterator[Passage]:
    """Passages of at most `max_tokens` tokens with the header; a header too long for that also stands by itself."""
    if not section.text.strip():
        return
    ruler = _LineRuler(token_spans)
    header, taken = ruler.shorten(rows.header, max_tokens // _SHARE_OF_HEADER)
    if header != rows.header:
        yield from (Passage(text, section.heading, section.page_num) for text in split_text(rows.header, max_tokens))
    room = max_tokens - taken
    lines = section.text.split("\n")
    passage = _OpenPassage(section, header)
    for line, number, size in zip(lines, rows.numbers, ruler.measure(lines, room), strict=True):
        if passage.size + size > room:
            yield from passage.close()
        if size <= room:
            passage.add(line, number, size)
            continue
        for piece in split_text(line, room):
            passage.add(piece, number, room)
            yield from passage.close()
    yield from passage.close()


@dataclass(frozen=True)
class _LineRuler:
    """Measures in tokens; a token counts as the most characters it may have."""

    token_spans: TokenSpans

    def measure(self, lines: Sequence[str], limit: int) -> Iterator[int]:
        """The size of each line with its end, or more than `limit` for one that is longer than that in any case."""
        start = 0
        while start < len(lines):
            end, characters = start, 0
            while end < len(lines) and characters < STRETCH:
                characters += min(len(lines[end]), limit * MAX_CHARACTERS_PER_TOKEN) + 1
                end += 1
            yield from self._measure_together(lines[start:end], limit)
            start = end

    def shorten(self, header: str, limit: int) -> tuple[str, int]:
        """The header, or as many of its words as are no longer than `limit`; and its size."""
        (size,) = self.measure([header], limit)
        if size <= limit or not header:
            return header, size if header else 0
        spans = self.token_spans(header[: limit * MAX_CHARACTERS_PER_TOKEN])[:limit]
        # The last word may be cut.
        short = header[: spans[-1][1] if spans else 0].rpartition(" ")[0].rstrip(" |")
        return short, max(sum(end <= len(short) for _, end in spans), -(-len(short) // MAX_CHARACTERS_PER_TOKEN))

    def _measure_together(self, lines: Sequence[str], limit: int) -> Iterator[int]:
        kept = [line if len(line) <= limit * MAX_CHARACTERS_PER_TOKEN else "" for line in lines]
        token_starts = [start for start, _ in self.token_spans("\n".join(kept))]
        position = first = 0
        for line, measured in zip(lines, kept, strict=True):
            position += len(measured) + 1
            beyond = bisect_left(token_starts, position, first)
            yield max(beyond - first, -(-(len(line) + 1) // MAX_CHARACTERS_PER_TOKEN))
            first = beyond


class _OpenPassage:
    def __init__(self, section: Section, header: str) -> None:
        self._section = section
        self._header = header
        self._lines: list[str] = []
        self._numbers: list[int] = []
        self.size = 0

    def add(self, line: str, number: int, size: int) -> None:
        if line.strip():
            self._lines.append(line)
            self._numbers.append(number)
            self.size += size

    def close(self) -> Iterator[Passage]:
        """The passage, if there is anything in it, and begins the next."""
        if self._lines:
            text = "\n".join([self._header, *self._lines] if self._header else self._lines)
            heading = PATH_SEPARATOR.join(filter(None, (self._section.heading, _name_rows(self._numbers))))
            yield Passage(text, heading, self._section.page_num)
        self._lines, self._numbers, self.size = [], [], 0


def _name_rows(numbers: Sequence[int]) -> str:
    first, last = numbers[0], numbers[-1]
    return f"row {first}" if first == last else f"rows {first}\u2013{last}"
