"""Changes below a shell that would give them away: within the members of an archive, the streams of a PDF and the parts
of a PNG, with lengths and checksums that are right again."""

import io
import re
import struct
import zipfile
import zlib
from collections.abc import Callable

from tests.hostile.containers import MEGABYTE, Member, honest_member, write_archive
from tests.hostile.fuzz_words import PDF_OPERATORS
from tests.hostile.mutations import Chance, Words, mutate

_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_STREAM = re.compile(rb"(/Length\s+)(\d+)([^\0]{0,300}?stream\r?\n)")
_TEXT_MEMBERS = (".xml", ".rels", ".xhtml", ".html", ".opf", ".ncx")


def mutate_inside(chance: Chance, content: bytes, words: Words) -> bytes | None:
    """None, if it has no shell, or what is in it cannot be had."""
    inside: Callable[[Chance, bytes, Words], bytes | None]
    if content.startswith(b"PK"):
        inside = _in_archive
    elif content.startswith(b"%PDF"):
        inside = _in_pdf
    elif content.startswith(_PNG_SIGNATURE):
        inside = _in_png
    else:
        return None
    try:
        return inside(chance, content, words)
    except (zipfile.BadZipFile, zlib.error, struct.error, RuntimeError, NotImplementedError, UnicodeError, EOFError):
        return None


def _in_archive(chance: Chance, content: bytes, words: Words) -> bytes | None:
    members = _unpack(content)
    if not members:
        return None
    with_text = [name for name in members if name.endswith(_TEXT_MEMBERS)]
    chosen = chance.choice(with_text if with_text and chance.random() < 0.8 else list(members))
    what = chance.random()
    if what < 0.8:
        members[chosen] = mutate(chance, members[chosen], words)
    elif what < 0.9:
        members[chosen] = members[chance.choice(list(members))]
    else:
        del members[chosen]
    return write_archive([_pack(name, member) for name, member in members.items()])


def _unpack(content: bytes) -> dict[str, bytes]:
    """What is larger than a megabyte is left out."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if len(archive.infolist()) > 500:
            return {}
        return {info.filename: archive.read(info) for info in archive.infolist() if info.file_size < MEGABYTE}


def _pack(name: str, content: bytes) -> Member:
    if name == "mimetype":
        return Member(name, content, zlib.crc32(content), len(content), method=0)
    return honest_member(name, content)


def _in_pdf(chance: Chance, content: bytes, words: Words) -> bytes | None:
    streams = list(_STREAM.finditer(content))
    if not streams:
        return None
    stream = chance.choice(streams)
    packed = content[stream.end() : stream.end() + int(stream[2])]
    unpacker = zlib.decompressobj()
    changed = zlib.compress(mutate(chance, unpacker.decompress(packed, MEGABYTE) or b" ", PDF_OPERATORS), 9)
    # What is behind it stays where the table says, if there is room. Otherwise the reader has to make a table anew.
    changed = changed.ljust(len(packed), b"\n")
    head = content[: stream.start()] + stream[1] + str(len(changed)).encode() + stream[3]
    return head + changed + content[stream.end() + len(packed) :]


def _in_png(chance: Chance, content: bytes, words: Words) -> bytes | None:
    parts = _list_parts(content)
    chosen = chance.randrange(len(parts))
    kind, inside = parts[chosen]
    if kind == b"IDAT" and chance.random() < 0.5:
        inside = zlib.compress(mutate(chance, zlib.decompressobj().decompress(inside, MEGABYTE) or b"\0", words))
    else:
        inside = mutate(chance, inside or b"\0", words)
    parts[chosen] = (kind, inside)
    return _PNG_SIGNATURE + b"".join(_png_part(*part) for part in parts)


def _list_parts(content: bytes) -> list[tuple[bytes, bytes]]:
    parts, place = [], len(_PNG_SIGNATURE)
    while place < len(content):
        length, kind = struct.unpack_from(">I4s", content, place)
        parts.append((kind, content[place + 8 : place + 8 + length]))
        place += length + 12
    return parts


def _png_part(kind: bytes, inside: bytes) -> bytes:
    return struct.pack(">I", len(inside)) + kind + inside + struct.pack(">I", zlib.crc32(kind + inside))
