"""Picture files: what they tell of themselves, and the pictures in them."""

import random
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from tests.reading import SAMPLES, list_parts, list_sections, read_sample
from tests.written_pictures import png_that_claims, tiff

from kb.engine.errors import Unreadable
from kb.engine.ingestion.extraction.extracted import Extracted, Picture
from kb.engine.ingestion.extraction.readers.pictures.camera import read_shot, render_time
from kb.engine.ingestion.extraction.readers.pictures.colours import name_colours
from kb.engine.ingestion.extraction.readers.pictures.frames import open_pictures
from kb.engine.ingestion.extraction.readers.pictures.picture import read

PAGE = {256: (4, 1), 257: (4, 1), 258: (3, 8), 259: (3, 1), 262: (3, 1), 273: (4, 8), 278: (4, 1), 279: (4, 1)}
"""Tags, types and values: one grey pixel."""
GRADIENT = Image.linear_gradient("L").resize((300, 200))


def sample(name: str) -> Extracted:
    return read(SAMPLES / name)


def text_of(extracted: Extracted) -> str:
    return "\n".join(section.text for part in list_sections(extracted) for section in part)


def saved(folder: Path, picture: Image.Image, format: str, **options: Any) -> Path:
    path = folder / "picture"
    picture.save(path, format, **options)
    return path


def exif(tags: dict[int, Any], details: dict[int, Any] | None = None, gps: dict[int, Any] | None = None) -> Image.Exif:
    made = Image.Exif()
    made.update(tags)
    made.get_ifd(0x8769).update(details or {})
    made.get_ifd(0x8825).update(gps or {})
    read_back = Image.Exif()
    read_back.load(made.tobytes())
    return read_back


def test_a_photograph_tells_when_where_and_how_it_was_taken() -> None:
    """I1"""
    photograph = sample("jpg/camera.jpg")

    assert photograph.title == "Gate at dawn"
    assert photograph.processing_method == "image_analysis"
    assert photograph.metadata == {
        "width": 600,
        "height": 240,
        "taken": "2024-05-01T10:31:07+02:00",
        "camera": "Canon EOS R5",
        "position": "54.32330, -10.13940",
        "colours": ["dark blue"],
        "subject": "The gate, seen from the pier Das grüne Tor am Hafen",
        "keywords": "gate, morning, harbour",
        "author": "Ida Sund",
    }


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("jpg/camera.jpg", ["Harbour gate", "opens at six"]),
        ("png/transparent.png", ["Tide table", "low water 04:12"]),
        ("png/deep.png", ["Sixteen bits deep"]),
        ("tiff/inks.tiff", ["Printed in four inks"]),
        ("webp/sign.webp", ["Chandlery", "rope and tar"]),
    ],
)
def test_the_text_in_a_picture_comes_before_what_is_known_of_it(name: str, lines: list[str]) -> None:
    """I1, I3"""
    document = read_sample(name)

    written, known = document.sections
    assert written.text.splitlines() == lines
    assert " picture, " in known.text
    assert document.found["ocr_pages"] == ["1"]


def test_each_page_of_a_tiff_is_read() -> None:
    """I2, I3"""
    document = read_sample("tiff/log.tiff")

    assert [(part[0].text, part[0].page_num) for part in document.parts] == [
        ("First page of the log", 1),
        ("Second page of the log", 2),
        ("Third page of the log", 3),
    ]


def test_what_is_known_of_a_photograph_is_said_in_plain_words() -> None:
    """I1"""
    assert text_of(sample("jpg/camera.jpg")).split("\n") == [
        "JPEG picture, 600 x 240 pixels, taken on 1 May 2024 at 10:31 with Canon EOS R5 at 54.32330, -10.13940. "
        "Mostly dark blue.",
        "Title: Gate at dawn",
        "Description: The gate, seen from the pier",
        "Das grüne Tor am Hafen",
        "Comment: seen from the pier: früh",
        "Keywords: gate, morning, harbour",
        "Author: Ida Sund",
    ]


def test_a_picture_without_a_word_still_makes_a_text() -> None:
    """I1"""
    meadow = sample("png/meadow.png")

    assert meadow.title == "Meadow"
    assert text_of(meadow) == (
        "PNG picture, 320 x 200 pixels. Mostly light blue and green.\n"
        "Title: Meadow\nComment: No words in it\nAuthor: Ole Brand"
    )


