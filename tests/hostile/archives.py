"""Zip files that unpack to far more than they are, that lie about themselves, or that are locked."""

from collections.abc import Iterator
from dataclasses import replace

from tests.hostile.containers import (
    CONTAINERS,
    DOCX,
    EPUB,
    MEGABYTE,
    ODT,
    XLSX,
    Container,
    Member,
    encrypted_member,
    honest_member,
    long_member,
    write_archive,
)
from tests.hostile.hostile_file import (
    CORRUPT,
    ENCRYPTED,
    LIMIT,
    NO_TEXT,
    READ,
    TIMEOUT,
    UNSUPPORTED,
    HostileFile,
    hostile,
    noise,
)

# More than all members of an archive may be when they are unpacked.
BOMB_MEGABYTES = 600
_OLE_SIGNATURE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def hostile_archives() -> Iterator[HostileFile]:
    for extension, container in CONTAINERS.items():
        yield from _bombs(extension, container)
        yield from _oddities(extension, container)
    yield hostile("zip-of-zips.docx", lambda: write_archive([_packed_bomb("word.zip")]), UNSUPPORTED, CORRUPT)
    yield hostile("overlapping-members.docx", _overlapping_members, LIMIT, CORRUPT)
    yield hostile("an-end-and-nothing-else.docx", lambda: write_archive([]), UNSUPPORTED, CORRUPT)
    yield hostile("two-cells-in-the-far-corners.xlsx", _far_corners, READ)
    yield hostile("says-it-has-all-cells.xlsx", _wide_dimension, READ)
    yield hostile("cells-repeated-without-end.odt", _repeated_cells, READ, LIMIT)
    yield hostile(
        "two-billion-blanks.odt", lambda: ODT.document(b'<text:p>a<text:s text:c="2000000000"/>b</text:p>'), READ
    )
    yield hostile("one-chapter-again-and-again.epub", _repeated_chapter, READ, LIMIT)
    yield hostile("with-password.odt", _odt_with_password, ENCRYPTED)
    yield hostile("rights-managed.epub", _rights_managed_epub, ENCRYPTED)
    for extension in ("docx", "pptx", "xlsx"):
        yield hostile(f"with-password.{extension}", _office_with_password, ENCRYPTED)
        yield hostile(f"of-office-97.{extension}", lambda: _OLE_SIGNATURE + bytes(4096), UNSUPPORTED)


def _bombs(extension: str, container: Container) -> Iterator[HostileFile]:
    yield hostile(f"flat-bomb.{extension}", lambda: _with_text(container, _bomb(container, BOMB_MEGABYTES)), LIMIT)
    yield hostile(f"bomb-within-the-total.{extension}", lambda: _with_text(container, _bomb(container, 150)), LIMIT)
    yield hostile(f"bomb-that-says-it-is-small.{extension}", lambda: _lying_bomb(container), CORRUPT, LIMIT)
    yield hostile(f"100,000-members.{extension}", lambda: _with_members(container, 100_000, b""), LIMIT)
    yield hostile(f"many-small-bombs.{extension}", lambda: _with_members(container, 80, bytes(9 * MEGABYTE)), LIMIT)
    yield hostile(f"bomb-in-an-archive-in-it.{extension}", lambda: _with_a_bomb_inside(container), READ)
    yield hostile(
        f"as-large-as-allowed.{extension}",
        lambda: _as_large_as_allowed(container),
        READ,
        LIMIT,
        TIMEOUT,
        is_slow=True,
    )


def _oddities(extension: str, container: Container) -> Iterator[HostileFile]:
    text = honest_member(container.text_member, container.text(container.paragraph % b"word"))
    frame = container.frame()
    yield hostile(f"encrypted-members.{extension}", lambda: write_archive([*frame, encrypted_member(text)]), ENCRYPTED)
    yield hostile(f"unknown-packing.{extension}", lambda: write_archive([*frame, replace(text, method=97)]), CORRUPT)
    yield hostile(f"without-its-text.{extension}", lambda: write_archive(frame), CORRUPT, NO_TEXT)
    yield hostile(f"the-text-twice.{extension}", lambda: write_archive([*frame, text, text]), READ, CORRUPT)
    climbing = [honest_member(f"{place}/kb-was-here", b"harm") for place in ("../../../..", "", "..\\..")]
    yield hostile(f"names-that-climb.{extension}", lambda: write_archive([*frame, text, *climbing]), READ)


def _with_text(container: Container, text: Member) -> bytes:
    return write_archive([*container.frame(), text])


