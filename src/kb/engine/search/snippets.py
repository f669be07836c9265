"""The few lines of a chunk that show why it was found.

Matched words are marked as Markdown bold, `**word**`: a terminal, a web page and a language model can all
show or read that, and it needs no escaping. Marks are cosmetic: which chunks match was decided by the
index's stemmer, and here two words are the same when they look the same but for a short ending.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from kb.engine.words import MARKS, WORD, fold, pair_up, split_runs

LOOKED_AT_CHARACTERS = 20_000
"""A chunk is far shorter; this bounds the work if one is not."""

_KEY = 3  # every rule below asks for at least as many equal first letters

_ENDINGS = frozenset(["", "e", "y", "s", "es", "ies", "ed", "ied", "er", "ers", "or", "ors", "ing", "ion", "ions"])

# Emphasis of the text's own would be taken for a mark. All ways begin with the asterisk: that is found quickly.
_EMPHASIS = re.compile(r"\*(?:\*+|(?<!\w\*)(?=\w)|(?<=\w\*)(?!\w))")

# Latin letters without accents, and whatever is part of no word: here to fold is to put into lower case, and letters
# that follow one another make a word.
_PLAIN = re.compile(rf"(?:[\x00-\x7f]+|[^\w\x00-\x7f{MARKS}]+)*+")
_PLAIN_WORD = re.compile("[a-z0-9]+")


@dataclass(frozen=True)
class _Sought:
    """A query made ready for comparing: spaced words by their first letters, the rest as regexes."""

    by_key: dict[str, tuple[str, ...]]
    beginning: str
    """Whatever begins with it is sought; nothing does if it is empty."""
    phrases: tuple[re.Pattern[str], ...]
    runs: re.Pattern[str] | None


class _Hit(NamedTuple):
    start: int
    end: int
    sought: str
    weight: int


def cut_snippet(text: str, words: Sequence[str], *, beginning: str = "", width: int = 240) -> str:
    """The part of the text with the most distinct words of the query, the earliest such, on one line.

    A word with spaces is a phrase, whatever stands between its parts. Words that start with `beginning` match, too.
    Cut at word boundaries with `…` where something is left out; `width` counts characters before marking.
    With no match it is the beginning.
    """
    looked_at = text[:LOOKED_AT_CHARACTERS]
    line = " ".join((_EMPHASIS.sub("", looked_at) if "*" in looked_at else looked_at).split())
    hits = _find_hits(line, _prepare(tuple(words), beginning))
    start, end = _place_window(line, _best_span(hits, width), width)

    marked = _mark(line, start, end, hits)
    is_cut_after = end < len(line) or len(text) > LOOKED_AT_CHARACTERS
    return f"{'…' if start else ''}{marked}{'…' if is_cut_after else ''}"


def find_stretches(text: str, words: Sequence[str], beginning: str = "") -> list[tuple[int, int]]:
    """From where to where the text has what a snippet would mark, in order; none touches another."""
    return _join(_find_hits(text, _prepare(tuple(words), beginning)))


@lru_cache(maxsize=64)
def _prepare(words: tuple[str, ...], beginning: str) -> _Sought:
    by_key: dict[str, list[str]] = {}
    runs: list[str] = []
    for word in (word for word in words if " " not in word):
        for run, is_unspaced in split_runs(word):
            if is_unspaced:
                runs.append(run)
            else:
                folded = fold(run)
                by_key.setdefault(folded[:_KEY], []).append(folded)
    # The longest first: a regex takes the first alternative that fits, and the whole run is worth most.
    patterns = sorted({part for run in runs for part in (run, *pair_up(run))}, key=lambda part: (-len(part), part))
    regex = re.compile("|".join(map(re.escape, patterns))) if patterns else None
    phrases = tuple(_compile_phrase(word) for word in words if " " in word)
    in_order = {key: tuple(dict.fromkeys(found)) for key, found in by_key.items()}
    return _Sought(in_order, fold(beginning), phrases, regex)


def _compile_phrase(phrase: str) -> re.Pattern[str]:
    parts = r"[\W_]+".join(map(re.escape, phrase.split()))
    return re.compile(rf"(?<!\w){parts}(?!\w)", re.IGNORECASE)


def _find_hits(line: str, sought: _Sought) -> list[_Hit]:
    hits: list[_Hit] = []
    for start, folded, end in _find_likely_words(line, sought) if sought.by_key else ():
        for candidate in sought.by_key.get(folded[:_KEY], ()):
            if _is_same_word(candidate, folded):
                hits.append(_Hit(start, end, candidate, 1))
                break
        else:
            if sought.beginning and folded.startswith(sought.beginning):
                hits.append(_Hit(start, end, sought.beginning, 1))
    if sought.runs:
        hits += [_Hit(m.start(), m.end(), m[0], m.end() - m.start()) for m in sought.runs.finditer(line)]
    for phrase in sought.phrases:
        hits += [_Hit(m.start(), m.end(), phrase.pattern, 1) for m in phrase.finditer(line)]
    return sorted(hits, key=lambda hit: hit.start)


def _find_likely_words(line: str, sought: _Sought) -> Iterator[tuple[int, str, int]]:
    """Where words begin, how they are folded and where they end; of plain text only those that begin like one sought.

    To take each word in hand would take five times as long.
    """
    if not _PLAIN.fullmatch(line):
        yield from ((match.start(), fold(match[0]), match.end()) for match in WORD.finditer(line))
        return
    folded = line.lower()
    for key in {*sought.by_key, sought.beginning[:_KEY]} - {""}:
        start = folded.find(key)
        while start >= 0:
            if start == 0 or not folded[start - 1].isalnum():
                word = _PLAIN_WORD.match(folded, start)
                if word is not None:
                    yield start, word[0], word.end()
            start = folded.find(key, start + 1)


@lru_cache(maxsize=4096)
def _is_same_word(a: str, b: str) -> bool:
    """Whether two folded words differ by no more than an ending: plan, plans, planned; policy, policies."""
    if a == b:
        return True
    short, long = sorted((a, b), key=len)
    if len(short) < _KEY or not (a.isalpha() and b.isalpha()):
        return False
    if len(short) == _KEY:
        return long == short + "s"
    common = next((i for i, letter in enumerate(short) if letter != long[i]), len(short))
    are_endings = short[common:] in _ENDINGS and long[common:] in _ENDINGS
    if common > _KEY and are_endings:
        return True
    # Three equal letters alone are city and cities, but from and frost as well.
    return len(short) < len(long) and common >= max(len(long) - 3, len(short) - 1) and (common > _KEY or are_endings)


def _best_span(hits: list[_Hit], width: int) -> tuple[int, int]:
    """From the first to the last hit of the heaviest set of distinct hits that fits into the width."""
    best_weight, best = 0, (0, 0)
    inside: dict[str, int] = {}
    weight = first = 0
    for hit in hits:
        inside[hit.sought] = inside.get(hit.sought, 0) + 1
        weight += hit.weight if inside[hit.sought] == 1 else 0
        while hits[first].start < hit.start and hit.end - hits[first].start > width:
            left = hits[first]
            inside[left.sought] -= 1
            weight -= left.weight if not inside[left.sought] else 0
            first += 1
        if weight > best_weight:
            best_weight, best = weight, (hits[first].start, hit.end)
    return best


def _place_window(line: str, span: tuple[int, int], width: int) -> tuple[int, int]:
    """A window of the width around the span, a third of the spare room in front, cut between words."""
    span_start, span_end = span
    start = max(0, span_start - max(0, width - (span_end - span_start)) // 3)
    end = min(len(line), start + width)
    start = max(0, min(start, end - width))
    if start:
        space = line.find(" ", start - 1, span_start)
        start = space + 1 if space >= 0 else start
    if end < len(line):
        space = line.rfind(" ", max(span_end, start + 1), end + 1)
        end = space if space >= 0 else end
    return start, end


def _join(hits: list[_Hit]) -> list[tuple[int, int]]:
    """From where to where; those that touch are one."""
    stretches: list[tuple[int, int]] = []
    for hit in hits:
        if stretches and hit.start <= stretches[-1][1]:
            stretches[-1] = stretches[-1][0], max(hit.end, stretches[-1][1])
        else:
            stretches.append((hit.start, hit.end))
    return stretches


def _mark(line: str, start: int, end: int, hits: list[_Hit]) -> str:
    parts: list[str] = []
    position = start
    for mark_start, mark_end in _join([hit for hit in hits if start <= hit.start and hit.end <= end]):
        parts += line[position:mark_start], "**", line[mark_start:mark_end], "**"
        position = mark_end
    return "".join(parts) + line[position:end]
