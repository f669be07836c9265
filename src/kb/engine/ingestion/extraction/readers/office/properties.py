"""What an Office document says of itself."""

from kb.engine.errors import Unreadable
from kb.engine.ingestion.extraction.readers.office.package import find_parts, read_relationships
from kb.engine.ingestion.extraction.readers.shared.archive import Archive
from kb.engine.ingestion.extraction.readers.shared.properties import Properties, make_properties
from kb.engine.ingestion.extraction.readers.shared.xml_trees import local_name, parse_xml, whole_number

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


def read_office_properties(archive: Archive) -> Properties:
    """From the core properties of an Office Open XML file."""
    told = _read_kind(archive, "core-properties")
    return make_properties({_NAMES[name]: values[0] for name, values in told.items() if name in _NAMES})


def count_pages_told(archive: Archive) -> int:
    """How many pages the program that saved the file says it has; 0 if it does not say."""
    return whole_number(_read_kind(archive, "extended-properties").get("Pages", [""])[0])


def read_values(archive: Archive, part: str) -> dict[str, list[str]]:
    """The texts in a part by their elements' names; none if it is damaged, for the document's text may be whole."""
    values: dict[str, list[str]] = {}
    try:
        for element in parse_xml(archive.read(part)).iter():
            if element.text and element.text.strip():
                values.setdefault(local_name(element), []).append(element.text)
    except Unreadable as error:
        if error.code != "corrupt_file":
            raise
    return values


def _read_kind(archive: Archive, kind: str) -> dict[str, list[str]]:
    parts = find_parts(archive, read_relationships(archive, ""), kind)
    return read_values(archive, parts[0]) if parts else {}
