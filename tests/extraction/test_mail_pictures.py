"""Pictures in mails: which of them are to be read, and how they are loaded."""

import zipfile
from email.message import EmailMessage
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image
from tests.reading import SAMPLES, list_parts, read_file

from kb.engine.errors import Unreadable
from kb.engine.ingestion.extraction.extracted import Picture
from kb.engine.ingestion.extraction.readers.mail import eml
from kb.engine.ingestion.extraction.readers.mail.pictures import open_pictures
from kb.engine.ingestion.extraction.readers.shared.picture_sizes import MAX_PICTURES


def png(width: int = 400, height: int = 300, shade: int = 255) -> bytes:
    file = BytesIO()
    Image.new("L", (width, height), shade).save(file, "PNG")
    return file.getvalue()


def mail(subject: str = "The crane") -> EmailMessage:
    message = EmailMessage()
    message["Subject"] = subject
    message.set_content("See what it says.")
    return message


def saved(message: EmailMessage, folder: Path) -> Path:
    path = folder / "mail.eml"
    path.write_bytes(message.as_bytes())
    return path


def pictures_in(message: EmailMessage, folder: Path) -> list[Picture]:
    (part,) = list_parts(eml.read(saved(message, folder)))
    return [item for item in part if isinstance(item, Picture)]


def test_a_picture_that_is_attached_stands_under_its_name(tmp_path: Path) -> None:
    """I2, I3"""
    message = mail()
    message.add_attachment(png(), "image", "png", filename="scan.png")

    (picture,) = pictures_in(message, tmp_path)

    assert (picture.heading, picture.page_num, picture.is_page) == ("scan.png", None, False)
    assert eml.read(saved(message, tmp_path)).metadata["attachments"] == ["scan.png"]


def test_a_picture_in_the_text_has_no_name(tmp_path: Path) -> None:
    """I3"""
    message = mail()
    message.add_alternative("<p>See what it says.</p><img src='cid:shot'>", subtype="html")
    page = message.get_payload(1)
    assert isinstance(page, EmailMessage)
    page.add_related(png(), "image", "png", cid="<shot>")

    (picture,) = pictures_in(message, tmp_path)

    assert picture.heading is None


def test_a_picture_that_a_thread_repeats_is_named_once(tmp_path: Path) -> None:
    """I3"""
    forwarded, message = mail("The winch"), mail()
    forwarded.add_attachment(png(), "image", "png", filename="scan.png")
    forwarded.add_attachment(png(shade=9), "image", "png", filename="scan.png")
    message.add_attachment(forwarded)
    message.add_attachment(png(), "image", "png", filename="copy.png")

    found = pictures_in(message, tmp_path)

    assert [picture.heading for picture in found] == ["The winch > scan.png"] * 2
    loaded = [open_pictures(tmp_path / "mail.eml")(picture.name).getpixel((0, 0)) for picture in found]
    assert loaded == [255, 9]


@pytest.mark.parametrize(
    ("content", "subtype"),
    [(png(299, 299), "png"), (png(900, 199), "png"), (b"<svg/>", "svg+xml"), (b"", "png")],
    ids=["small", "flat", "drawing", "empty"],
)
def test_logos_and_what_is_no_picture_of_pixels_are_left_out(tmp_path: Path, content: bytes, subtype: str) -> None:
    """I3"""
    message = mail()
    message.add_attachment(content, "image", subtype, filename="logo")

    assert pictures_in(message, tmp_path) == []


def test_a_mail_has_only_so_many_pictures_read(tmp_path: Path) -> None:
    """I5"""
    message = mail()
    for width in range(400, 405 + MAX_PICTURES):
        message.add_attachment(png(width), "image", "png", filename=f"{width}.png")

    assert len(pictures_in(message, tmp_path)) == MAX_PICTURES


def test_the_writing_in_a_picture_of_a_mail_is_read(tmp_path: Path) -> None:
    """I3"""
    with zipfile.ZipFile(SAMPLES / "docx" / "letter.docx") as document:
        letter = document.read("word/media/image1.png")
    message = mail()
    message.add_attachment(letter, "image", "png", filename="letter.png")

    section = read_file(saved(message, tmp_path)).sections[-1]

    assert section.heading == "letter.png"
    assert "the crane is broken again" in section.text


def test_a_picture_that_the_mail_does_not_hold_is_refused(tmp_path: Path) -> None:
    """I5"""
    with pytest.raises(Unreadable) as refusal:
        open_pictures(saved(mail(), tmp_path))("scan.png")

    assert refusal.value.code == "corrupt_file"
