"""Links of a page, as a code host shows it, turned into those of the site.

In the repository a page links to other pages, pictures, source files and folders by their paths. In the site a page
may stand elsewhere (README.md), a file is shown as text, and a folder has a page that lists it.
"""

import os
import re
from collections.abc import Callable, Iterator

# The target of `[text](target)` and of pictures; of HTML in a page, what it loads or leads to.
_TARGET = re.compile(r"(?<=\]\()[^()\s]+(?=\))|(?<=\bsrc=\")[^\"]+(?=\")|(?<=\bhref=\")[^\"]+(?=\")")
_FENCE = re.compile(r"\s*(```|~~~)")
_CODE = re.compile(r"(`+[^`]*`+)")
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|#|//")


def rewrite_links(text: str, find_place: Callable[[str], str]) -> str:
    """`text` with each link into the repository replaced by what `find_place` says of it; code is left alone."""
    return "".join(line if is_code else _rewrite_line(line, find_place) for line, is_code in _lines(text))


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    fence = ""
    for line in text.splitlines(keepends=True):
        begun = _FENCE.match(line)
        if begun and fence in ("", begun[1]):
            fence = "" if fence else begun[1]
            yield line, True
        else:
            yield line, bool(fence)


def _rewrite_line(line: str, find_place: Callable[[str], str]) -> str:
    def replace(found: re.Match[str]) -> str:
        return found[0] if _ELSEWHERE.match(found[0]) else find_place(found[0])

    # Every second part is code.
    parts = _CODE.split(line)
    return "".join(part if number % 2 else _TARGET.sub(replace, part) for number, part in enumerate(parts))


def resolve(page: str, target: str) -> tuple[str, str]:
    """The path in the repository that `target` means on `page`, and its anchor with the `#`, if it has one."""
    path, mark, anchor = target.partition("#")
    return os.path.normpath(os.path.join(os.path.dirname(page), path)), mark + anchor


def lead(from_place: str, to_place: str) -> str:
    """The link from one page of the site to another."""
    return os.path.relpath(to_place, os.path.dirname(from_place) or ".")
