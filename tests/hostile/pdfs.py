"""PDFs that lead in circles, unpack without end, or describe pages that cannot be."""

import struct
import zlib
from collections.abc import Iterator, Sequence
from functools import partial

from tests.amounts import amount
from tests.hostile.containers import MEGABYTE
from tests.hostile.hostile_file import CORRUPT, ENCRYPTED, LIMIT, NO_TEXT, READ, TIMEOUT, HostileFile, hostile, noise

_CATALOG = b"<< /Type /Catalog /Pages 2 0 R >>"
_PAGES = b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
_PAGE = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources 5 0 R >>"
_RESOURCES = b"<< /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
_TEXT = b"BT /F 12 Tf 50 700 Td (word) Tj ET"
_FORM = b"/Type /XObject /Subtype /Form /BBox [0 0 600 800] /Resources %d 0 R"
_DAMAGED = (READ, CORRUPT, NO_TEXT)


def stream(content: bytes, entries: bytes = b"") -> bytes:
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(content), entries, content)


def write_pdf(objects: Sequence[bytes], trailer: bytes = b"", *, previous: int | None = None) -> bytes:
    """The objects, numbered from 1, the first of which is the catalog; and a table of where they are."""
    body, places = bytearray(b"%PDF-1.7\n"), []
    for number, content in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    table += b"".join(b"%010d 00000 n \n" % place for place in places)
    if previous is not None:
        trailer += b" /Prev %d" % (len(body) + previous)
    end = b"trailer\n<< /Root 1 0 R /Size %d %s >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, trailer, len(body))
    return bytes(body + table + end)


def one_page(
    *more: bytes,
    catalog: bytes = _CATALOG,
    pages: bytes = _PAGES,
    page: bytes = _PAGE,
    content: bytes | None = None,
    resources: bytes = _RESOURCES,
) -> list[bytes]:
    """Objects 1 to 5, and `more` from 6."""
    return [catalog, pages, page, stream(_TEXT) if content is None else content, resources, *more]


def hostile_pdfs() -> Iterator[HostileFile]:
    yield from _loops()
    yield from _forms()
    yield from _bombs()
    yield from _pages()
    yield from _structures()
    for revision in (2, 3, 4, 6):
        yield hostile(f"with-password-{revision}.pdf", partial(_with_password, revision), ENCRYPTED)
    yield hostile("locked-in-an-unknown-way.pdf", lambda: write_pdf(one_page(), _LOCK % b"/Nobody"), ENCRYPTED, CORRUPT)


def _loops() -> Iterator[HostileFile]:
    itself = b"<< /Type /Pages /Kids [2 0 R] /Count 1 >>"
    yield hostile("page-tree-of-itself.pdf", lambda: write_pdf(one_page(pages=itself)), CORRUPT, NO_TEXT)
    up = b"<< /Type /Pages /Parent 2 0 R /Kids [2 0 R 6 0 R] /Count 2 >>"
    both = b"<< /Type /Pages /Kids [3 0 R 6 0 R] /Count 3 >>"
    yield hostile("page-tree-in-a-circle.pdf", lambda: write_pdf(one_page(up, pages=both)), *_DAMAGED)
    outlined = b"<< /Type /Catalog /Pages 2 0 R /Outlines 6 0 R >>"
    circle = [
        b"<< /Type /Outlines /First 7 0 R /Last 7 0 R /Count 1 >>",
        b"<< /Title (again) /Parent 6 0 R /Next 8 0 R /First 6 0 R /Dest [3 0 R /Fit] >>",
        b"<< /Title (and again) /Parent 7 0 R /Next 7 0 R /First 7 0 R /Dest [3 0 R /Fit] >>",
    ]
    yield hostile("outline-in-a-circle.pdf", lambda: write_pdf(one_page(*circle, catalog=outlined)), READ)
    yield hostile("outline-without-end.pdf", lambda: _long_outline(100_000), READ, LIMIT)
    yield hostile("outline-of-great-depth.pdf", lambda: _deep_outline(20_000), READ, LIMIT)
    yield hostile("table-before-itself.pdf", lambda: write_pdf(one_page(), previous=0), READ, CORRUPT)
    yield hostile("table-before-nowhere.pdf", lambda: write_pdf(one_page(), b" /Prev 99999999999"), READ, CORRUPT)
    yield hostile("chain-of-10,000-tables.pdf", lambda: _chained_tables(10_000), READ, CORRUPT)
    yield hostile("objects-in-a-stream-in-itself.pdf", lambda: _object_streams(b"/Extends 6 0 R"), *_DAMAGED)
    length = b"<< /Length 4 0 R >>\nstream\n" + _TEXT + b"\nendstream"
    yield hostile("stream-as-long-as-itself.pdf", lambda: write_pdf(one_page(content=length)), *_DAMAGED)
    yield hostile("object-that-is-itself.pdf", lambda: write_pdf(one_page(content=b"4 0 R")), *_DAMAGED)


