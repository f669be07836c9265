"""What an Office document says of itself: its title, and its metadata under the names that all formats share."""

import re
from dataclasses import dataclass
from datetime import datetime

from kb.engine.errors import Unreadable
from kb.engine.ingestion.extraction.readers.archive import Archive
from kb.engine.ingestion.extraction.readers.office_package import find_parts, read_relationships
from kb.engine.ingestion.extraction.readers.outline import tidy
from kb.engine.ingestion.extraction.readers.xml_trees import local_name, parse_xml

MAX_VALUE_CHARACTERS = 500

_NAMES = {
    "title": "title",
    "creator": "author",
    "created": "created",
    "modified": "modified",
    "subject": "subject",
    "keywords": "keywords",
    "language": "language",
    "publisher": "publisher",
}
# What programs write when nobody gave a title, in a few languages: "Document1", "Microsoft Word - x.doc", file names.
_NOT_A_TITLE = re.compile(
    r"(?:untitled|unbenannt|sans titre|sin título|senza titolo|title|titel|titre)(?: document| presentation)?[ \d]*"
    r"|(?:document|dokument|documento|presentation|präsentation|présentation|presentación|slide|folie|book)[ \d]*"
    r"|(?:powerpoint|word|excel)[ -](?:presentation|präsentation|document|dokument|workbook)"
    r"|(?:présentation|presentación de|presentazione standard di) (?:microsoft )?powerpoint"
    r"|microsoft (?:office )?(?:word|powerpoint|excel) - .*"
    r"|[^/]*\.(?:docx?|dotx?|odt|ott|pptx?|ppsx?|odp|xlsx?|ods|rtf|html?)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Properties:
    title: str | None
    metadata: dict[str, str]


def read_office_properties(archive: Archive) -> Properties:
    """From the core properties of an Office Open XML file."""
    told = _read_kind(archive, "core-properties")
    return make_properties({_NAMES[name]: values[0] for name, values in told.items() if name in _NAMES})


def count_pages_told(archive: Archive) -> int:
    """How many pages the program that saved the file says it has; 0 if it does not say."""
    told = _read_kind(archive, "extended-properties").get("Pages", [""])[0]
    return int(told) if told.isascii() and told.isdigit() and len(told) < 9 else 0


def read_values(archive: Archive, part: str) -> dict[str, list[str]]:
    """The texts in a part by their elements' names; none if it is damaged, for the document's text may be whole."""
    values: dict[str, list[str]] = {}
    try:
        for element in parse_xml(archive.read(part)).iter():
            if element.text and element.text.strip():
                values.setdefault(local_name(element), []).append(element.text)
    except Unreadable as error:
        if error.reason != "corrupt_file":
            raise
    return values


def make_properties(told: dict[str, str]) -> Properties:
    """The values made fit to be shown, without the blank ones and those that mean nothing."""
    values = {name: " ".join(tidy(value).split())[:MAX_VALUE_CHARACTERS] for name, value in told.items()}
    title = values.pop("title", "")
    for name in values.keys() & {"created", "modified"}:
        values[name] = _render_time(values[name])
    return Properties(
        title=None if _NOT_A_TITLE.fullmatch(title) or not title else title,
        metadata={name: value for name, value in values.items() if value},
    )


def _render_time(text: str) -> str:
    """In the form of RFC 3339; a time in no zone means little elsewhere, so its date alone; "" if it is none."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return ""
    if time.tzinfo is None:
        return time.date().isoformat()
    return time.replace(microsecond=0).isoformat().replace("+00:00", "Z")


def _read_kind(archive: Archive, kind: str) -> dict[str, list[str]]:
    parts = find_parts(archive, read_relationships(archive, ""), kind)
    return read_values(archive, parts[0]) if parts else {}
