"""EPUB: a part a chapter, in the order of the book, under the titles that its table of contents gives.

A book has no pages but those of its printed edition, where it tells them.
"""

from dataclasses import replace
from pathlib import Path

from kb.engine.ingestion.extraction.extracted import Extracted
from kb.engine.ingestion.extraction.readers.shared.archive import open_archive
from kb.engine.ingestion.extraction.readers.shared.outline import tidy
from kb.engine.ingestion.extraction.readers.web.epub_contents import read_contents
from kb.engine.ingestion.extraction.readers.web.epub_package import SVG, Package, read_package
from kb.engine.ingestion.extraction.readers.web.html_pages import Page, read_html
from kb.engine.ingestion.extraction.readers.web.svg import read_svg
from kb.engine.ingestion.sections import Section
from kb.engine.ingestion.titles import PATH_SEPARATOR, render_path


def read(path: Path) -> Extracted:
    with open_archive(path) as archive:
        package = read_package(archive)
        contents = read_contents(archive, package.contents)
    properties = package.properties
    return Extracted(_Chapters(path, package, contents), properties.title, {**properties.metadata}, unit="chapter")


class _Chapters:
    """Opens the file anew for each chapter, so that a damaged one spoils no other."""

    def __init__(self, path: Path, package: Package, contents: dict[str, list[str]]) -> None:
        self._path = path
        self._package = package
        self._contents = contents

    def __len__(self) -> int:
        return len(self._package.chapters)

    def __getitem__(self, index: int) -> list[Section]:
        chapter = self._package.chapters[index]
        with open_archive(self._path) as archive:
            content = archive.read(chapter.name)
        page = read_svg(content) if chapter.media_type == SVG else read_html(content)
        titles = self._contents.get(chapter.name) or self._own_title(page)
        return [replace(section, heading=_render_path(titles, page.heading, section)) for section in page.sections]

    def _own_title(self, page: Page) -> list[str]:
        """Of a chapter that the table of contents passes over; many call themselves by the name of the book."""
        title = page.told.get("title", "")
        return [] if page.heading or _squeeze(title) == _squeeze(self._package.properties.title or "") else [title]


def _render_path(titles: list[str], heading: str | None, section: Section) -> str | None:
    """The titles, then the section's own headings; the chapter's title only where its first heading does not say it."""
    *above, title = titles or [""]
    if section.heading and heading and _is_same(title, heading):
        title = ""
    path = (render_path(map(tidy, (*above, title))), section.heading)
    return PATH_SEPARATOR.join(filter(None, path)) or None


def _is_same(title: str, heading: str) -> bool:
    """Whether one says the other: "1. Beginnings" and "Beginnings"."""
    a, b = _squeeze(title), _squeeze(heading)
    return a in b or b in a


def _squeeze(title: str) -> str:
    return "".join(filter(str.isalnum, title.casefold()))