def _forms() -> Iterator[HostileFile]:
    drawn = stream(_TEXT + b" /X Do")
    names = b"<< /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> /XObject << /X %d 0 R >> >>"
    itself = one_page(stream(_TEXT + b" /X Do", _FORM % 5), content=drawn, resources=names % 6)
    yield hostile("form-of-itself.pdf", lambda: write_pdf(itself), READ)
    other = one_page(
        stream(b"/X Do", _FORM % 7), names % 8, stream(b"/X Do", _FORM % 5), content=drawn, resources=names % 6
    )
    yield hostile("forms-of-one-another.pdf", lambda: write_pdf(other), READ)
    yield hostile("forms-by-the-million.pdf", lambda: _doubling_forms(6, 10), READ, LIMIT, TIMEOUT, is_slow=True)
    yield hostile("forms-beyond-number.pdf", lambda: _doubling_forms(25, 10), READ, LIMIT, TIMEOUT, is_slow=True)


def _doubling_forms(levels: int, times: int) -> bytes:
    """Each form draws the next one many times."""
    names = b"<< /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> /XObject << /X %d 0 R >> >>"
    more = []
    for level in range(levels):
        more += [stream(b"/X Do " * times, _FORM % (7 + 2 * level)), names % (8 + 2 * level)]
    more.append(stream(_TEXT, _FORM % 7))
    return write_pdf(one_page(*more, content=stream(_TEXT + b" /X Do"), resources=names % 6))


