"""Files of all formats, from the upload to what can be found and read of them."""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from starlette.testclient import TestClient
from tests.api_calls import V1, Json, assert_problem
from tests.pdf_files import make_text_pdf
from tests.reading import SAMPLES

Submit = Callable[..., Json]


@pytest.fixture
def submit(api: TestClient, work_off: Callable[[], None]) -> Submit:
    """Sends the file, does the job, and answers it as it ended."""

    def send(content: bytes | Path, name: str | None = None, **fields: object) -> Json:
        if isinstance(content, Path):
            name = name or content.name
            content = content.read_bytes()
        submitted = api.post(f"{V1}/jobs", files={"file": (name, content)}, data=fields)
        assert submitted.status_code == 202, submitted.text
        work_off()
        job: Json = api.get(f"{V1}/jobs/{submitted.json()['id']}").json()
        return job

    return send


def read_document(api: TestClient, job: Json) -> Json:
    assert job["status"] == "completed", job
    document: Json = api.get(f"{V1}/documents/{job['document_id']}").json()
    return document


@pytest.mark.parametrize(
    ("sample", "format", "title"),
    [
        ("pdf/handbook-libreoffice.pdf", "pdf", "Greenhouse Handbook"),
        ("docx/ferry.docx", "docx", "The ferry rules"),
        ("pptx/lighthouse.pptx", "pptx", "The lighthouse"),
        ("xlsx/tools.xlsx", "xlsx", "Tool lending register"),
        ("odt/ferry.odt", "odt", "The ferry rules"),
        ("epub/pandoc-3.epub", "epub", "Handbook of the Lighthouse"),
        ("json/greenhouse.json", "json", "Greenhouse controller"),
        ("code/ring.c", "code", "ring.c"),
        ("csv/rivers.csv", "csv", "rivers.csv"),
        ("rtf/pyrtf.rtf", "rtf", None),
        ("html/pandoc.html", "html", None),
        ("svg/svgwrite.svg", "svg", None),
        ("eml/git.eml", "eml", None),
    ],
)
def test_i1_i7_each_format_becomes_a_document_under_its_own_title(
    api: TestClient, submit: Submit, sample: str, format: str, title: str | None
) -> None:
    document = read_document(api, submit(SAMPLES / sample))

    assert (document["format"], document["doc_type"]) == (format, format)
    assert document["processing_method"] == "text_extraction"
    assert document["chunks"]
    assert document["title"] == title or (title is None and document["title"] != document["filename"])


def test_i2_a_hit_in_a_workbook_names_its_sheet_and_rows(api: TestClient, submit: Submit) -> None:
    submit(SAMPLES / "xlsx" / "readings.xlsx")

    (hit, *_) = api.post(f"{V1}/search", json={"query": '"S3" "2023-01-11"', "mode": "fts"}).json()["results"]

    assert (hit["page_num"], hit["heading"]) == (1, "Readings > rows 2\u201312")


def test_i2_a_hit_in_a_presentation_names_its_slide(api: TestClient, submit: Submit) -> None:
    submit(SAMPLES / "pptx" / "lighthouse.pptx")

    (hit, *_) = api.post(f"{V1}/search", json={"query": "who thanks the keeper"}).json()["results"]

    assert (hit["page_num"], hit["heading"]) == (3, "Lamp")


@pytest.mark.parametrize(
    ("sample", "code"),
    [
        ("pdf/secret-aes256-pikepdf.pdf", "encrypted_file"),
        ("docx/encrypted.docx", "encrypted_file"),
        ("pptx/encrypted.pptx", "encrypted_file"),
        ("xlsx/locked.xlsx", "encrypted_file"),
        ("odt/encrypted.odt", "encrypted_file"),
    ],
)
def test_i5_what_cannot_be_read_is_a_failed_job_that_says_what_to_do(
    api: TestClient, submit: Submit, sample: str, code: str
) -> None:
    job = submit(SAMPLES / sample)

    assert (job["status"], job["error"]["code"], job["attempts"]) == ("failed", code, 1)
    assert "add" in job["error"]["message"]
    assert api.get(f"{V1}/documents").json()["total"] == 0


