"""I3 and I5: parts of a document in which pictures stand, of which some cannot be read."""

import zipfile
from pathlib import Path

import pytest
from PIL import Image
from PIL.TiffImagePlugin import STRIPBYTECOUNTS, STRIPOFFSETS, TiffImageFile
from tests.pdf_files import make_text_pdf
from tests.reading import SAMPLES, read_file
from tests.scanned_pages import write_scan

from kb.engine.errors import Unreadable
from kb.engine.ingestion.extraction.reader_process import Limits


def write_damaged_scan(path: Path, words: list[str], *, damaged: set[int]) -> Path:
    """A word a page; of some pages, counted from 1, the pixels are damaged."""
    write_scan(path, [[word] for word in words], compression="tiff_deflate")
    content = bytearray(path.read_bytes())
    with Image.open(path) as scan:
        assert isinstance(scan, TiffImageFile)
        for number in damaged:
            scan.seek(number - 1)
            (start,), (length,) = scan.tag_v2[STRIPOFFSETS], scan.tag_v2[STRIPBYTECOUNTS]
            content[start : start + length] = b"\xff" * length
    path.write_bytes(content)
    return path


def test_pages_whose_pictures_are_damaged_are_named_in_their_order(tmp_path: Path) -> None:
    """I5"""
    path = write_damaged_scan(tmp_path / "scan.tiff", ["heron", "otter", "walrus", "badger", "magpie"], damaged={2, 4})

    document = read_file(path)

    assert document.unread == [2, 4]
    assert [" ".join(section.text for section in part[:1]) for part in document.parts[2:]] == ["walrus", "", "magpie"]
    assert document.found["ocr_pages"] == ["1", "3", "5"]


def test_a_scan_of_which_most_is_damaged_fails(tmp_path: Path) -> None:
    """I5"""
    path = write_damaged_scan(tmp_path / "scan.tiff", ["heron", "otter", "walrus"], damaged={1, 3})

    with pytest.raises(Unreadable) as refused:
        read_file(path)

    assert refused.value.code == "corrupt_file"


def test_one_damaged_picture_does_not_spoil_the_others(tmp_path: Path) -> None:
    """I5"""
    path = tmp_path / "letter.docx"
    with zipfile.ZipFile(SAMPLES / "docx" / "letter.docx") as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            target.writestr(name, content[: len(content) // 2] if name.endswith("image2.png") else content)

    document = read_file(path)

    assert "the crane is broken again" in document.text
    assert (document.unread, document.found["unread_pictures"]) == ([], 1)


def test_what_is_read_ahead_of_a_picture_is_bounded_as_well(tmp_path: Path) -> None:
    """I5"""
    pages = ["The kestrel waits above the quarry. " * 50] * 40
    path = tmp_path / "long.pdf"
    path.write_bytes(make_text_pdf(pages))

    with pytest.raises(Unreadable) as refused:
        read_file(path, Limits(characters=10_000))

    assert refused.value.code == "extraction_limit"
