"""Follows every link of the built site, and looks for anything that a browser would fetch from elsewhere.

The generator checks the links between pages before it writes them. This looks at what it wrote: at its own links too,
at anchors, pictures and files, and at what pages and style sheets load.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lxml import html

# What a browser fetches by itself; a link it follows only when it is told to.
_LOADED = ("img", "script", "iframe", "source", "video", "audio", "embed", "object", "use")
_LINKED = re.compile(r"url\(\s*['\"]?([^)'\"]+)|@import\s+['\"]([^'\"]+)")
_REMOTE = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?//", flags=re.IGNORECASE)


@dataclass(frozen=True)
class _Page:
    path: Path

    @cached_property
    def tree(self) -> html.HtmlElement:
        return html.fromstring(self.path.read_bytes())

    @cached_property
    def anchors(self) -> frozenset[str]:
        return frozenset({"", *self.tree.xpath("//@id"), *self.tree.xpath("//a/@name")})

    def loads(self) -> Iterator[str]:
        for element in self.tree.iter(*_LOADED):
            for attribute in ("src", "href", "data", "poster"):
                if element.get(attribute):
                    yield element.get(attribute)
            yield from (one.split()[0] for one in element.get("srcset", "").split(",") if one.strip())
        for link in self.tree.iter("link"):
            # These two are for search engines and readers, and are not fetched.
            if link.get("href") and link.get("rel", "") not in ("canonical", "alternate"):
                yield link.get("href")
        for style in (*(element.text or "" for element in self.tree.iter("style")), *self.tree.xpath("//@style")):
            yield from find_loaded(style)

    def links(self) -> list[str]:
        return [str(link) for link in self.tree.xpath("//a/@href")]

    def unread_lists(self) -> Iterator[str]:
        """Lists that the generator took for a paragraph, because no empty line stands before them."""
        for paragraph in self.tree.iter("p"):
            if re.search(r"\n(?:[-*]|\d+\.) ", paragraph.text_content()):
                yield paragraph.text_content().strip()[:60]


def find_loaded(style: str) -> Iterator[str]:
    for found in _LINKED.finditer(style):
        yield found[1] or found[2]


def find_faults(site: Path) -> list[str]:
    """What is wrong with the site, a sentence each."""
    pages = {path: _Page(path) for path in sorted(site.rglob("*.html"))}
    faults = [f"{page.path.relative_to(site)} {fault}" for page in pages.values() for fault in _judge(page, pages)]
    for sheet in sorted(site.rglob("*.css")):
        loaded = find_loaded(sheet.read_text(encoding="utf-8"))
        faults += [f"{sheet.relative_to(site)} loads {target}" for target in loaded if _is_remote(target)]
    return faults


def _judge(page: _Page, pages: dict[Path, _Page]) -> Iterator[str]:
    for target in page.loads():
        if _is_remote(target):
            yield f"loads {target}"
        elif not _is_there(page, target, pages):
            yield f"loads {target}, which is not there"
    yield from (f"links to {link}, which is not there" for link in page.links() if not _is_there(page, link, pages))
    yield from (f"has a list without an empty line before it: {text}" for text in page.unread_lists())


def _is_remote(target: str) -> bool:
    return _REMOTE.match(target) is not None


def _is_there(page: _Page, target: str, pages: dict[Path, _Page]) -> bool:
    """Whether a link leads somewhere. Of other sites nothing is known, and nothing is asked."""
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return True
    path = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path
    path = path / "index.html" if path.is_dir() else path
    if path not in pages:
        return path.is_file()
    return unquote(parts.fragment) in pages[path].anchors