def test_i5_a_blank_pdf_has_no_text(submit: Submit) -> None:
    job = submit(make_text_pdf(["", ""]), "blank.pdf")

    assert job["error"]["code"] == "no_text_found"


def test_i3_a_scan_on_which_nothing_is_legible_has_no_text(submit: Submit) -> None:
    scan = BytesIO()
    grain = np.random.default_rng(6).normal(128, 20, (400, 600)).clip(0, 255).astype(np.uint8)
    Image.fromarray(grain).save(scan, "PDF")

    job = submit(scan.getvalue(), "grain.pdf")

    assert (job["status"], job["error"]["code"]) == ("failed", "no_text_found")
    assert "scan it anew" in job["error"]["message"]


@pytest.mark.parametrize(
    ("sample", "format"),
    [("jpg/camera.jpg", "jpg"), ("png/transparent.png", "png"), ("webp/sign.webp", "webp"), ("tiff/log.tiff", "tiff")],
)
def test_i3_a_picture_tells_its_words_and_what_is_known_of_it(
    api: TestClient, submit: Submit, sample: str, format: str
) -> None:
    document = read_document(api, submit(SAMPLES / sample))

    assert (document["format"], document["doc_type"]) == (format, "image")
    assert document["processing_method"] == "image_analysis"
    assert document["metadata"]["ocr_confidence"] > 0.9
    text = "\n".join(chunk["text"] for chunk in document["chunks"])
    assert f"{document['metadata']['width']} x {document['metadata']['height']} pixels" in text


def test_i3_a_picture_without_a_word_is_a_document_too(api: TestClient, submit: Submit) -> None:
    document = read_document(api, submit(SAMPLES / "png" / "meadow.png"))

    assert document["chunk_count"] == 1
    assert "ocr_confidence" not in document["metadata"]


def test_i3_a_drawing_whose_letters_are_shapes_is_looked_at(api: TestClient, submit: Submit) -> None:
    document = read_document(api, submit(SAMPLES / "svg" / "glyphs.svg"))

    assert (document["format"], document["doc_type"], document["processing_method"]) == ("svg", "svg", "ocr")


def test_i3_ocr_is_forced_upon_a_page_that_has_text(api: TestClient, submit: Submit) -> None:
    pdf = make_text_pdf(["The kestrel waits above the quarry."])

    as_text = read_document(api, submit(pdf, "kestrel.pdf"))
    job = submit(pdf, "kestrel.pdf", force_ocr="true")
    recognised = read_document(api, job)
    again = submit(pdf, "kestrel.pdf", force_ocr="true")

    assert as_text["processing_method"] == "text_extraction"
    assert (job["duplicate"], recognised["id"], again["duplicate"]) == (False, as_text["id"], True)
    assert recognised["processing_method"] == "ocr"
    assert (recognised["metadata"]["ocr_pages"], recognised["metadata"]["ocr_forced"]) == (["1"], True)
    assert recognised["chunks"][0]["text"] == as_text["chunks"][0]["text"]


def test_i3_a_page_that_is_a_picture_is_read_among_pages_of_text(api: TestClient, submit: Submit) -> None:
    document = read_document(api, submit(SAMPLES / "pdf" / "mixed-qpdf.pdf"))

    assert document["processing_method"] == "ocr"
    assert document["metadata"]["ocr_pages"] == ["1", "3"]


def test_i5_pages_that_cannot_be_read_are_named(api: TestClient, submit: Submit) -> None:
    whole = make_text_pdf(["The first page is whole.", "The second page breaks.", "The third page is whole."])
    broken = whole.replace(b"/Kids [4 0 R 6 0 R 8 0 R]", b"/Kids [4 0 R 0 0 R 8 0 R]")

    document = read_document(api, submit(broken, "broken.pdf"))

    assert document["metadata"] == {"pages": 3, "unread_pages": [2]}
    assert [chunk["page_num"] for chunk in document["chunks"]] == [1, 3]