def _bomb(container: Container, megabytes: int) -> Member:
    paragraph = container.paragraph % (b"a" * 1000)
    block = paragraph * (MEGABYTE // len(paragraph))
    opening = container.text(b"").removesuffix(container.closing)
    return long_member(container.text_member, opening, block, megabytes, container.closing)


def _lying_bomb(container: Container) -> bytes:
    return _with_text(container, replace(_bomb(container, BOMB_MEGABYTES), size=1000))


def _as_large_as_allowed(container: Container) -> bytes:
    """As much markup as the rules for archives let through: its tree is many times as large."""
    letters = noise(3000).hex().encode()
    block = (container.paragraph % b"a" * (MEGABYTE // len(container.paragraph))) + container.paragraph % letters
    opening = container.text(b"").removesuffix(container.closing)
    return _with_text(container, long_member(container.text_member, opening, block, 180, container.closing))


def _with_members(container: Container, count: int, content: bytes) -> bytes:
    text = honest_member(container.text_member, container.text(container.paragraph % b"word"))
    more = honest_member("", content)
    return write_archive([*container.frame(), text, *(replace(more, name=f"more/{number}") for number in range(count))])


def _packed_bomb(name: str) -> Member:
    bomb = long_member("bomb", b"", bytes(MEGABYTE), BOMB_MEGABYTES, b"")
    return honest_member(name, write_archive([bomb]))


def _with_a_bomb_inside(container: Container) -> bytes:
    text = honest_member(container.text_member, container.text(container.paragraph % b"word"))
    return write_archive([*container.frame(), text, _packed_bomb("more/inside.zip")])


def _overlapping_members() -> bytes:
    """Each member after the first is the first one's content, once more."""
    text = honest_member(DOCX.text_member, DOCX.text(DOCX.paragraph % (b"a" * MEGABYTE)))
    shared = [replace(text, name=f"word/header{number}.xml") for number in range(5_000)]
    return write_archive([*DOCX.frame(), text], lies_on=shared)


def _far_corners() -> bytes:
    row = b'<row r="%d"><c r="%s" t="inlineStr"><is><t>%s</t></is></c></row>'
    return XLSX.document(row % (1, b"A1", b"near") + row % (1_048_576, b"XFD1048576", b"far"))


def _wide_dimension() -> bytes:
    text = XLSX.text(XLSX.paragraph % b"word")
    said = text.replace(b"<sheetData>", b'<dimension ref="A1:XFD1048576"/><sheetData>')
    return write_archive([*XLSX.frame(), honest_member(XLSX.text_member, said)])


def _repeated_cells() -> bytes:
    cell = b'<table:table-cell table:number-columns-repeated="1000000"><text:p>again</text:p></table:table-cell>'
    row = b'<table:table-row table:number-rows-repeated="1000000">' + cell + b"</table:table-row>"
    return ODT.document(b"<table:table>" + row + b"</table:table>")


def _repeated_chapter() -> bytes:
    chapter = honest_member(EPUB.text_member, EPUB.text(EPUB.paragraph % (b"word " * 100_000)))
    book = EPUB.members["book.opf"].replace(b'<itemref idref="one"/>', b'<itemref idref="one"/>' * 10_000)
    return write_archive([*EPUB.frame()[:-1], honest_member("book.opf", book), chapter])


def _odt_with_password() -> bytes:
    manifest = (
        b'<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
        b'<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml" manifest:size="900">'
        b'<manifest:encryption-data manifest:checksum-type="SHA256/1K" manifest:checksum="AA=="/>'
        b"</manifest:file-entry></manifest:manifest>"
    )
    content = honest_member("content.xml", noise(900))
    return write_archive([ODT.frame()[0], honest_member("META-INF/manifest.xml", manifest), content])


def _rights_managed_epub() -> bytes:
    encryption = (
        b'<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container" '
        b'xmlns:enc="http://www.w3.org/2001/04/xmlenc#"><enc:EncryptedData>'
        b'<enc:EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes128-cbc"/>'
        b'<enc:CipherData><enc:CipherReference URI="one.xhtml"/></enc:CipherData></enc:EncryptedData></encryption>'
    )
    chapter = honest_member(EPUB.text_member, noise(900))
    return write_archive([*EPUB.frame(), honest_member("META-INF/encryption.xml", encryption), chapter])


def _office_with_password() -> bytes:
    """Its outermost shell: such a file is no zip, but the older container with the zip locked inside."""
    return _OLE_SIGNATURE + bytes(1016) + "EncryptedPackage".encode("utf-16-le") + bytes(480)
