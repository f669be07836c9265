"""W1: pages of documents as pictures, for whoever looks at what was found."""

import hashlib
import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import pytest
from PIL import Image, ImageChops
from starlette.testclient import TestClient
from starlette.types import Message
from tests.api_calls import OPEN, V1, AddDocument, Json, assert_problem
from tests.handmade_documents import add, file, index
from tests.hostile.pdfs import one_page, write_pdf
from tests.pdf_files import make_text_pdf
from tests.reading import SAMPLES

from kb.access import Access
from kb.engine.model import Document
from kb.engine.wiring import Engine

Store: TypeAlias = Callable[[bytes, str], int]
FELT_PEN = (255, 214, 92)
PAGES = ["The walrus rests on the ice.", "The otter swims in the river.\nWalruses do not."]
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 20"><rect width="20" height="20" fill="#f00"/></svg>'


@pytest.fixture
def store(engine: Engine) -> Store:
    """Stores a file of that format without reading it, and returns the number of its document."""

    def put(content: bytes, format: str) -> int:
        name = hashlib.sha256(content).hexdigest()
        with engine.originals.locked(), engine.originals.receive() as incoming:
            incoming.write(content)
            engine.originals.keep(incoming, incoming.finish())
        new = replace(file("text", format=format), original=name, content_hash=f"sha256:{name}")
        document: Document = add(engine.store, new, index("text", model=engine.embedder.model.fingerprint))
        return document.id

    return put


@pytest.fixture
def pdf(store: Store) -> int:
    return store(make_text_pdf(PAGES), "pdf")


def url(document: int, number: int = 1) -> str:
    return f"{V1}/documents/{document}/pages/{number}.png"


def draw(api: TestClient, document: int, number: int = 1, **parameters: Any) -> Image.Image:
    response = api.get(url(document, number), params=parameters)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "image/png"
    assert response.headers["x-content-type-options"] == "nosniff"
    return Image.open(io.BytesIO(response.content)).convert("RGB")


def where_marked(picture: Image.Image) -> tuple[int, int, int, int] | None:
    """The box around all paper that has the colour of a marked word."""
    other = ImageChops.difference(picture, Image.new("RGB", picture.size, FELT_PEN)).convert("L")
    return other.point(lambda difference: 0 if difference else 255).getbbox()


def encode(picture: Image.Image, format: str, **options: Any) -> bytes:
    content = io.BytesIO()
    picture.save(content, format, **options)
    return content.getvalue()


