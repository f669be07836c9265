"""What people and programs have written into a picture about it, in any of the four places where they do."""

from collections.abc import Iterator, Sequence
from itertools import islice

from PIL import Image, ImageFile
from PIL.ExifTags import IFD, Base
from PIL.IptcImagePlugin import getiptcinfo

from kb.engine.errors import Unreadable
from kb.engine.ingestion.extraction.readers.pictures.camera import find_directory, find_tag
from kb.engine.ingestion.extraction.readers.shared.outline import tidy
from kb.engine.ingestion.extraction.readers.shared.pixels import DAMAGE
from kb.engine.ingestion.extraction.readers.shared.xml_trees import local_name, parse_xml

_MAX_CHARACTERS = 2000
_MAX_VALUES = 100
_MAX_VALUES_A_SOURCE = 1000
_MAX_XMP_BYTES = 1024 * 1024

_EXIF = {
    Base.ImageDescription: "description",
    Base.XPTitle: "title",
    Base.XPSubject: "description",
    Base.XPComment: "comment",
    Base.XPKeywords: "keywords",
    Base.Artist: "author",
    Base.XPAuthor: "author",
    Base.Copyright: "copyright",
}
_XMP = {
    "title": "title",
    "description": "description",
    "subject": "keywords",
    "creator": "author",
    "rights": "copyright",
}
_IPTC = {
    (2, 5): "title",
    (2, 120): "description",
    (2, 25): "keywords",
    (2, 80): "author",
    (2, 116): "copyright",
}
# The last two hold what a picture was generated from.
_PNG = {
    "title": "title",
    "description": "description",
    "comment": "comment",
    "keywords": "keywords",
    "author": "author",
    "copyright": "copyright",
    "parameters": "comment",
    "prompt": "comment",
}
_WIDE = b"UNICODE\0"
_NARROW = (b"ASCII\0\0\0", b"\0" * 8)


def read_captions(picture: ImageFile.ImageFile, exif: Image.Exif) -> dict[str, str]:
    """`title`, `description`, `keywords`, `author`, `copyright`, `comment`, as far as they are there, each of bounded
    length. What two places say of the same is told once."""
    found: dict[str, list[str]] = {}
    for source in (_in_xmp(picture), _in_iptc(picture), _in_exif(exif), _in_texts(picture)):
        for name, text in islice(source, _MAX_VALUES_A_SOURCE):
            value = " ".join(tidy(text[: 4 * _MAX_CHARACTERS]).split())[:_MAX_CHARACTERS]
            values = found.setdefault(name, [])
            if value and value not in values and len(values) < _MAX_VALUES:
                values.append(value)
    return {name: _join(name, values) for name, values in found.items() if values}


def _join(name: str, values: Sequence[str]) -> str:
    # A title in several languages is one title, and the first is in the language of most readers.
    if name in ("title", "copyright"):
        return values[0]
    return ("\n" if name in ("description", "comment") else ", ").join(values)[:_MAX_CHARACTERS]


def _in_xmp(picture: ImageFile.ImageFile) -> Iterator[tuple[str, str]]:
    packet = picture.info.get("xmp")
    if not isinstance(packet, bytes) or len(packet) > _MAX_XMP_BYTES:
        return
    try:
        root = parse_xml(packet.rstrip(b"\0 "))
    except Unreadable:
        return
    for element in root.iter("{http://purl.org/dc/elements/1.1/}*"):
        if name := _XMP.get(local_name(element)):
            # Each value is an item of a list; a title is a list of one title in several languages.
            yield from ((name, str(text)) for text in element.itertext())


def _in_iptc(picture: ImageFile.ImageFile) -> Iterator[tuple[str, str]]:
    try:
        fields = getiptcinfo(picture) or {}
    except DAMAGE:
        return
    for tag, name in _IPTC.items():
        told = fields.get(tag) or []
        for value in told if isinstance(told, list) else [told]:
            yield name, _decode(value)


def _in_exif(exif: Image.Exif) -> Iterator[tuple[str, str]]:
    for tag, name in _EXIF.items():
        told = find_tag(exif, tag)
        if isinstance(told, str):
            yield name, _decode(told.encode("latin-1", errors="replace"))
        elif isinstance(told, bytes):
            yield name, _decode_wide(told)
    comment = find_directory(exif, IFD.Exif).get(Base.UserComment)
    if isinstance(comment, bytes) and comment.startswith(_WIDE):
        yield "comment", _decode_wide(comment[len(_WIDE) :])
    elif isinstance(comment, bytes) and comment.startswith(_NARROW):
        yield "comment", _decode(comment[len(_WIDE) :])


def _in_texts(picture: ImageFile.ImageFile) -> Iterator[tuple[str, str]]:
    for key, value in picture.info.items():
        name = _PNG.get(str(key).casefold())
        if name and isinstance(value, bytes):
            yield name, _decode(value)
        # Some programs keep there, for themselves, how they made it.
        elif name and isinstance(value, str) and not value.lstrip().startswith(("{", "[")):
            yield name, value


def _decode(value: bytes | None) -> str:
    try:
        return (value or b"").decode()
    except UnicodeDecodeError:
        return (value or b"").decode("latin-1")


def _decode_wide(value: bytes) -> str:
    # Programs differ in which half of a character comes first. In most that are written, the upper half is 0.
    is_big_endian = value[0::2].count(0) > value[1::2].count(0)
    return value.decode("utf-16-be" if is_big_endian else "utf-16-le", errors="ignore")