def test_a_picture_that_says_nothing_of_itself_is_described_by_what_is_seen(tmp_path: Path) -> None:
    """I1"""
    plain = read(saved(tmp_path, Image.new("RGB", (30, 20), "white"), "WEBP"))

    assert plain.title is None
    assert plain.metadata == {"width": 30, "height": 20, "colours": ["white"]}
    assert text_of(plain) == "WEBP picture, 30 x 20 pixels. Mostly white."


def test_a_sign_by_another_program_tells_its_camera_and_description() -> None:
    """I1"""
    sign = sample("webp/sign.webp")

    assert sign.metadata["camera"] == "Google Pixel 8"
    assert sign.metadata["subject"] == "The sign over the door"
    assert sign.metadata["colours"] == ["beige"]


def test_the_pages_of_a_tiff_are_its_pictures_and_its_small_copies_are_not() -> None:
    """I2"""
    log = sample("tiff/log.tiff")

    pictures = [item for part in list_parts(log) for item in part if isinstance(item, Picture)]
    assert [(picture.name, picture.page_num, picture.is_page) for picture in pictures] == [
        ("1", 1, True),
        ("3", 2, True),
        ("4", 3, True),
    ]
    assert len(log.parts) == log.metadata["pages"] == 3
    assert log.unit == "page"
    assert text_of(log) == "TIFF picture of 3 pages, 640 x 200 pixels."


def test_each_page_of_a_tiff_is_loaded_by_its_name() -> None:
    """I1"""
    load = open_pictures(SAMPLES / "tiff/log.tiff")

    loaded = [load(name) for name in ("4", "1", "3", "1")]
    assert {page.size for page in loaded} == {(640, 200)}
    assert loaded[1].tobytes() == loaded[3].tobytes()
    assert len({page.tobytes() for page in loaded}) == 3


@pytest.mark.parametrize("format", ["PNG", "WEBP"])
def test_of_what_moves_the_first_picture_is_taken(tmp_path: Path, format: str) -> None:
    colours = [Image.new("RGB", (30, 20), colour) for colour in ("red", "green", "blue")]

    path = saved(tmp_path, colours[0], format, save_all=True, append_images=colours[1:])

    assert len(read(path).parts) == 1
    assert name_colours(open_pictures(path)("1")) == ["red"]


def test_two_pictures_in_one_jpeg_are_one(tmp_path: Path) -> None:
    """I1: as telephones write them"""
    path = saved(tmp_path, GRADIENT, "MPO", save_all=True, append_images=[GRADIENT])

    assert text_of(read(path)).startswith("JPEG picture, 300 x 200 pixels.")
    assert len(read(path).parts) == 1


@pytest.mark.parametrize("format", ["JPEG", "PNG", "TIFF", "WEBP"])
def test_the_size_is_that_of_the_upright_picture(tmp_path: Path, format: str) -> None:
    path = saved(tmp_path, GRADIENT, format, exif=exif({0x0112: 6}))

    assert (read(path).metadata["width"], read(path).metadata["height"]) == (200, 300)
    assert open_pictures(path)("1").size == (200, 300)


@pytest.mark.parametrize(
    ("tags", "camera"),
    [
        ({0x010F: "Canon", 0x0110: "Canon EOS R5"}, "Canon EOS R5"),
        ({0x010F: "NIKON CORPORATION", 0x0110: "NIKON D750"}, "NIKON D750"),
        ({0x010F: "Apple", 0x0110: "iPhone 15"}, "Apple iPhone 15"),
        ({0x010F: " samsung\0", 0x0110: ""}, "samsung"),
        ({0x0110: "Perfection\n V600"}, "Perfection V600"),
        ({0x010F: "\0\0", 0x0110: " "}, None),
        ({}, None),
    ],
)
def test_a_camera_is_called_by_its_name_and_its_maker_once(tags: dict[int, str], camera: str | None) -> None:
    assert read_shot(exif(tags)).camera == camera


