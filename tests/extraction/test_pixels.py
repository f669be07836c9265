"""Pictures being decoded: every kind comes out the same way, and none costs more than it may."""

import struct
import zlib
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.written_pictures import jpeg_that_claims, png, png_that_claims, webp_that_claims

from kb.engine.errors import Unreadable
from kb.engine.ingestion.extraction.readers.shared.pixels import PILLOW_FORMATS, decode

DARK_AND_LIGHT: dict[str, tuple[Any, Any]] = {
    "1": (0, 1),
    "L": (20, 230),
    "I;16": (9_000, 11_000),
    "I": (9_000, 1_000_000),
    "F": (-0.5, 0.5),
    "LA": ((20, 255), (230, 255)),
    "RGB": ((20, 20, 20), (230, 230, 230)),
    "RGBA": ((20, 20, 20, 255), (230, 230, 230, 255)),
    "CMYK": ((0, 0, 0, 235), (0, 0, 0, 25)),
    "YCbCr": ((20, 128, 128), (230, 128, 128)),
    "LAB": ((20, 128, 128), (230, 128, 128)),
}


def half_and_half(mode: str, width: int = 40, height: int = 20) -> Image.Image:
    """The right half is light."""
    dark, light = DARK_AND_LIGHT[mode]
    picture = Image.new(mode, (width, height), dark)
    picture.paste(light, (width // 2, 0, width, height))
    return picture


def save(picture: Image.Image, format: str, **options: object) -> BytesIO:
    file = BytesIO()
    picture.save(file, format, **options)
    return file


def brightness(picture: Image.Image, place: tuple[int, int]) -> int:
    column, row = place
    return picture.convert("L").tobytes()[row * picture.width + column]


@pytest.mark.parametrize(
    ("mode", "format", "options"),
    [
        *((mode, "TIFF", {}) for mode in DARK_AND_LIGHT),
        *((mode, "TIFF", {"compression": "tiff_lzw"}) for mode in DARK_AND_LIGHT),
        *((mode, "PNG", {}) for mode in ("1", "L", "I;16", "LA", "RGB", "RGBA")),
        *((mode, "JPEG", {}) for mode in ("L", "RGB", "CMYK", "YCbCr")),
        *((mode, "WEBP", {}) for mode in ("L", "RGB", "RGBA")),
        ("1", "TIFF", {"compression": "group4"}),
        ("RGB", "TIFF", {"compression": "jpeg"}),
        ("RGB", "JPEG", {"progressive": True}),
        ("RGB", "WEBP", {"lossless": True}),
        ("RGB", "GIF", {}),
        ("RGB", "BMP", {}),
    ],
)
def test_every_kind_of_pixels_comes_out_dark_and_light(mode: str, format: str, options: dict[str, object]) -> None:
    """I1"""
    decoded = decode(save(half_and_half(mode), format, **options))

    assert decoded.mode in ("L", "RGB", "RGBA")
    assert decoded.size == (40, 20)
    assert brightness(decoded, (5, 10)) < 60
    assert brightness(decoded, (35, 10)) > 195


@pytest.mark.parametrize("has_transparency", [False, True])
def test_a_palette_is_looked_up_and_its_transparency_kept(*, has_transparency: bool) -> None:
    """I1"""
    picture = half_and_half("RGB").convert("P", palette=Image.Palette.ADAPTIVE, colors=2)
    options = {"transparency": picture.getpixel((5, 10))} if has_transparency else {}

    decoded = decode(save(picture, "PNG", **options))

    assert decoded.mode == ("RGBA" if has_transparency else "RGB")
    assert brightness(decoded, (35, 10)) > 195
    if has_transparency:
        assert decoded.getchannel("A").getextrema() == (0, 255)
        assert decoded.getchannel("A").getpixel((5, 10)) == 0


# For each way to lie, where the light half is then found: left, right, above or below, as (x, y).
@pytest.mark.parametrize(
    ("orientation", "light", "dark"),
    [
        (1, (39, 10), (0, 10)),
        (2, (0, 10), (39, 10)),
        (3, (0, 10), (39, 10)),
        (4, (39, 10), (0, 10)),
        (5, (10, 39), (10, 0)),
        (6, (10, 39), (10, 0)),
        (7, (10, 0), (10, 39)),
        (8, (10, 0), (10, 39)),
    ],
)
@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "TIFF", "TIFF tiff_lzw"])
def test_a_picture_is_turned_as_its_camera_says_and_once(
    format: str, orientation: int, light: tuple[int, int], dark: tuple[int, int]
) -> None:
    """I1"""
    tags = Image.Exif()
    tags[0x0112] = orientation
    format, _, compression = format.partition(" ")
    options = {"compression": compression or None} if format == "TIFF" else {}

    decoded = decode(save(half_and_half("RGB"), format, exif=tags, **options))

    assert decoded.size == ((20, 40) if light[0] == 10 else (40, 20))
    assert (brightness(decoded, light) > 195, brightness(decoded, dark) < 60) == (True, True)


