"""PDF files written by hand: one page with a line of text, and pictures that cannot be compressed."""

import random

PICTURE_WIDTH = 1024
BYTES_PER_PIXEL = 3


def make_pdf(text: str, *, picture_bytes: int, seed: int) -> bytes:
    """About `picture_bytes` large, in four pictures of noise; another `seed` gives another file."""
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
    drawn = "".join(f"q 200 0 0 200 {50 + 120 * place} 100 cm /{name} Do Q\n" for place, name in enumerate(names))
    referenced = " ".join(f"/{name} {number} 0 R" for number, name in enumerate(names, start=6))
    page = (
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R "
        f"/Resources << /Font << /F1 5 0 R >> /XObject << {referenced} >> >> >>"
    )
    return _assemble(
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        page.encode(),
        _stream("", f"BT /F1 18 Tf 50 780 Td ({text}) Tj ET\n{drawn}".encode()),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        *pictures,
    )


def _stream(entries: str, content: bytes) -> bytes:
    return f"<< {entries} /Length {len(content)} >>\nstream\n".encode() + content + b"\nendstream"


def _assemble(*objects: bytes) -> bytes:
    """The whole file of numbered objects, of which the first is the catalog."""
    pdf = bytearray(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
    offsets = []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(pdf))
        pdf += f"{number} 0 obj\n".encode() + content + b"\nendobj\n"
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    start = len(pdf)
    pdf += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}".encode()
    pdf += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(pdf)
