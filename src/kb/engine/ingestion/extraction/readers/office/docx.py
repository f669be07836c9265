"""DOCX: the body with its headings, lists and tables, notes and comments where they belong, headers and footers once.

Word has no pages until it lays a document out. It leaves marks where they ended the last time; these and the breaks
that the author made are counted. Text that was deleted or hidden is left out, text that was inserted is kept. Of
pictures only those of the body are read: in headers and notes stand logos and signs.
"""

from pathlib import Path

from lxml import etree

from kb.engine.ingestion.extraction.extracted import Extracted
from kb.engine.ingestion.extraction.readers.office.docx_styles import Lists, Styles
from kb.engine.ingestion.extraction.readers.office.docx_text import Surroundings, read_story
from kb.engine.ingestion.extraction.readers.office.flow import Flow, extract
from kb.engine.ingestion.extraction.readers.office.media import Media
from kb.engine.ingestion.extraction.readers.office.package import (
    Relationship,
    find_main_part,
    find_parts,
    read_relationships,
)
from kb.engine.ingestion.extraction.readers.office.properties import count_pages_told, read_office_properties
from kb.engine.ingestion.extraction.readers.shared.archive import Archive, open_archive
from kb.engine.ingestion.extraction.readers.shared.outline import section_of_margins
from kb.engine.ingestion.extraction.readers.shared.refusals import corrupt
from kb.engine.ingestion.extraction.readers.shared.xml_trees import attribute, local_name, parse_xml

_NOTES = (("footnotes", "footnoteReference"), ("endnotes", "endnoteReference"), ("comments", "commentReference"))
_SEPARATORS = {"separator", "continuationSeparator", "continuationNotice"}


def read(path: Path) -> Extracted:
    with open_archive(path) as archive:
        main = find_main_part(archive)
        body = parse_xml(archive.read(main))
        if local_name(body) != "document":
            raise corrupt("Its main part is not a text document.")
        relationships = read_relationships(archive, main)
        around = Surroundings(
            archive,
            relationships,
            Styles(_read_part(archive, relationships, "styles")),
            Lists(_read_part(archive, relationships, "numbering")),
        )
        around.notes = _read_notes(around)
        flow = read_story(body, around, Media())
        for unreferred in around.notes.values():
            flow.add_block(unreferred)
        margins = section_of_margins(
            read_story(parse_xml(archive.read(part)), around).text
            for kind in ("header", "footer")
            for part in find_parts(archive, relationships, kind)
        )
        properties = read_office_properties(archive)
        is_paged = _is_paged(flow, archive)
    return extract(flow, margins, properties, is_paged=is_paged)


def _read_part(archive: Archive, relationships: dict[str, Relationship], kind: str) -> etree._Element | None:
    parts = find_parts(archive, relationships, kind)
    return parse_xml(archive.read(parts[0])) if parts else None


def _read_notes(around: Surroundings) -> dict[tuple[str, str], str]:
    notes: dict[tuple[str, str], str] = {}
    for kind, reference in _NOTES:
        root = _read_part(around.archive, around.relationships, kind)
        for note in root if root is not None else ():
            text = read_story(note, around).text
            if text and attribute(note, "type") not in _SEPARATORS:
                author = attribute(note, "author") or ""
                comment = f"Comment ({author}): " if author.strip() else "Comment: "
                notes[reference, attribute(note, "id") or ""] = (comment if kind == "comments" else "") + text
    return notes


def _is_paged(flow: Flow, archive: Archive) -> bool:
    """Whether page numbers are known: not if there are more pages than the author's breaks can tell of."""
    return flow.page > 1 and (flow.has_rendered_breaks or count_pages_told(archive) <= flow.page)
