"""Office, OpenDocument and EPUB files: the least that makes one, and a zip writer that can lie."""

import struct
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

MEGABYTE = 1024 * 1024
_DEFLATED = 8
_IS_ENCRYPTED = 0x1
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_ODF = "urn:oasis:names:tc:opendocument:xmlns"


@dataclass(frozen=True)
class Member:
    """Part of an archive, as its headers describe it: nothing holds them to the truth."""

    name: str
    packed: bytes
    crc: int
    size: int
    flags: int = 0
    method: int = _DEFLATED


def honest_member(name: str, content: bytes) -> Member:
    return long_member(name, content, b"", 0, b"")


def long_member(name: str, head: bytes, block: bytes, times: int, tail: bytes) -> Member:
    """`head`, `times` blocks, `tail`. A block is packed once: a gigabyte is made in no time."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed_head = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
    packed_block = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    packed_tail = packer.compress(tail) + packer.flush()
    crc = zlib.crc32(head)
    for _ in range(times):
        crc = zlib.crc32(block, crc)
    size = len(head) + times * len(block) + len(tail)
    return Member(name, packed_head + packed_block * times + packed_tail, zlib.crc32(tail, crc), size)


def encrypted_member(member: Member) -> Member:
    return replace(member, flags=member.flags | _IS_ENCRYPTED)


def write_archive(members: Iterable[Member], *, lies_on: Iterable[Member] = ()) -> bytes:
    """`lies_on` are listed too, and lie where the last of the others lies."""
    archive, directory = bytearray(), bytearray()
    offset = count = 0
    for member in members:
        offset = len(archive)
        archive += struct.pack("<4s5H", b"PK\3\4", 20, member.flags, member.method, 0, 0x21) + _sizes(member)
        archive += struct.pack("<2H", len(member.name), 0) + member.name.encode() + member.packed
        directory += _entry(member, offset)
        count += 1
    for member in lies_on:
        directory += _entry(member, offset)
        count += 1
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, *(min(count, 0xFFFF),) * 2, len(directory), len(archive), 0)
    return bytes(archive + directory + end)


def _entry(member: Member, offset: int) -> bytes:
    fixed = struct.pack("<4s6H", b"PK\1\2", 20, 20, member.flags, member.method, 0, 0x21) + _sizes(member)
    return fixed + struct.pack("<5H2I", len(member.name), 0, 0, 0, 0, 0, offset) + member.name.encode()


def _sizes(member: Member) -> bytes:
    return struct.pack("<3I", member.crc, len(member.packed), member.size)


@dataclass(frozen=True)
class Container:
    """A format of many members, one of which holds the text."""

    members: Mapping[str, bytes]
    """All but the one with the text, in their order."""
    text_member: str
    opening: bytes
    paragraph: bytes
    closing: bytes

    def text(self, body: bytes, doctype: bytes = b"") -> bytes:
        return b'<?xml version="1.0"?>' + doctype + self.opening + body + self.closing

    def document(self, body: bytes, doctype: bytes = b"") -> bytes:
        return write_archive([*self.frame(), honest_member(self.text_member, self.text(body, doctype))])

    def frame(self) -> list[Member]:
        """Its first is not packed, as ODT and EPUB want it."""
        first, *others = self.members.items()
        return [_unpacked(*first), *(honest_member(*other) for other in others)]


def _unpacked(name: str, content: bytes) -> Member:
    return Member(name, content, zlib.crc32(content), len(content), method=0)


def _content_types(part: str, kind: str) -> bytes:
    return (
        f'<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/{part}" ContentType="application/vnd.openxmlformats-officedocument.{kind}.main+xml"/>'
        "</Types>"
    ).encode()


def _relationship(kind: str, target: str) -> bytes:
    link = f'<Relationship Id="rId1" Type="{_OFFICE}/{kind}" Target="{target}"/>'
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{link}</Relationships>'.encode()


_WORD = b"http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_SLIDE = "http://schemas.openxmlformats.org/presentationml/2006/main"
_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"

DOCX = Container(
    {
        "[Content_Types].xml": _content_types("word/document.xml", "wordprocessingml.document"),
        "_rels/.rels": _relationship("officeDocument", "word/document.xml"),
    },
    "word/document.xml",
    b'<w:document xmlns:w="' + _WORD + b'"><w:body>',
    b"<w:p><w:r><w:t>%s</w:t></w:r></w:p>",
    b"</w:body></w:document>",
)
PPTX = Container(
    {
        "[Content_Types].xml": _content_types("ppt/presentation.xml", "presentationml.presentation"),
        "_rels/.rels": _relationship("officeDocument", "ppt/presentation.xml"),
        "ppt/presentation.xml": (
            f'<p:presentation xmlns:p="{_SLIDE}" xmlns:r="{_OFFICE}"><p:sldIdLst><p:sldId id="256" r:id="rId1"/>'
            "</p:sldIdLst></p:presentation>"
        ).encode(),
        "ppt/_rels/presentation.xml.rels": _relationship("slide", "slides/slide1.xml"),
    },
    "ppt/slides/slide1.xml",
    f'<p:sld xmlns:p="{_SLIDE}" xmlns:a="{_DRAWING}"><p:cSld><p:spTree><p:sp><p:txBody>'.encode(),
    b"<a:p><a:r><a:t>%s</a:t></a:r></a:p>",
    b"</p:txBody></p:sp></p:spTree></p:cSld></p:sld>",
)
XLSX = Container(
    {
        "[Content_Types].xml": _content_types("xl/workbook.xml", "spreadsheetml.sheet"),
        "_rels/.rels": _relationship("officeDocument", "xl/workbook.xml"),
        "xl/workbook.xml": (
            f'<workbook xmlns="{_SHEET}" xmlns:r="{_OFFICE}"><sheets><sheet name="One" sheetId="1" r:id="rId1"/>'
            "</sheets></workbook>"
        ).encode(),
        "xl/_rels/workbook.xml.rels": _relationship("worksheet", "worksheets/sheet1.xml"),
    },
    "xl/worksheets/sheet1.xml",
    f'<worksheet xmlns="{_SHEET}"><sheetData>'.encode(),
    b'<row><c t="inlineStr"><is><t>%s</t></is></c></row>',
    b"</sheetData></worksheet>",
)
ODT = Container(
    {
        "mimetype": b"application/vnd.oasis.opendocument.text",
        "META-INF/manifest.xml": f'<manifest xmlns="{_ODF}:manifest:1.0"/>'.encode(),
    },
    "content.xml",
    (
        f'<office:document-content xmlns:office="{_ODF}:office:1.0" xmlns:text="{_ODF}:text:1.0" '
        f'xmlns:table="{_ODF}:table:1.0"><office:body><office:text>'
    ).encode(),
    b"<text:p>%s</text:p>",
    b"</office:text></office:body></office:document-content>",
)
EPUB = Container(
    {
        "mimetype": b"application/epub+zip",
        "META-INF/container.xml": (
            b'<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0"><rootfiles>'
            b'<rootfile full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
        ),
        "book.opf": (
            b'<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><manifest>'
            b'<item id="one" href="one.xhtml" media-type="application/xhtml+xml"/></manifest>'
            b'<spine><itemref idref="one"/></spine></package>'
        ),
    },
    "one.xhtml",
    b'<html xmlns="http://www.w3.org/1999/xhtml"><body>',
    b"<p>%s</p>",
    b"</body></html>",
)
CONTAINERS = {"docx": DOCX, "pptx": PPTX, "xlsx": XLSX, "odt": ODT, "epub": EPUB}
