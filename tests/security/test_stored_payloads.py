"""What others stored never runs where a browser shows it: no answer is a page, and stored bytes are only downloads."""

import json
import uuid
from collections import Counter
from collections.abc import Iterator

import pytest
from tests.amounts import Tell, amount
from tests.api_calls import Answer
from tests.bundles import pack, portable_file
from tests.security.naughty_strings import MARKUP
from tests.security.open_programs import Base, open_base

from kb.engine.api.app import create_routes
from kb.engine.model.portable import PortableDocument
from kb.engine.ports import Embedder

SCRIPT = "<script>alert(document.domain)</script>"
FILES = {
    "html": f"<!DOCTYPE html><html><body>{SCRIPT}%b</body></html>",
    "svg": f"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'>{SCRIPT}%b</svg>",
    "xml": f"<?xml version='1.0'?><?xml-stylesheet href='javascript:alert(1)'?><x xmlns='http://www.w3.org/1999/xhtml'>{SCRIPT}%b</x>",
    "md": f"# Walrus\n\n{SCRIPT}\n\n[walrus](javascript:alert(1)) %b",
    "pdf": "%%PDF-1.7\n1 0 obj<</Type/Catalog/OpenAction<</S/JavaScript/JS(app.alert(1))>>>>endobj %b",
    "txt": f"{SCRIPT} %b",
}
# As a browser that is shown a page asks, one that is shown a picture, and one that goes on with a download.
WAYS_TO_ASK: tuple[dict[str, str], ...] = (
    {"Accept": "text/html,application/xhtml+xml"},
    {"Accept": "image/svg+xml,image/*"},
    {"Accept": "application/pdf", "Range": "bytes=0-99"},
    {"Accept": "*/*", "Sec-Fetch-Dest": "iframe", "Sec-Fetch-Site": "same-origin"},
)
# None that a browser runs; the first two it shows as what they are, and a picture it draws as nothing else, and does
# not guess from.
HARMLESS_TYPES = frozenset(
    {
        "application/json",
        "application/problem+json",
        "application/octet-stream",
        "image/png",
        "application/x-tar",
        "text/plain",
        "text/event-stream",
    }
)
READING_PATHS = [path for path, operations in create_routes().openapi()["paths"].items() if "get" in operations]


@pytest.fixture(scope="module")
def base(embedder: Embedder) -> Iterator[Base]:
    """Files and notes with scripts in their bytes, texts, names, titles, tags and metadata."""
    payloads = MARKUP[: amount(selection=6, full=len(MARKUP))]
    with open_base(embedder) as base:
        for payload in payloads:
            base.add_note(payload, title=payload, tags=[payload], metadata={payload: payload}, source_path=payload)
        members: list[PortableDocument | bytes] = []
        for number, (format, payload) in enumerate(((one, two) for one in FILES for two in payloads), start=1000):
            content = FILES[format].encode() % payload.encode()
            name = f"{payload}.{format}".replace("/", "").replace("\\", "").replace("\n", "")
            fields = {"format": format, "doc_type": format, "filename": name, "title": payload, "tags": (payload,)}
            document = portable_file(content, number, uuid=uuid.UUID(int=number), vector_model="", **fields)
            members += [content, document]
        imported = base.api.post("/import", content=pack(members), headers={"Content-Type": "application/x-tar"})
        assert imported.json()["documents_added"] == len(members) // 2, imported.text
        yield base


def assert_harmless(answer: Answer, told: object) -> None:
    headers = answer.headers
    media_type = headers["content-type"].partition(";")[0]
    assert answer.status_code < 500, told
    assert media_type in HARMLESS_TYPES, told
    assert headers["x-content-type-options"] == "nosniff", told
    assert "default-src 'none'" in headers["content-security-policy"], told
    assert headers["x-frame-options"] == "DENY", told
    assert "access-control-allow-origin" not in headers, told