@pytest.mark.parametrize(
    ("told", "offset", "taken"),
    [
        ("2024:05:01 10:31:07", "+02:00", "2024-05-01T10:31:07+02:00"),
        ("2024:05:01 10:31:07", "+00:00", "2024-05-01T10:31:07Z"),
        ("2024:05:01 10:31:07", None, "2024-05-01"),
        ("0000:00:00 00:00:00", None, None),
        ("    :  :     :  :  ", None, None),
        ("2024:05:01 10:31:07", "soon", None),
        ("yesterday", None, None),
    ],
)
def test_the_time_it_was_taken_keeps_its_zone(told: str, offset: str | None, taken: str | None) -> None:
    shot = read_shot(exif({}, {0x9003: told} | ({0x9011: offset} if offset else {})))

    assert (shot.taken and render_time(shot.taken)) == taken
    assert shot.taken is None or isinstance(shot.taken, datetime)


@pytest.mark.parametrize(
    ("gps", "position"),
    [
        ({1: "N", 2: (54.0, 19.0, 23.88), 3: "E", 4: (10.0, 8.0, 21.84)}, "54.32330, 10.13940"),
        ({1: "S", 2: (33.0, 51.5, 0.0), 3: "W", 4: (70.0, 0.0, 0.0)}, "-33.85833, -70.00000"),
        ({1: "N", 2: (0.0, 0.0, 0.0), 3: "E", 4: (0.0, 0.0, 0.0)}, None),
        ({1: "N", 2: (95.0, 0.0, 0.0), 3: "E", 4: (10.0, 0.0, 0.0)}, None),
        ({1: "N", 2: (54.0, 19.0), 3: "E", 4: (10.0, 8.0, 21.84)}, None),
        ({1: "N", 2: (54.0, 19.0, 23.88)}, None),
        ({}, None),
    ],
)
def test_a_position_is_given_in_degrees_if_it_is_on_earth(gps: dict[int, Any], position: str | None) -> None:
    assert read_shot(exif({}, gps=gps)).position == position


@pytest.mark.parametrize(
    ("tags", "told"),
    [
        ({0x9C9B: "Am Kai\0".encode("utf-16-le")}, "Title: Am Kai"),
        ({0x9C9E: "rope;tar\0".encode("utf-16-le")}, "Keywords: rope;tar"),
        ({0x8298: "(c) Ida Sund"}, "Copyright: (c) Ida Sund"),
    ],
)
def test_what_was_written_into_the_tags_is_told(tmp_path: Path, tags: dict[int, Any], told: str) -> None:
    assert text_of(read(saved(tmp_path, GRADIENT, "JPEG", exif=exif(tags)))).endswith(told)


@pytest.mark.parametrize(
    ("comment", "told"),
    [
        (b"ASCII\0\0\0at the quay\0", "Comment: at the quay"),
        (b"UNICODE\0" + "früh".encode("utf-16-le"), "Comment: früh"),
        (b"UNICODE\0" + "früh".encode("utf-16-be"), "Comment: früh"),
        (b"\0\0\0\0\0\0\0\0" + "früh".encode(), "Comment: früh"),
        (b"JIS\0\0\0\0\0whatever", "pixels"),
    ],
)
def test_a_comment_is_read_in_its_alphabet(tmp_path: Path, comment: bytes, told: str) -> None:
    text = text_of(read(saved(tmp_path, GRADIENT, "JPEG", exif=exif({}, {0x9286: comment}))))

    assert told in text.splitlines()[-1]


def test_the_prompt_of_a_generated_picture_is_told_and_its_program_is_not(tmp_path: Path) -> None:
    texts = PngInfo()
    texts.add_text("parameters", "a lighthouse in fog, oil painting")
    texts.add_text("prompt", '{"3": {"class_type": "sampler"}}')

    text = text_of(read(saved(tmp_path, GRADIENT, "PNG", pnginfo=texts)))

    assert text.endswith("Comment: a lighthouse in fog, oil painting")


