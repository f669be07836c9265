"""The words in charts and diagrams of Office Open XML files, which lie in parts of their own."""

from lxml import etree

from kb.engine.ingestion.extraction.readers.office.package import Relationship, relationship_id
from kb.engine.ingestion.extraction.readers.shared.archive import Archive
from kb.engine.ingestion.extraction.readers.shared.outline import render_table
from kb.engine.ingestion.extraction.readers.shared.xml_trees import child, local_name, parse_xml


def read_drawing(archive: Archive, relationships: dict[str, Relationship], reference: etree._Element) -> str:
    """The words of what a `chart` or `relIds` element refers to; "" if it is not there.

    A diagram's words are taken from its model; a chart's are its titles, then a row of categories and one a series.
    """
    is_chart = local_name(reference) == "chart"
    found = relationships.get(relationship_id(reference, "id" if is_chart else "dm"))
    if found is None or found.part not in archive:
        return ""
    root = parse_xml(archive.read(found.part))
    lines = [paragraph_of_drawing(paragraph) for paragraph in root.iter("{*}p")]
    if is_chart:
        lines.append(_render_series(root))
    return "\n".join(filter(None, lines))


def paragraph_of_drawing(paragraph: etree._Element) -> str:
    """The text of an `a:p`."""
    return "".join(
        (element.text or "") if local_name(element) == "t" else "\n" for element in paragraph.iter("{*}t", "{*}br")
    ).strip()


def _render_series(root: etree._Element) -> str:
    rows: list[list[str]] = []
    for series in root.iter("{*}ser"):
        values = {name: _values(child(series, name)) for name in ("tx", "cat", "xVal", "val", "yVal")}
        if not rows:
            rows.append(["", *values["cat"], *values["xVal"]])
        rows.append([" ".join(values["tx"]), *values["val"], *values["yVal"]])
    return render_table(rows)


def _values(element: etree._Element | None) -> list[str]:
    return [] if element is None else [value.text or "" for value in element.iter("{*}v")]
