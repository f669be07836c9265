"""Pictures in DOCX, PPTX and ODT files, loaded by their names and read."""

import subprocess
import sys

import pytest
from tests.reading import SAMPLES, read_sample

from kb.engine.errors import Unreadable
from kb.engine.ingestion.extraction.readers.office.pictures import open_pictures


@pytest.mark.parametrize(
    ("sample", "name", "size"),
    [
        ("docx/pier.docx", "word/media/image3.jpeg", (640, 170)),
        ("pptx/pier.pptx", "ppt/media/image3.png", (520, 390)),
    ],
)
def test_a_picture_is_loaded_by_its_name(sample: str, name: str, size: tuple[int, int]) -> None:
    """I3"""
    assert open_pictures(SAMPLES / sample)(name).size == size


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("word/media/image9.png", "corrupt_file"),
        ("../pier.docx", "corrupt_file"),
        ("word/document.xml", "unsupported_format"),
    ],
)
def test_what_is_no_picture_of_the_document_is_refused(name: str, code: str) -> None:
    """I5"""
    with pytest.raises(Unreadable) as refusal:
        open_pictures(SAMPLES / "docx" / "pier.docx")(name)

    assert refusal.value.code == code


@pytest.mark.parametrize(("reader", "sample"), [("docx", "docx/bienen.docx"), ("pptx", "pptx/river.pptx")])
def test_only_documents_with_pictures_pay_for_them(reader: str, sample: str) -> None:
    script = (
        f"import sys; from pathlib import Path; from kb.engine.ingestion.extraction.readers.office import {reader}; "
        f"list({reader}.read(Path(sys.argv[1])).parts[0]); sys.exit('PIL' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", script, str(SAMPLES / sample)], check=False).returncode == 0


@pytest.mark.parametrize(
    ("sample", "words", "found"),
    [
        ("docx/pier.docx", ["Low water 12:55", "is not allowed"], {"ocr_pictures": 2}),
        ("docx/letter.docx", ["the crane is broken again", "and mended the winch"], {"ocr_pages": ["1-2"]}),
        ("odt/letter.odt", ["the crane is broken again", "and mended the winch"], {"ocr_pages": ["1-2"]}),
        (
            "pptx/pier.pptx",
            ["High water 06:40", "Please send a fitter"],
            {"ocr_pages": ["2-3"], "ocr_pictures": 2},
        ),
    ],
)
def test_the_writing_in_pictures_is_read(sample: str, words: list[str], found: dict[str, object]) -> None:
    """I3"""
    document = read_sample(sample)

    assert [one for one in words if one not in document.text] == []
    assert document.found.pop("ocr_confidence") > 0.9
    assert document.found == found