def two_halves(first: str, second: str, size: tuple[int, int] = (400, 200)) -> Image.Image:
    """The left one and the right one."""
    picture = Image.new("RGB", size, second)
    picture.paste(first, (0, 0, size[0] // 2, size[1]))
    return picture


def test_w1_a_page_of_a_pdf_is_as_wide_as_asked_for(api: TestClient, pdf: int) -> None:
    usual, small = draw(api, pdf), draw(api, pdf, width=200)

    assert usual.size == (1000, 1415)
    assert small.size == (200, 283)
    assert usual.convert("L").getextrema() == (0, 255)


def test_w1_the_answer_tells_how_many_pages_there_are(api: TestClient, pdf: int) -> None:
    assert api.get(url(pdf, 2)).headers["x-page-count"] == "2"


def test_w1_words_of_the_query_are_marked_where_they_stand(api: TestClient, pdf: int) -> None:
    plain, first, both = draw(api, pdf), draw(api, pdf, q="walrus"), draw(api, pdf, q="walrus ICE")

    assert where_marked(plain) is None
    left, top, right, bottom = where_marked(first) or (0, 0, 0, 0)
    # The page is 595 points wide; its one line is written in letters of 9 points, from 40 points on, 41 from the top.
    assert 90 < left < right < 160
    assert 50 < top < bottom < 80
    assert (where_marked(both) or (0, 0, 0, 0))[2] > 200
    # Letters stay as dark as they were, and the rest of the page as it was.
    assert first.convert("L").getextrema() == (0, 255)
    assert (ImageChops.difference(plain, both).getbbox() or (0, 0, 0, 0))[3] < 80


@pytest.mark.parametrize(("q", "is_marked"), [("walrus", True), ("Ö\u0308TTER", True), ("penguin -otter", False)])
def test_w1_words_are_marked_as_in_snippets(api: TestClient, pdf: int, q: str, *, is_marked: bool) -> None:
    assert (where_marked(draw(api, pdf, 2, q=q)) is not None) == is_marked


def test_w1_what_begins_with_the_last_word_is_marked_for_who_is_still_typing(api: TestClient, pdf: int) -> None:
    assert where_marked(draw(api, pdf, q="the wal")) is None
    assert where_marked(draw(api, pdf, q="the wal", complete_last_word=True)) is not None
    assert where_marked(draw(api, pdf, q="the wal ", complete_last_word=True)) is None


def test_w1_a_divided_word_is_marked_in_both_lines(api: TestClient, store: Store) -> None:
    document = store((SAMPLES / "pdf/paper-pdflatex.pdf").read_bytes(), "pdf")

    left, top, right, bottom = where_marked(draw(api, document, q="handwriting")) or (0, 0, 0, 0)

    # At the end of one line and the beginning of the next.
    assert right - left > 300
    assert bottom - top > 25


def test_w1_words_are_marked_on_a_page_that_lies_on_its_side(api: TestClient, store: Store) -> None:
    document = store(make_text_pdf(PAGES).replace(b"/MediaBox", b"/Rotate 90 /MediaBox"), "pdf")

    picture = draw(api, document, q="walrus")

    left, top, right, bottom = where_marked(picture) or (0, 0, 0, 0)
    assert picture.width > picture.height
    assert bottom - top > right - left > 5
    assert left > 900


def test_w1_a_picture_is_shown_and_never_enlarged(api: TestClient, store: Store) -> None:
    document = store(encode(two_halves("red", "blue"), "PNG"), "png")

    assert draw(api, document).size == (400, 200)
    assert draw(api, document, width=100).size == (100, 50)
    assert draw(api, document, q="red").getpixel((10, 10)) == (255, 0, 0)


def test_w1_a_photograph_stands_upright(api: TestClient, store: Store) -> None:
    turned = Image.Exif()
    turned[0x0112] = 6
    document = store(encode(two_halves("red", "blue", (4000, 2000)), "JPEG", exif=turned), "jpg")

    picture = draw(api, document, width=500)

    assert picture.size == (500, 1000)
    assert picture.getpixel((250, 50)) == pytest.approx((254, 0, 0), abs=3)
    assert picture.getpixel((250, 950)) == pytest.approx((0, 0, 254), abs=3)


def test_w1_what_is_transparent_is_shown_on_white(api: TestClient, store: Store) -> None:
    document = store(encode(Image.new("RGBA", (200, 200), (0, 0, 0, 0)), "WEBP", lossless=True), "webp")

    assert draw(api, document).getpixel((100, 100)) == (255, 255, 255)


def test_w1_a_tiff_is_shown_page_by_page(api: TestClient, store: Store) -> None:
    pages = [Image.new("RGB", (200, 100), colour) for colour in ("red", "lime", "blue")]
    document = store(encode(pages[0], "TIFF", save_all=True, append_images=pages[1:]), "tiff")

    assert draw(api, document, 2).getpixel((100, 50)) == (0, 255, 0)
    assert draw(api, document, 3).getpixel((100, 50)) == (0, 0, 255)
    assert assert_problem(api.get(url(document, 4)), 404, "not_found")["pages"] == 3


def test_w1_a_drawing_is_drawn_as_wide_as_asked_for(api: TestClient, store: Store) -> None:
    picture = draw(api, store(SVG, "svg"), width=800)

    assert picture.size == (800, 400)
    assert (picture.getpixel((200, 200)), picture.getpixel((600, 200))) == ((255, 0, 0), (255, 255, 255))


def test_w1_a_page_that_is_not_there_is_told_with_how_many_there_are(api: TestClient, pdf: int) -> None:
    problem = assert_problem(api.get(url(pdf, 3)), 404, "not_found")

    assert problem["pages"] == 2
    assert "2 pages" in problem["detail"]


def test_w1_what_has_no_pages_says_so(api: TestClient, add_note: AddDocument, store: Store) -> None:
    for document in (add_note("A note.")["id"], store(b"# A heading", "md")):
        problem = assert_problem(api.get(url(document)), 404, "not_found")
        assert "Only PDF files and pictures have pages to show" in problem["detail"]
    assert_problem(api.get(url(4711)), 404, "document_not_found")


@pytest.mark.parametrize(
    ("content", "format", "code"),
    [
        (b"%PDF-1.7 and then nothing", "pdf", "corrupt_file"),
        ((SAMPLES / "pdf/secret-aes256-pikepdf.pdf").read_bytes(), "pdf", "encrypted_file"),
        (b"\x89PNG\r\n\x1a\n", "png", "corrupt_file"),
        (b"<svg", "svg", "corrupt_file"),
        (encode(Image.new("1", (60_000, 2_000)), "PNG"), "png", "extraction_limit"),
    ],
)
def test_w1_a_page_that_cannot_be_drawn_says_why(
    api: TestClient, store: Store, content: bytes, format: str, code: str
) -> None:
    """I5"""
    problem = assert_problem(api.get(url(store(content, format))), 422, code)

    assert "The original can still be downloaded." in problem["detail"]


def test_w1_a_page_without_its_original_says_so(api: TestClient, engine: Engine, pdf: int) -> None:
    for path in Path(engine.options.data_dir / "originals").glob("??/*"):
        path.unlink()

    assert "no longer there" in assert_problem(api.get(url(pdf)), 404, "not_found")["detail"]


@pytest.mark.parametrize(
    ("box", "size"),
    [(b"0 0 1000000 1000000", (2000, 2000)), (b"0 0 10 1000000", (1, 4000)), (b"0 0 1000000 10", (2000, 1))],
)
def test_w1_a_page_of_any_size_is_drawn_small(api: TestClient, store: Store, box: bytes, size: tuple[int, int]) -> None:
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [%s] /Contents 4 0 R /Resources 5 0 R >>" % box
    document = store(write_pdf(one_page(page=page)), "pdf")

    assert draw(api, document, width=2000, q="word").size == size


def test_w1_a_browser_that_has_the_picture_is_not_sent_it_again(api: TestClient, pdf: int) -> None:
    first = api.get(url(pdf))
    again = api.get(url(pdf), headers={"If-None-Match": f'"other", W/{first.headers["etag"]}'})
    asked: list[dict[str, Any]] = [{"width": 500}, {"q": "ice"}, {"q": "ice", "complete_last_word": True}]
    others = [api.get(url(pdf), params=parameters).headers["etag"] for parameters in asked]

    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    # It may be kept, but another file may have come in its place.
    assert first.headers["cache-control"] == "no-store"
    assert len({first.headers["etag"], api.get(url(pdf, 2)).headers["etag"], *others}) == 5


@pytest.mark.parametrize("parameters", [{"width": 99}, {"width": 2001}, {"q": "a" * 10_001}, {"q": "\0"}, {"page": 1}])
def test_e2_what_cannot_be_asked_for_is_refused(api: TestClient, pdf: int, parameters: Json) -> None:
    assert_problem(api.get(url(pdf), params=parameters), 422, "invalid_request")


@pytest.mark.parametrize("number", ["0", "-1", "1000001", "first", "1.5"])
def test_e2_a_page_is_asked_for_by_its_number(api: TestClient, pdf: int, number: str) -> None:
    assert_problem(api.get(f"{V1}/documents/{pdf}/pages/{number}.png"), 422, "invalid_request")


def test_e1_a_reading_key_is_enough_and_none_is_too_little(open_api: Callable[[Access], TestClient], pdf: int) -> None:
    api = open_api(replace(OPEN, writing_keys=("write",), reading_keys=("read",)))

    assert api.get(url(pdf), headers={"Authorization": "Bearer read"}).status_code == 200
    assert_problem(api.get(url(pdf)), 401, "unauthorized")


def test_a_page_is_not_drawn_for_somebody_who_has_gone(api: TestClient, pdf: int) -> None:
    said: list[Message] = []

    async def ask() -> None:
        scope = {
            "type": "http",
            "method": "GET",
            "path": url(pdf),
            "query_string": b"",
            "headers": [(b"host", api.base_url.host.encode())],
        }

        async def receive() -> Message:
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            said.append(message)

        await api.app(scope, receive, send)

    anyio.run(ask)

    assert said[0]["status"] == 400


def test_a_document_that_came_without_its_original_has_no_pages(api: TestClient, engine: Engine) -> None:
    new = replace(file("text", format="pdf"), original=None)
    document = add(engine.store, new, index("text", model=engine.embedder.model.fingerprint))

    assert_problem(api.get(url(document.id)), 404, "not_found")
