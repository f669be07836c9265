"""PDF files written by hand: of many pages of text, and of pictures that cannot be compressed."""

import random
from collections.abc import Sequence
from textwrap import wrap

LINE_CHARACTERS = 90
PICTURE_WIDTH = 1024
BYTES_PER_PIXEL = 3
_FIRST_PAGE_OBJECT = 4


def make_text_pdf(pages: Sequence[str], *, title: str = "") -> bytes:
    """One page for each text, wrapped into lines of 90 characters; what is not Latin becomes `?`."""
    page_numbers = range(_FIRST_PAGE_OBJECT, _FIRST_PAGE_OBJECT + 2 * len(pages), 2)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {len(pages)} /Kids [{' '.join(f'{n} 0 R' for n in page_numbers)}] >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for number, text in zip(page_numbers, pages, strict=True):
        page = (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {number + 1} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects += [page.encode(), _stream("", _draw(text))]
    return _assemble([*objects, f"<< /Title ({_escape(title)}) >>".encode("latin-1", "replace")])


def make_picture_pdf(text: str, *, picture_bytes: int, seed: int) -> bytes:
    """About `picture_bytes` large, in four pictures of noise, drawn too small to be read; another `seed` gives another
    file."""
    height = picture_bytes // 4 // PICTURE_WIDTH // BYTES_PER_PIXEL
    noise = random.Random(seed)  # noqa: S311 - the same noise each time, and nothing secret
    names = [f"Im{number}" for number in range(4)]
    pictures = [
        _stream(
            f"/Type /XObject /Subtype /Image /Width {PICTURE_WIDTH} /Height {height} "
            "/ColorSpace /DeviceRGB /BitsPerComponent 8",
            noise.randbytes(PICTURE_WIDTH * height * BYTES_PER_PIXEL),
        )
        for _ in names
    ]
    drawn = "".join(f"q 12 0 0 12 {50 + 20 * place} 100 cm /{name} Do Q\n" for place, name in enumerate(names))
    referenced = " ".join(f"/{name} {number} 0 R" for number, name in enumerate(names, start=6))
    page = (
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R "
        f"/Resources << /Font << /F1 5 0 R >> /XObject << {referenced} >> >> >>"
    )
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        page.encode(),
        _stream("", f"BT /F1 18 Tf 50 780 Td ({text}) Tj ET\n{drawn}".encode()),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    return _assemble([*objects, *pictures, b"<< >>"])


def _draw(text: str) -> bytes:
    lines = [line for paragraph in text.split("\n") for line in wrap(paragraph, LINE_CHARACTERS) or [""]]
    shown = "".join(f"({_escape(line)}) '\n" for line in lines)
    return f"BT /F1 9 Tf 11 TL 40 812 Td\n{shown}ET\n".encode("latin-1", "replace")


def _escape(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


def _stream(entries: str, content: bytes) -> bytes:
    return f"<< {entries} /Length {len(content)} >>\nstream\n".encode() + content + b"\nendstream"


def _assemble(objects: Sequence[bytes]) -> bytes:
    """The whole file of numbered objects: first the catalog, last what the document tells of itself."""
    pdf = bytearray(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
    offsets = []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(pdf))
        pdf += f"{number} 0 obj\n".encode() + content + b"\nendobj\n"
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    start, count = len(pdf), len(objects)
    pdf += f"xref\n0 {count + 1}\n0000000000 65535 f \n{table}".encode()
    pdf += f"trailer\n<< /Size {count + 1} /Root 1 0 R /Info {count} 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(pdf)