def test_e13_no_stored_byte_is_ever_more_than_a_download(base: Base, tell: Tell) -> None:
    """The type tells nothing that a browser would act on, and even one that did would find itself in a sandbox."""
    documents = base.api.get("/documents", params={"limit": 1000}).json()["documents"]
    types = Counter[str]()

    for document in documents:
        for headers in WAYS_TO_ASK:
            answer = base.api.get(f"/documents/{document['id']}/file", headers=headers)
            assert_harmless(answer, document)
            types[answer.headers["content-type"]] += 1
            assert answer.status_code == 200
            assert answer.headers["content-disposition"].startswith("attachment; "), document
            assert "sandbox" in answer.headers["content-security-policy"]
            assert answer.content

    tell(f"{len(documents)} stored payloads, {types.total()} downloads, as {dict(types)}")
    assert set(types) == {"application/octet-stream", "text/plain; charset=utf-8"}


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "POST"])
@pytest.mark.parametrize("path", READING_PATHS)
def test_e1_no_answer_is_a_page_however_it_is_asked_for(base: Base, path: str, method: str) -> None:
    (document, *_) = base.api.get("/documents").json()["documents"]
    address = path.replace("{id}", str(document["id"])).replace("{tag}", "a").replace("{n}", "1")

    for headers in WAYS_TO_ASK:
        answer = base.api.request(method, f"http://testserver{address}", headers=headers)
        assert_harmless(answer, (method, address, headers))


def test_e2_what_a_problem_repeats_of_a_request_is_json(base: Base) -> None:
    """Names of unknown fields and parameters come back, values never; both as what no browser takes for a page."""
    answers = [
        base.api.get("/documents", params={SCRIPT: SCRIPT}, headers=WAYS_TO_ASK[0]),
        base.api.get(f"/documents/{SCRIPT}", headers=WAYS_TO_ASK[0]),
        base.api.get(f"/{SCRIPT}", headers=WAYS_TO_ASK[0]),
        base.api.post("/search", json={"query": "a", SCRIPT: SCRIPT}, headers=WAYS_TO_ASK[0]),
        base.api.post("/jobs", files={"file": (f"{SCRIPT}.exe", b"MZ\x00\x01")}, headers=WAYS_TO_ASK[0]),
        base.api.request(SCRIPT.upper(), "/documents", headers=WAYS_TO_ASK[0]),
    ]

    for answer in answers:
        assert_harmless(answer, answer.text)
        assert answer.headers["content-type"] == "application/problem+json", answer.text
        assert 400 <= answer.status_code < 500
        assert json.loads(answer.text)["status"] == answer.status_code


def test_e8_a_stored_text_cannot_make_up_an_event(base: Base) -> None:
    """Events are lines; a title with line ends of any kind is still one line of one event."""
    forged = "walrus\n\nevent: document_deleted\ndata: {}\n\n\r\rid: 1\u2028\u2029\x85data: x"
    last = base.engine.store.newest_event()

    document_id = base.add_note("The walrus rests.", title=forged, tags=["a\n\nevent: b"])
    answer = base.api.get("/events", headers={"Last-Event-ID": str(last), **WAYS_TO_ASK[0]})

    events = [block.splitlines() for block in answer.text.split("\n\n") if "data:" in block]
    assert_harmless(answer, answer.text)
    assert all([line.partition(":")[0] for line in lines] == ["id", "event", "data"] for lines in events)
    told = [json.loads(data.removeprefix("data: ")) for _, event, data in events if event == "event: document_added"]
    shown = "walrus\n\nevent: document_deleted\ndata: {}\n\n\r\rid: 1data: x"
    assert [(one["id"], one["title"]) for one in told] == [(document_id, shown)]


def test_e20_no_stored_text_gets_into_the_metrics(base: Base) -> None:
    base.api.get(f"/documents/{SCRIPT}")

    metrics = base.api.get("/metrics").text

    assert "<" not in metrics
    assert "alert(" not in metrics
