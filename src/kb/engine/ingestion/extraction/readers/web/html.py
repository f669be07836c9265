"""HTML: a page by its headings, and what it says of itself."""

from pathlib import Path

from kb.engine.ingestion.extraction.extracted import Extracted
from kb.engine.ingestion.extraction.readers.shared.properties import make_properties
from kb.engine.ingestion.extraction.readers.web.html_pages import read_html

# Where pages tell what: the first that is there counts.
_NAMES = {
    "title": ("title", "og:title", "dc.title", "dcterms.title"),
    "author": ("author", "dc.creator", "dcterms.creator", "article:author"),
    "subject": ("description", "dc.description", "dcterms.description", "og:description"),
    "keywords": ("keywords", "dc.subject", "dcterms.subject"),
    "language": ("language", "dc.language", "dcterms.language"),
    "publisher": ("publisher", "dc.publisher", "dcterms.publisher"),
    "created": ("article:published_time", "dcterms.created", "dc.date", "dcterms.date", "created", "date"),
    "modified": ("article:modified_time", "dcterms.modified", "changed", "last-modified"),
}


def read(path: Path) -> Extracted:
    page = read_html(path.read_bytes())
    told = {name: next(filter(None, map(page.told.get, keys)), "") for name, keys in _NAMES.items()}
    properties = make_properties(told)
    return Extracted([page.sections], properties.title or page.heading, {**properties.metadata})
