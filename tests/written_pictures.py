"""Pictures written byte by byte, which may claim to be of any size."""

import struct
import zlib
from collections.abc import Iterable
from io import BytesIO

from PIL import Image


def png_that_claims(width: int, height: int) -> bytes:
    return png(struct.pack(">2I5B", width, height, 8, 0, 0, 0, 0), bytes(10))


def png(header: bytes, pixels: bytes, texts: Iterable[tuple[bytes, bytes]] = ()) -> bytes:
    chunks = [(b"IHDR", header), *texts, (b"IDAT", zlib.compress(pixels)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in chunks
    )


def jpeg_that_claims(width: int, height: int, *, is_progressive: bool = False) -> bytes:
    content = bytearray(small_picture("JPEG", progressive=is_progressive))
    frame = content.index(b"\xff\xc2" if is_progressive else b"\xff\xc0")
    struct.pack_into(">2H", content, frame + 5, height, width)
    return bytes(content)


def webp_that_claims(width: int, height: int, chunk: str) -> bytes:
    sizes = {
        "VP8 ": bytes(3) + b"\x9d\x01\x2a" + struct.pack("<2H", width & 0x3FFF, height & 0x3FFF),
        "VP8L": b"/" + struct.pack("<I", (width - 1) & 0x3FFF | ((height - 1) & 0x3FFF) << 14),
        "VP8X": bytes(4) + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little"),
    }
    body = chunk.encode() + struct.pack("<I", len(sizes[chunk])) + sizes[chunk] + bytes(20)
    return b"RIFF" + struct.pack("<I", len(body) + 4) + b"WEBP" + body


def tiff(pages: list[dict[int, tuple[int, int]]], *, last_leads_to: int | None = None) -> bytes:
    """Each page is its tags, with type and value. The last leads to the page of that number, or to that place."""
    places, place = [], 8
    for page in pages:
        places.append(place)
        place += 2 + 12 * len(page) + 4
    after_last = 0 if last_leads_to is None else places[0] if last_leads_to == 0 else last_leads_to
    content = bytearray(b"II*\0" + struct.pack("<I", 8))
    for page, following in zip(pages, [*places[1:], after_last], strict=True):
        content += struct.pack("<H", len(page))
        for tag, (type, value) in sorted(page.items()):
            content += struct.pack("<2HI", tag, type, 1) + value.to_bytes(4, "little")
        content += struct.pack("<I", following)
    return bytes(content)


def small_picture(format: str, **options: object) -> bytes:
    file = BytesIO()
    Image.new("L", (64, 64), 128).save(file, format, **options)
    return file.getvalue()
