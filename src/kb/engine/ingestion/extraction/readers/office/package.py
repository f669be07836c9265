"""The parts of an Office Open XML file, and the relationships by which they find one another.

Everything is matched by local name: the strict and the transitional variant of the format differ in namespaces.
"""

import posixpath
from dataclasses import dataclass
from urllib.parse import unquote

from lxml import etree

from kb.engine.ingestion.extraction.readers.shared.archive import Archive
from kb.engine.ingestion.extraction.readers.shared.refusals import corrupt
from kb.engine.ingestion.extraction.readers.shared.xml_trees import attributes, local_name, parse_xml


@dataclass(frozen=True)
class Relationship:
    kind: str
    """The last word of its type: `officeDocument`, `slide`, `footnotes`."""
    part: str
    """The name of the part in the archive, which need not be there."""


def read_relationships(archive: Archive, part: str) -> dict[str, Relationship]:
    """What the part refers to inside the file, by relationship id; `part` is "" for the whole package."""
    folder, name = posixpath.split(part)
    listed = posixpath.join(folder, "_rels", f"{name}.rels")
    if listed not in archive:
        return {}
    return {
        element.get("Id", ""): Relationship(
            kind=element.get("Type", "").rpartition("/")[2], part=_resolve(folder, element.get("Target", ""))
        )
        for element in parse_xml(archive.read(listed))
        if local_name(element) == "Relationship" and element.get("TargetMode") != "External"
    }


def find_parts(archive: Archive, relationships: dict[str, Relationship], kind: str) -> list[str]:
    """The parts of that kind which are there, each once."""
    parts = dict.fromkeys(relationship.part for relationship in relationships.values() if relationship.kind == kind)
    return [part for part in parts if part in archive]


def find_main_part(archive: Archive) -> str:
    """The document or presentation itself."""
    parts = find_parts(archive, read_relationships(archive, ""), "officeDocument")
    if not parts:
        raise corrupt("Its main part is missing.")
    return parts[0]


def relationship_id(element: etree._Element, name: str = "id") -> str:
    """The element's `r:id`, or another attribute of that namespace; "" if it has none."""
    return next((value for key, value in attributes(element) if key.endswith(f"relationships}}{name}")), "")


def _resolve(folder: str, target: str) -> str:
    """The target's name in the archive: relative to the folder, or from the root if it begins with a slash."""
    return posixpath.normpath(posixpath.join("/", folder, unquote(target))).lstrip("/")
