"""Pictures that claim to be huge, or lead their reader in circles."""

import struct
import zlib
from collections.abc import Callable, Iterable, Iterator

from tests.hostile.containers import MEGABYTE
from tests.hostile.hostile_file import CORRUPT, LIMIT, NO_TEXT, READ, HostileFile, hostile, noise
from tests.written_pictures import jpeg_that_claims, png, png_that_claims, small_picture, tiff, webp_that_claims

_SIDE = 60_000
_BYTE, _ASCII, _SHORT, _LONG = 1, 2, 3, 4


def hostile_pictures() -> Iterator[HostileFile]:
    yield from _huge()
    yield from _with_texts()
    yield from _tiffs()
    yield from _svgs()


def _huge() -> Iterator[HostileFile]:
    yield hostile("huge.png", lambda: png_that_claims(_SIDE, _SIDE), LIMIT)
    yield hostile("wide.png", lambda: png_that_claims(2**31 - 1, 1), LIMIT)
    yield hostile("no-width.png", lambda: png_that_claims(0, 100), CORRUPT)
    yield hostile("huge.jpg", lambda: jpeg_that_claims(_SIDE, _SIDE), LIMIT)
    yield hostile("huge-progressive.jpg", lambda: jpeg_that_claims(_SIDE, _SIDE, is_progressive=True), LIMIT)
    for chunk in ("VP8 ", "VP8L", "VP8X"):
        name = f"huge-{chunk.strip().lower()}.webp"
        yield hostile(name, lambda chunk=chunk: webp_that_claims(16_383, 16_383, chunk), LIMIT)  # type: ignore[misc]
    yield hostile("huge.tiff", lambda: tiff([_page(_SIDE, _SIDE)]), LIMIT)
    # All that it claims can be kept, and none of it is there.
    yield hostile("hollow.png", lambda: png_that_claims(9_000, 9_000), CORRUPT)
    yield hostile("hollow.jpg", lambda: jpeg_that_claims(31_000, 31_000), READ, CORRUPT)
    yield hostile("hollow.tiff", lambda: tiff([_page(9_000, 9_000)]), CORRUPT)


def _with_texts() -> Iterator[HostileFile]:
    header, pixel = struct.pack(">2I5B", 1, 1, 8, 0, 0, 0, 0), b"\0\0"
    packed = zlib.compress(bytes(200 * MEGABYTE), 9)
    cases: dict[str, Iterable[tuple[bytes, bytes]]] = {
        "text-bomb": [(b"zTXt", b"Comment\0\0" + packed)],
        "international-text-bomb": [(b"iTXt", b"Comment\0\1\0\0\0" + packed)],
        "profile-bomb": [(b"iCCP", b"x\0\0" + packed)],
        "many-texts": [(b"tEXt", b"Comment%d\0word" % number) for number in range(100_000)],
        "a-long-text": [(b"tEXt", b"Description\0" + b"word " * MEGABYTE)],
        "control-characters": [(b"tEXt", b"Title\0" + bytes(range(1, 32)) * 100)],
        "xmp-of-laughs": [(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + _laughing_xmp())],
        "tags-that-are-noise": [(b"eXIf", b"MM\0*\0\0\0\x08" + noise(5000))],
    }
    for name, texts in cases.items():
        yield hostile(f"{name}.png", lambda texts=texts: png(header, pixel, texts), READ, CORRUPT, LIMIT)  # type: ignore[misc]
    tags = b"Exif\0\0MM\0*\0\0\0\x08\xff\xff" + struct.pack(">HHII", 0x010E, _ASCII, 2**31, 8) * 4000
    yield hostile("tags-that-claim-gigabytes.jpg", lambda: small_picture("JPEG", exif=tags), READ)


def _tiffs() -> Iterator[HostileFile]:
    cases: dict[str, Callable[[], bytes]] = {
        "a-page-that-follows-itself": lambda: tiff([_page(1, 1)], last_leads_to=0),
        "pages-in-a-circle": lambda: tiff([_page(1, 1)] * 3, last_leads_to=0),
        "pages-that-lead-nowhere": lambda: tiff([_page(1, 1)] * 2, last_leads_to=2**32 - 9),
        "a-strip-of-gigabytes": lambda: tiff([_page(1, 1, strip_bytes=2**32 - 1)]),
        "packed-strip-of-gigabytes": lambda: tiff([_page(9_000, 9_000, strip_bytes=2**31, compression=5)]),
        "a-tile-of-gigabytes": lambda: tiff([{**_page(10, 10), 322: (_LONG, 2**30), 323: (_LONG, 2**30)}]),
        "tags-without-end": lambda: tiff([{**_page(1, 1), **{tag: (_LONG, 1) for tag in range(1000, 60_000)}}]),
        "a-colour-of-many-channels": lambda: tiff([{**_page(1, 1), 277: (_SHORT, 65_535)}]),
    }
    for name, make in cases.items():
        yield hostile(f"{name}.tiff", make, READ, CORRUPT, LIMIT)
    yield hostile("a-million-pages.tiff", lambda: tiff([_page(1, 1)] * 200_000), LIMIT)


def _svgs() -> Iterator[HostileFile]:
    shapes = b'<path d="M0 0h9v9z"/>'
    uses = b"".join(b'<g id="u%d">%s</g>' % (i, b'<use href="#u%d"/>' % (i - 1) * 10) for i in range(1, 12))
    ends = (NO_TEXT, CORRUPT, LIMIT)
    cases = {
        "drawn-a-billion-wide": (b'width="1000000000" height="1000000000"', shapes),
        "drawn-as-a-thread": (b'viewBox="0 0 1 1000000000"', shapes),
        "drawn-without-size": (b'viewBox="0 0 0 -1" width="x"', shapes),
        "drawn-in-no-numbers": (b'viewBox="nan nan inf inf"', shapes),
        "drawn-use-bomb": (b"", b'<g id="u0">' + shapes + b"</g>" + uses),
        "drawn-foreign-pictures": (b"", b'<image href="/etc/passwd" width="9" height="9"/>' + shapes),
        "drawn-nested": (b"", b"<g>" * 200 + shapes + b"</g>" * 200),
    }
    for name, (size, body) in cases.items():
        content = b'<svg xmlns="http://www.w3.org/2000/svg" %s>%s</svg>' % (size, body)
        yield hostile(f"{name}.svg", lambda content=content: content, *ends, is_slow=True)  # type: ignore[misc]


def _page(width: int, height: int, *, strip_bytes: int = 1, compression: int = 1) -> dict[int, tuple[int, int]]:
    return {
        256: (_LONG, width),
        257: (_LONG, height),
        258: (_SHORT, 8),
        259: (_SHORT, compression),
        262: (_SHORT, 1),
        273: (_LONG, 8),
        277: (_SHORT, 1),
        278: (_LONG, height),
        279: (_LONG, strip_bytes),
    }


def _laughing_xmp() -> bytes:
    laughs = b"".join(b'<!ENTITY e%d "%s">' % (level, b"&e%d;" % (level - 1) * 10) for level in range(1, 10))
    doctype = b'<!DOCTYPE x [<!ENTITY e0 "laugh">' + laughs + b"]>"
    return doctype + b'<x xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>&e9;</dc:title></x>'