@pytest.mark.parametrize(("width", "height"), [(9_000, 6_000), (900, 60_000)])
def test_a_large_picture_is_made_smaller_and_keeps_its_proportions(width: int, height: int) -> None:
    """I5: 54 million pixels, of a scan or a long screenshot"""
    decoded = decode(save(Image.new("1", (width, height), 1), "TIFF", compression="group4"))

    assert decoded.size == (width // 2, height // 2)
    assert brightness(decoded, (0, 0)) == 255


def test_a_large_jpeg_is_decoded_at_less_than_its_size() -> None:
    """I5: 144 million pixels, where others may have 100"""
    decoded = decode(save(Image.new("L", (12_000, 12_000), 200), "JPEG"))

    assert decoded.size == (3_000, 3_000)


@pytest.mark.parametrize(
    "content",
    [
        png_that_claims(60_000, 60_000),
        png_that_claims(2**31 - 1, 1),
        png_that_claims(10_001, 10_000),
        jpeg_that_claims(60_000, 60_000),
        jpeg_that_claims(12_000, 12_000, is_progressive=True),
        webp_that_claims(16_383, 16_383, "VP8 "),
        webp_that_claims(16_383, 16_383, "VP8L"),
        webp_that_claims(60_000, 60_000, "VP8X"),
    ],
)
def test_a_picture_too_large_to_decode_says_so_before_it_is(content: bytes) -> None:
    """I5"""
    with pytest.raises(Unreadable) as refused:
        decode(BytesIO(content))

    assert refused.value.code == "extraction_limit"
    assert "Scale it down" in refused.value.message


def test_what_is_too_large_is_told_with_its_size() -> None:
    """I5"""
    with pytest.raises(Unreadable, match=r"has 60,000 x 60,000 pixels; at most 100 million can be read\."):
        decode(BytesIO(png_that_claims(60_000, 60_000)))


@pytest.mark.parametrize("format", PILLOW_FORMATS)
@pytest.mark.parametrize("share", [0.2, 0.5])
def test_a_picture_cut_short_is_damaged(format: str, share: float) -> None:
    """I5"""
    content = save(Image.effect_noise((200, 200), 80), format).getvalue()

    with pytest.raises(Unreadable) as refused:
        decode(BytesIO(content[: int(len(content) * share)]))

    assert refused.value.code == "corrupt_file"
    assert "save it as PNG or JPEG" in refused.value.message


@pytest.mark.parametrize(
    "content", [b"", b"\x01\0\0\0" + bytes(100), b"\xd7\xcd\xc6\x9a" + bytes(100), b"%!PS-Adobe", b"P6 1 1 255 abc"]
)
def test_what_is_none_of_the_known_kinds_is_refused_as_such(content: bytes) -> None:
    """I5: among them EMF, WMF and PostScript, which documents hold too"""
    with pytest.raises(Unreadable) as refused:
        decode(BytesIO(content))

    assert refused.value.code == "unsupported_format"


def test_a_kind_that_was_not_asked_for_is_not_decoded() -> None:
    with pytest.raises(Unreadable):
        decode(save(half_and_half("RGB"), "BMP"), ("JPEG", "PNG"))


def test_a_file_is_decoded_as_bytes_are(tmp_path: Path) -> None:
    path = tmp_path / "picture"
    path.write_bytes(save(half_and_half("RGB"), "PNG").getvalue())

    assert decode(path).tobytes() == half_and_half("RGB").tobytes()


@pytest.mark.parametrize(
    "tags",
    [
        b"\xff\xff" + b"\x01\x12\0\x03" * 20,
        b"\0\x01\x01\x12\0\x03\0\0\0\x01\0\x09\0\0\0\0\0\0",
        b"\0\x01\x01\x12\0\x02\0\0\0\x02six\0\0\0\0\0",
    ],
)
def test_tags_that_make_no_sense_do_not_hide_the_picture(tags: bytes) -> None:
    """I5"""
    with_tags = save(half_and_half("RGB"), "JPEG", exif=b"Exif\0\0MM\0*\0\0\0\x08" + tags)

    assert decode(with_tags).size == (40, 20)


@pytest.mark.parametrize(("megabytes", "is_read"), [(2, True), (200, False)])
def test_a_text_in_a_png_may_be_long_but_not_endless(megabytes: int, *, is_read: bool) -> None:
    """I5: some keep the source of a drawing there"""
    packer = zlib.compressobj(9)
    packed = b"".join(packer.compress(b"a" * 1_000_000) for _ in range(megabytes)) + packer.flush()
    content = png(struct.pack(">2I5B", 1, 1, 8, 0, 0, 0, 0), b"\0\0", texts=[(b"zTXt", b"source\0\0" + packed)])

    if is_read:
        assert decode(BytesIO(content)).size == (1, 1)
    else:
        with pytest.raises(Unreadable):
            decode(BytesIO(content))