def test_i5_a_document_of_which_most_is_missing_fails(api: TestClient, submit: Submit) -> None:
    whole = make_text_pdf(["The first page is whole.", "The second page breaks.", "The third page breaks."])
    broken = whole.replace(b"/Kids [4 0 R 6 0 R 8 0 R]", b"/Kids [4 0 R 0 0 R 0 0 R]")

    job = submit(broken, "broken.pdf")

    assert (job["status"], job["error"]["code"]) == ("failed", "corrupt_file")
    assert api.get(f"{V1}/documents").json()["total"] == 0


def test_i7_what_the_submitter_says_wins_over_what_the_document_says(api: TestClient, submit: Submit) -> None:
    job = submit(SAMPLES / "docx" / "ferry.docx", title="Fares", metadata='{"author": "me", "mine": 1}', tags=["ferry"])

    document = read_document(api, job)

    assert document["title"] == "Fares"
    assert document["metadata"] == {
        "author": "me",
        "mine": 1,
        "created": "2024-02-01T09:00:00Z",
        "keywords": "ferry tickets",
        "language": "en-US",
        "subject": "Crossings",
    }


def test_e25_the_same_bytes_under_another_name_are_the_same_document(api: TestClient, submit: Submit) -> None:
    first = submit(SAMPLES / "docx" / "kiln.docx", tags=["a"])
    again = submit(SAMPLES / "docx" / "kiln.docx", "renamed.docx", tags=["b"])

    document = read_document(api, again)

    assert (again["duplicate"], again["document_id"]) == (True, first["document_id"])
    assert (document["tags"], document["filename"]) == (["a", "b"], "kiln.docx")


def test_e25_new_content_of_another_format_takes_the_place_of_the_old(api: TestClient, submit: Submit) -> None:
    first = submit(SAMPLES / "docx" / "kiln.docx", source_path="/shelf/kiln", tags=["a"])
    second = submit(make_text_pdf(["The kiln is cold."]), "kiln.pdf", source_path="/shelf/kiln", tags=["b"])

    document = read_document(api, second)

    assert second["document_id"] == first["document_id"]
    assert (document["format"], document["doc_type"], document["tags"]) == ("pdf", "pdf", ["a", "b"])
    assert document["updated_at"] is not None
    assert [chunk["text"] for chunk in document["chunks"]] == ["The kiln is cold."]


def test_i1_what_is_not_supported_is_refused_at_once_with_what_is(api: TestClient) -> None:
    refused = api.post(f"{V1}/jobs", files={"file": ("a.gif", b"GIF89a" + bytes(20))})

    problem = assert_problem(refused, 415, "unsupported_format")
    assert {"pdf", "docx", "pptx", "xlsx", "html", "svg", "eml", "epub", "odt", "rtf", "csv", "json", "code"} <= set(
        problem["supported_formats"]
    )


@pytest.mark.parametrize(
    ("sample", "force_ocr"), [("pptx/lighthouse.pptx", False), ("pdf/letter-ghostscript.pdf", True)]
)
def test_a_reindex_reads_the_originals_again_in_the_same_way(
    api: TestClient, submit: Submit, work_off: Callable[[], None], sample: str, *, force_ocr: bool
) -> None:
    before = read_document(api, submit(SAMPLES / sample, force_ocr=str(force_ocr).lower()))

    assert api.post(f"{V1}/reindex").status_code == 202
    work_off()

    after = api.get(f"{V1}/documents/{before['id']}").json()
    assert [(chunk["text"], chunk["page_num"], chunk["heading"]) for chunk in after["chunks"]] == [
        (chunk["text"], chunk["page_num"], chunk["heading"]) for chunk in before["chunks"]
    ]