def _bombs() -> Iterator[HostileFile]:
    blanks, text = b" " * MEGABYTE, (_TEXT + b" ") * (MEGABYTE // 35)
    packed = b"/Filter /FlateDecode"
    yield hostile(
        "a-gigabyte-of-blanks.pdf", lambda: _with_content(flate(blanks, 1024), packed), READ, LIMIT, TIMEOUT, NO_TEXT
    )
    yield hostile(
        "a-gigabyte-of-text.pdf", lambda: _with_content(flate(text, 1024), packed), LIMIT, TIMEOUT, is_slow=True
    )
    twice = b"/Filter [/FlateDecode /FlateDecode]"
    yield hostile(
        "packed-twice.pdf",
        lambda: _with_content(zlib.compress(flate(blanks, amount(selection=1536, full=4096))), twice),
        READ,
        LIMIT,
        TIMEOUT,
        NO_TEXT,
    )
    often = b"/Filter [" + b"/FlateDecode " * 10_000 + b"]"
    yield hostile("packed-10,000-times.pdf", lambda: _with_content(zlib.compress(_TEXT), often), *_DAMAGED)
    yield hostile(
        "objects-in-a-bomb.pdf", lambda: _object_streams(b"/Filter /FlateDecode", flate(blanks, 1024)), *_DAMAGED, LIMIT
    )


def flate(block: bytes, times: int) -> bytes:
    """`times` blocks, of which one is packed."""
    packer = zlib.compressobj(9)
    head = packer.flush(zlib.Z_FULL_FLUSH)
    packed = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    end = packer.flush()[:-4]
    checksum = 1
    for _ in range(times):
        checksum = zlib.adler32(block, checksum)
    return head + packed * times + end + struct.pack(">I", checksum)


def _with_content(packed: bytes, filters: bytes) -> bytes:
    return write_pdf(one_page(content=stream(packed, filters)))


def _pages() -> Iterator[HostileFile]:
    yield hostile("100,000-empty-pages.pdf", lambda: _empty_pages(100_000), LIMIT, NO_TEXT)
    yield hostile("20,000-empty-pages.pdf", lambda: _empty_pages(20_000), NO_TEXT, LIMIT, is_slow=True)
    billions = b"<< /Type /Pages /Kids [3 0 R] /Count 2147483647 >>"
    yield hostile("says-it-has-billions-of-pages.pdf", lambda: write_pdf(one_page(pages=billions)), LIMIT, *_DAMAGED)
    fewer_than_none = b"<< /Type /Pages /Kids [3 0 R] /Count -1 >>"
    yield hostile("says-it-has-less-than-no-page.pdf", lambda: write_pdf(one_page(pages=fewer_than_none)), *_DAMAGED)
    repeated = b"<< /Type /Pages /Kids [" + b"3 0 R " * 15_000 + b"] /Count 15000 >>"
    yield hostile("one-page-15,000-times.pdf", lambda: write_pdf(one_page(pages=repeated)), READ, LIMIT, is_slow=True)
    for name, box in {
        "huge": b"0 0 1000000000 1000000000",
        "larger-than-numbers": b"0 0 1" + b"0" * 400 + b" 1" + b"0" * 400,
        "less-than-nothing": b"0 0 -5 -5",
        "upside-down": b"600 800 0 0",
        "of-no-number": b"a b c d",
        "far-away": b"-1e38 -1e38 1e38 1e38",
    }.items():
        page = _PAGE.replace(b"0 0 600 800", box)
        yield hostile(f"page-{name}.pdf", partial(write_pdf, one_page(page=page)), *_DAMAGED)


def _empty_pages(count: int) -> bytes:
    kids = b" ".join(b"%d 0 R" % number for number in range(3, count + 3))
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>"
    return write_pdf([_CATALOG, b"<< /Type /Pages /Count %d /Kids [%s] >>" % (count, kids), *[page] * count])


def _structures() -> Iterator[HostileFile]:
    yield hostile("arrays-in-arrays.pdf", lambda: write_pdf(one_page(b"[" * 100_000 + b"]" * 100_000)), *_DAMAGED)
    deep = one_page(resources=b"<< /A " * 100_000 + b">>" * 100_000)
    yield hostile("dictionaries-in-dictionaries.pdf", lambda: write_pdf(deep), *_DAMAGED)
    yield hostile("page-tree-of-great-depth.pdf", lambda: _deep_page_tree(20_000), *_DAMAGED, LIMIT)
    yield hostile("states-saved-without-end.pdf", lambda: _with_content(b"q " * 3_000_000 + _TEXT, b""), READ, LIMIT)
    yield hostile("brackets-in-content.pdf", lambda: _with_content(b"[" * 3_000_000 + _TEXT, b""), *_DAMAGED, LIMIT)
    yield hostile("letters-all-over.pdf", _scattered_letters, READ, LIMIT, TIMEOUT)
    yield hostile("a-head-alone.pdf", lambda: b"%PDF-1.7\n", CORRUPT)
    yield hostile("a-head-and-noise.pdf", lambda: b"%PDF-1.7\n" + noise(100_000), CORRUPT)
    yield hostile("heads-without-end.pdf", lambda: b"%PDF-1.7\n" * 500_000, CORRUPT)
    yield hostile("objects-without-end.pdf", lambda: b"%PDF-1.7\n" + b"1 0 obj\n" * 500_000, CORRUPT)


def _scattered_letters() -> bytes:
    places = struct.iter_unpack("<HH", noise(400_000))
    letters = b"".join(b"1 0 0 1 %d %d Tm (%c) Tj " % (x % 600, y % 800, 97 + x % 26) for x, y in places)
    return write_pdf(one_page(content=stream(b"BT /F 1 Tf " + letters + b" ET")))


def _long_outline(count: int) -> bytes:
    catalog = b"<< /Type /Catalog /Pages 2 0 R /Outlines 6 0 R >>"
    root = b"<< /Type /Outlines /First 7 0 R /Last %d 0 R /Count %d >>" % (6 + count, count)
    entry = b"<< /Title (part %d) /Parent 6 0 R /Next %d 0 R /Dest [3 0 R /Fit] >>"
    return write_pdf(one_page(root, *(entry % (n, 8 + n) for n in range(count)), catalog=catalog))


def _deep_outline(count: int) -> bytes:
    catalog = b"<< /Type /Catalog /Pages 2 0 R /Outlines 6 0 R >>"
    entry = b"<< /Title (part) /Parent %d 0 R /First %d 0 R /Dest [3 0 R /Fit] >>"
    return write_pdf(one_page(*(entry % (5 + n, 7 + n) for n in range(count)), catalog=catalog))


def _deep_page_tree(depth: int) -> bytes:
    node = b"<< /Type /Pages /Count 1 /Parent %d 0 R /Kids [%d 0 R] >>"
    nodes = [node % (5 + n, 7 + n) for n in range(depth)]
    last = _PAGE.replace(b"/Parent 2", b"/Parent %d" % (5 + depth))
    return write_pdf(one_page(*nodes, last, pages=b"<< /Type /Pages /Count 1 /Kids [6 0 R] >>"))


def _chained_tables(count: int) -> bytes:
    document = bytearray(write_pdf(one_page()))
    for _ in range(count):
        previous = int(document.rpartition(b"startxref\n")[2].split()[0])
        end = b"xref\n0 0\ntrailer\n<< /Root 1 0 R /Size 6 /Prev %d >>\nstartxref\n%d\n%%%%EOF\n"
        document += end % (previous, len(document))
    return bytes(document)


def _object_streams(entries: bytes, content: bytes | None = None) -> bytes:
    """Pages within an object stream, which is said to be within itself; the newer form of the table of places."""
    body = bytearray(b"%PDF-1.7\n")
    rows = [struct.pack(">BIH", 0, 0, 65535)]
    inner = {2: _PAGES, 3: _PAGE, 5: _RESOURCES, 6: b"6 0 R"}
    head, values = b"", b""
    for number, value in inner.items():
        head += b"%d %d " % (number, len(values))
        values += value + b" "
    places = {}
    for number, value in (
        (1, _CATALOG),
        (4, stream(_TEXT)),
        (7, stream(content or head + values, b"/Type /ObjStm /N 4 /First %d %s" % (len(head), entries))),
    ):
        places[number] = len(body)
        body += b"%d 0 obj\n%s\nendobj\n" % (number, value)
    places[8] = len(body)
    for number in range(1, 9):
        if number in places:
            rows.append(struct.pack(">BIH", 1, places[number], 0))
        else:
            rows.append(struct.pack(">BIH", 2, 7, list(inner).index(number)))
    kind = b"/Type /XRef /W [1 4 2] /Size 9 /Root 1 0 R"
    body += b"8 0 obj\n%s\nendobj\nstartxref\n%d\n%%%%EOF\n" % (stream(b"".join(rows), kind), places[8])
    return bytes(body)


_LOCK = b"/ID [<00><00>] /Encrypt << /Filter %s /V 2 /R 3 /Length 128 /P -4 /O <00> /U <00> >>"


def _with_password(revision: int) -> bytes:
    """Locked by a password that nobody knows: what is to prove it is noise."""
    proof = noise(48).hex().encode()
    version = {2: b"1", 3: b"2", 4: b"4", 6: b"5"}[revision]
    bits = b"256" if revision == 6 else b"40" if revision == 2 else b"128"
    short = proof if revision == 6 else proof[:64]
    method = b"AESV3" if revision == 6 else b"AESV2"
    lock = b"/Filter /Standard /V %s /R %d /Length %s /P -4 /O <%s> /U <%s>" % (version, revision, bits, short, short)
    if revision >= 4:
        lock += b" /CF << /StdCF << /CFM /%s /AuthEvent /DocOpen /Length 16 >> >> /StmF /StdCF /StrF /StdCF" % method
    if revision == 6:
        lock += b" /OE <%s> /UE <%s> /Perms <%s>" % (proof[:64], proof[:64], proof[:32])
    return write_pdf(one_page(), b"/ID [<%s><%s>] /Encrypt << %s >>" % (proof[:32], proof[:32], lock))
