"""ODT: headings, lists and tables of the text, notes and comments where they belong, headers and footers once.

Text that was deleted under change tracking is left out. Pages are counted by the marks that the program left where
they ended, and by the breaks that paragraphs ask for.
"""

from pathlib import Path

from kb.engine.ingestion.extraction.extracted import Extracted
from kb.engine.ingestion.extraction.readers.office.flow import extract
from kb.engine.ingestion.extraction.readers.office.media import Media
from kb.engine.ingestion.extraction.readers.office.odt_styles import Styles
from kb.engine.ingestion.extraction.readers.office.odt_text import read_text_flow
from kb.engine.ingestion.extraction.readers.office.properties import read_values
from kb.engine.ingestion.extraction.readers.shared.archive import Archive, open_archive
from kb.engine.ingestion.extraction.readers.shared.outline import section_of_margins
from kb.engine.ingestion.extraction.readers.shared.properties import Properties, make_properties
from kb.engine.ingestion.extraction.readers.shared.refusals import corrupt, encrypted
from kb.engine.ingestion.extraction.readers.shared.xml_trees import parse_xml

_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_MARGINS = [f"{{*}}{margin}{place}" for margin in ("header", "footer") for place in ("", "-left", "-first")]
_NAMES = {
    "title": "title",
    "initial-creator": "author",
    "creation-date": "created",
    "date": "modified",
    "subject": "subject",
    "language": "language",
    "publisher": "publisher",
}


def read(path: Path) -> Extracted:
    with open_archive(path) as archive:
        _refuse_encrypted(archive)
        content = parse_xml(archive.read("content.xml"))
        body = next(content.iter(f"{_OFFICE}text"), None)
        if body is None:
            raise corrupt("It holds no text document.")
        layout = parse_xml(archive.read("styles.xml")) if "styles.xml" in archive else None
        styles = Styles(content, layout)
        flow = read_text_flow(body, styles, archive, Media())
        margins = section_of_margins(
            read_text_flow(margin, styles, archive).text
            for margin in (layout.iter(*_MARGINS) if layout is not None else ())
        )
        properties = _read_properties(archive)
    return extract(flow, margins, properties, is_paged=flow.page > 1)


def _refuse_encrypted(archive: Archive) -> None:
    """Each part is encrypted by itself, or all of them as one part; the list of parts says so."""
    manifest = "META-INF/manifest.xml"
    if manifest in archive and next(parse_xml(archive.read(manifest)).iter("{*}encryption-data"), None) is not None:
        raise encrypted()


def _read_properties(archive: Archive) -> Properties:
    told = read_values(archive, "meta.xml") if "meta.xml" in archive else {}
    values = {_NAMES[name]: texts[0] for name, texts in told.items() if name in _NAMES}
    values["keywords"] = ", ".join(told.get("keyword", []))
    # Of the two that may be named, the first wrote it, and the other changed it last.
    values.setdefault("author", told.get("creator", [""])[0])
    return make_properties(values)