def test_texts_after_the_pixels_are_read_too(tmp_path: Path) -> None:
    path = saved(tmp_path, GRADIENT, "PNG")
    texts = PngInfo()
    texts.add_itxt("Title", "Fährhaus")
    end = b"\0\0\0\0IEND"
    chunk = BytesIO()
    GRADIENT.save(chunk, "PNG", pnginfo=texts)
    text_chunk = chunk.getvalue()[33 : chunk.getvalue().index(b"IDAT") - 4]
    path.write_bytes(path.read_bytes().replace(end, text_chunk + end))

    assert read(path).title == "Fährhaus"


def test_however_much_a_picture_says_of_itself_it_is_cut_short(tmp_path: Path) -> None:
    """I5"""
    texts = PngInfo()
    for name in ("Title", "Description", "Comment", "Author", "Keywords", "Copyright"):
        texts.add_text(name, "word\x07 " * 100_000)

    extracted = read(saved(tmp_path, GRADIENT, "PNG", pnginfo=texts))

    assert len(text_of(extracted)) < 15_000
    assert "\x07" not in text_of(extracted)
    assert max(len(str(value)) for value in extracted.metadata.values()) <= 500


def test_nobody_guesses_the_colour_of_numbers_that_are_no_bytes() -> None:
    assert "colours" not in sample("png/deep.png").metadata


@pytest.mark.parametrize("name", ["jpg/camera.jpg", "png/meadow.png", "tiff/inks.tiff", "webp/sign.webp"])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.6])
def test_a_picture_that_is_cut_short_says_that_it_is_damaged(tmp_path: Path, name: str, share: float) -> None:
    """I5"""
    content = (SAMPLES / name).read_bytes()
    path = tmp_path / "picture"
    path.write_bytes(content[: int(len(content) * share)])

    with pytest.raises(Unreadable) as refused:
        read(path)

    assert refused.value.code == "corrupt_file"


def test_a_page_of_a_tiff_that_is_damaged_leaves_the_others(tmp_path: Path) -> None:
    """I5"""
    content = bytearray((SAMPLES / "tiff/log.tiff").read_bytes())
    content[8:200] = bytes(192)
    path = tmp_path / "picture"
    path.write_bytes(content)

    assert len(read(path).parts) == 3
    assert open_pictures(path)("4").size == (640, 200)


def test_where_the_pages_of_a_tiff_break_off_one_is_missing(tmp_path: Path) -> None:
    """I5: somebody is told of it"""
    path = tmp_path / "picture"
    path.write_bytes(tiff([PAGE] * 3, last_leads_to=2**32 - 9))

    assert len(read(path).parts) == 4
    assert open_pictures(path)("3").size == (1, 1)
    with pytest.raises(Unreadable):
        open_pictures(path)("4")


def test_a_picture_too_large_says_so_at_once(tmp_path: Path) -> None:
    """I5"""
    path = tmp_path / "picture"
    path.write_bytes(png_that_claims(60_000, 60_000))

    with pytest.raises(Unreadable, match="60,000 x 60,000") as refused:
        read(path)

    assert refused.value.code == "extraction_limit"


@pytest.mark.parametrize(("pages", "is_read"), [(5_000, True), (5_001, False)])
def test_a_file_of_too_many_pages_says_so(tmp_path: Path, pages: int, *, is_read: bool) -> None:
    """I5"""
    path = tmp_path / "picture"
    path.write_bytes(tiff([PAGE] * pages))

    if is_read:
        assert len(read(path).parts) == pages
    else:
        with pytest.raises(Unreadable, match="more than 5,000 pages") as refused:
            read(path)
        assert refused.value.code == "extraction_limit"


@given(st.integers(0, 2**32))
def test_a_picture_whose_tags_are_damaged_is_still_described(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    """I5"""
    with Image.open(SAMPLES / "jpg/camera.jpg") as camera:
        tags, xmp = bytearray(camera.info["exif"]), bytearray(camera.info["xmp"])
    chance = random.Random(seed)  # noqa: S311 - no secret
    for content in (tags, xmp):
        for _ in range(chance.choice([1, 4, 30])):
            content[chance.randrange(6, len(content))] ^= 1 << chance.randrange(8)

    text = text_of(read(saved(tmp_path_factory.getbasetemp(), GRADIENT, "WEBP", exif=bytes(tags), xmp=bytes(xmp))))

    assert text.startswith("WEBP picture, ")
    assert len(text) < 15_000
