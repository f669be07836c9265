"""EPUB books of several programs, read as the engine reads them."""

import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.reading import SAMPLES, ReadDocument, read_file, read_sample

from kb.engine.errors import Unreadable

ENCRYPTED = """<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
<EncryptedData xmlns="http://www.w3.org/2001/04/xmlenc#"><CipherData><CipherReference URI="{}"/></CipherData>
</EncryptedData></encryption>"""


def changed(folder: Path, sample: str, members: Mapping[str, str | None]) -> Path:
    """A copy of the sample with some of its members replaced, added, or left out."""
    path = folder / "book.epub"
    with zipfile.ZipFile(SAMPLES / sample) as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            if name not in members:
                target.writestr(name, source.read(name))
        for name, content in members.items():
            if content is not None:
                target.writestr(name, content)
    return path


def headings(document: ReadDocument) -> list[list[str | None]]:
    return [[section.heading for section in part] for part in document.parts]


def test_a_book_is_read_in_its_order_under_the_titles_of_its_contents() -> None:
    """I1, I2, I7."""
    document = read_sample("epub/ebooklib.epub")

    assert document.format == "epub"
    assert document.title == "The Salt Road"
    assert headings(document) == [
        ["The Salt Road"],
        ["Lowland > The coast", "Lowland > The coast"],
        ["Lowland > The inn", "Lowland > The inn > What they ate"],
        ["Upland > Über den Paß > 2"],
    ]
    assert document.parts[2][1].text == "What they ate\n\nBarley and dried cod."
    modified = document.metadata.pop("modified")
    assert modified.endswith("Z")
    assert document.metadata == {
        "author": "Mira Tal; Oke Sand",
        "language": "en",
        "publisher": "Dike Press",
        "created": "2021-06-30",
        "subject": "A walk from the coast to the mountains.",
        "keywords": "walking, salt",
    }


def test_the_pages_of_the_printed_edition_are_told_where_the_book_tells_them() -> None:
    """I2."""
    pages = [(section.page_num, section.text) for section in read_sample("epub/ebooklib.epub").parts[1]]

    assert pages == [
        (None, "The road begins behind the dunes, where the pans lie.\n\nSalt is raked"),
        (3, "before the first frost."),
    ]


def test_the_list_of_pages_is_not_text() -> None:
    assert "Pages" not in read_sample("epub/ebooklib.epub").text


def test_sub_headings_in_files_of_their_own_stand_under_their_chapter() -> None:
    """I2."""
    document = read_sample("epub/pandoc-3.epub")

    assert headings(document)[2:] == [["The lamp"], ["The lamp > Oil"], ["The lamp > Log"], ["The harbour"]]
    assert "by Marten Oss. 1" in document.text
    assert "1. The invoice is kept in the blue chest." in document.text


def test_a_book_of_the_old_version_is_read() -> None:
    """I1."""
    document = read_sample("epub/pandoc-2.epub")

    assert document.title == "Handbook of the Lighthouse"
    assert headings(document) == [
        ["Handbook of the Lighthouse"],
        ["The lamp", "The lamp > Oil", "The lamp > Log"],
        ["The harbour"],
    ]
    assert "January | 310 | long nights\nJune | 95\nOctober | 240 | fog" in document.text


def test_chapters_without_headings_are_called_what_the_contents_call_them() -> None:
    """I2."""
    document = read_sample("epub/libreoffice.epub")

    assert [{section.heading for section in part} for part in document.parts] == [
        {"Section 1"},
        {"The lamp"},
        {"The harbour"},
    ]
    assert "never with a knife" in document.text


def test_a_chapter_that_the_contents_pass_over_is_called_by_its_own_title(tmp_path: Path) -> None:
    path = changed(tmp_path, "epub/ebooklib.epub", {"EPUB/nav.xhtml": "<html><nav>", "EPUB/toc.ncx": None})

    document = read_file(path)

    assert headings(document)[1:] == [
        ["The coast", "The coast"],
        ["The inn", "The inn > What they ate"],
        ["2"],
    ]


def test_a_book_locked_by_its_shop_is_told_apart(tmp_path: Path) -> None:
    """I5."""
    members = {"META-INF/encryption.xml": ENCRYPTED.format("EPUB/text/first%20part.xhtml")}

    with pytest.raises(Unreadable) as refused:
        read_file(changed(tmp_path, "epub/ebooklib.epub", members))

    assert refused.value.code == "encrypted_file"
    assert "DRM" in refused.value.message


def test_a_book_whose_fonts_are_encrypted_is_read(tmp_path: Path) -> None:
    members = {"META-INF/encryption.xml": ENCRYPTED.format("EPUB/fonts/serif.otf")}

    assert "Barley and dried cod." in read_file(changed(tmp_path, "epub/ebooklib.epub", members)).text


def test_a_missing_chapter_is_told_and_the_others_are_read(tmp_path: Path) -> None:
    """I5."""
    document = read_file(changed(tmp_path, "epub/ebooklib.epub", {"EPUB/text/inn.xhtml": None}))

    assert document.unread == [3]
    assert "The pass is closed" in document.text


@pytest.mark.parametrize("missing", ["META-INF/container.xml", "EPUB/toc.ncx", "EPUB/nav.xhtml"])
def test_a_book_is_read_without_what_only_helps_to_find_its_text(tmp_path: Path, missing: str) -> None:
    document = read_file(changed(tmp_path, "epub/ebooklib.epub", {missing: None}))

    assert "The pass is closed" in document.text


def test_a_book_that_names_no_files_is_damaged(tmp_path: Path) -> None:
    """I5."""
    with pytest.raises(Unreadable) as refused:
        read_file(changed(tmp_path, "epub/ebooklib.epub", {"META-INF/container.xml": None, "EPUB/content.opf": None}))

    assert refused.value.code == "corrupt_file"


@pytest.mark.parametrize("link", ["../../../../etc/passwd", "/etc/passwd", "file:///etc/passwd"])
def test_nothing_outside_the_book_is_read(tmp_path: Path, link: str) -> None:
    package = f"""<package><manifest><item id="a" href="{link}" media-type="application/xhtml+xml"/></manifest>
    <spine><itemref idref="a"/></spine></package>"""

    with pytest.raises(Unreadable) as refused:
        read_file(changed(tmp_path, "epub/ebooklib.epub", {"EPUB/content.opf": package}))

    assert refused.value.code == "corrupt_file"


def test_a_chapter_named_many_times_is_read_once(tmp_path: Path) -> None:
    package = f"""<package><manifest><item id="a" href="text/inn.xhtml" media-type="application/xhtml+xml"/></manifest>
    <spine>{'<itemref idref="a"/>' * 1_000}</spine></package>"""

    assert len(read_file(changed(tmp_path, "epub/ebooklib.epub", {"EPUB/content.opf": package})).parts) == 1
