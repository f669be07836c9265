"""Markdown: sections by heading, and what its front matter says."""

from pathlib import Path

from kb.engine.ingestion.extraction.extracted import Extracted
from kb.engine.ingestion.extraction.readers.text.front_matter import parse_front_matter
from kb.engine.ingestion.extraction.readers.text.plain_text import read_text
from kb.engine.ingestion.markdown import find_title, sections_of_markdown


def read(path: Path) -> Extracted:
    text = read_text(path)
    front = parse_front_matter(text)
    if front is None or not text[front.end :].strip():
        return Extracted([sections_of_markdown(text)], find_title(text))
    body = text[front.end :]
    return Extracted([sections_of_markdown(body)], front.title or find_title(body), {**front.metadata})
