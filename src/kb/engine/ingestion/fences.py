"""Fenced code in Markdown: inside it nothing is a heading, and lines, not sentences, hold together."""

import re
from bisect import bisect_right

_FENCED = re.compile(
    r"^ {0,3}(?P<fence>`{3,}+(?=[^`\n]*\n)|~{3,}+)[^\n]*\n(?:.*?^ {0,3}(?P=fence)[`~]*[ \t]*$|.*)",
    re.MULTILINE | re.DOTALL,
)


def find_fences(text: str) -> list[tuple[int, int]]:
    """Where each fenced block begins and ends, fences included; one that is never closed runs to the end."""
    if "```" not in text and "~~~" not in text:
        return []
    return [fenced.span() for fenced in _FENCED.finditer(text)]


def is_inside(position: int, fences: list[tuple[int, int]]) -> bool:
    """Whether the position lies in a fenced block; its very beginning does not."""
    index = bisect_right(fences, (position, position)) - 1
    return index >= 0 and position < fences[index][1]
