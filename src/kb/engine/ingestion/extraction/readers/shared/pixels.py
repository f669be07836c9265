"""Pictures from strangers: their size is judged before they are decoded, and what comes out of it is bounded."""

import math
import re
import struct
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from io import BytesIO
from pathlib import Path

# Each teaches Pillow a format; without them it would load all that it has.
from PIL import BmpImagePlugin as BmpImagePlugin
from PIL import GifImagePlugin as GifImagePlugin
from PIL import Image, ImageFile, PngImagePlugin
from PIL import JpegImagePlugin as JpegImagePlugin
from PIL import TiffImagePlugin as TiffImagePlugin
from PIL import WebPImagePlugin as WebPImagePlugin

from kb.engine.errors import Unreadable

PILLOW_FORMATS = ("JPEG", "PNG", "TIFF", "WEBP", "GIF", "BMP")
"""By Pillow's names. Whatever else it can decode is rare, and so are those who look for errors in its decoders."""
MAX_PIXELS = 100_000_000
"""Four bytes each: what a process that reads pictures can hold beside its models."""
# A JPEG can be decoded at an eighth of its size.
_MAX_JPEG_PIXELS = 1_000_000_000
# Of a WEBP the decoder keeps three more copies.
_MAX_WEBP_PIXELS = 50_000_000
# A large page is legible in fewer. The sides are not limited: a screenshot may be narrow and very long.
_ENOUGH_PIXELS = 25_000_000

_SIGNATURE = re.compile(rb"\xff\xd8\xff|\x89PNG|II[*+]\0|MM\0[*+]|RIFF.{4}WEBP|GIF8[79]a|BM", re.DOTALL)
_WEBP_SIZE = re.compile(
    rb"RIFF.{4}WEBP(?:VP8X.{8}(?P<canvas>.{6})|VP8 .{7}\x9d\x01\x2a(?P<lossy>.{4})|VP8L.{4}/(?P<lossless>.{4}))",
    re.DOTALL,
)
_HEAD_BYTES = 30
_ORIENTATION = 0x0112
_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_DAMAGED = (
    "The picture is damaged, or of a rare kind. Open it in the program that it comes from, save it as PNG or JPEG, and "
    "add that."
)
DAMAGE = (
    OSError,
    SyntaxError,
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    EOFError,
    AttributeError,
    struct.error,
)
"""All that Pillow raises over damaged files."""

# Programs keep the source of a drawing in its PNG. All texts of a file together are bounded too.
PngImagePlugin.MAX_TEXT_CHUNK = 16 * 1024 * 1024
# Pillow's own judgement of sizes knows nothing of what decoding will cost.
Image.MAX_IMAGE_PIXELS = None


def decode(file: Path | BytesIO, formats: tuple[str, ...] = PILLOW_FORMATS) -> Image.Image:
    """The picture, or the first of several, as `take_pixels` gives it. Raises `Unreadable`."""
    if not _SIGNATURE.match(_read_head(file)):
        raise Unreadable(
            "unsupported_format", "The picture is of a kind that cannot be read. Save it as PNG and add that."
        )
    with open_picture(file, formats) as picture:
        return take_pixels(picture)


@contextmanager
def open_picture(file: Path | BytesIO, formats: tuple[str, ...] = PILLOW_FORMATS) -> Iterator[ImageFile.ImageFile]:
    """The picture with nothing decoded. What Pillow raises over a damaged one within the `with` is `Unreadable`."""
    _check_webp(_read_head(file))
    # By its path Pillow would map a TIFF into memory, and then garbles what lies on its side.
    opened = file.open("rb") if isinstance(file, Path) else nullcontext(file)
    with opened as content, _damage_told(), warnings.catch_warnings():
        # They tell of tags that are damaged.
        warnings.simplefilter("ignore")
        with Image.open(content, formats=formats) as picture:
            yield picture


def take_pixels(picture: ImageFile.ImageFile) -> Image.Image:
    """The frame at hand: upright, 8 bits a channel, in mode L, RGB or RGBA, and at most 25 million pixels.

    Raises `Unreadable`, as `check_size` does.
    """
    check_size(picture)
    shrink = math.sqrt(picture.width * picture.height / _ENOUGH_PIXELS)
    if shrink > 1:
        # Only a JPEG can be decoded at less than its size; for the others this does nothing.
        picture.draft(None, (math.ceil(picture.width / shrink), math.ceil(picture.height / shrink)))
    picture.load()
    pixels = _in_eight_bits(picture)
    shrink = math.sqrt(pixels.width * pixels.height / _ENOUGH_PIXELS)
    if shrink > 1:
        pixels = pixels.reduce(math.ceil(shrink))
    turn = _UPRIGHT.get(orientation(picture))
    return pixels if turn is None else pixels.transpose(turn)


def check_size(picture: ImageFile.ImageFile) -> None:
    """Raises `Unreadable` with `extraction_limit` if decoding the frame at hand would cost too much."""
    # Of a progressive JPEG all is kept until it is complete, whatever the size that it is decoded at.
    is_cheap = isinstance(picture, JpegImagePlugin.JpegImageFile) and "progressive" not in picture.info
    check_pixels(*picture.size, _MAX_JPEG_PIXELS if is_cheap else MAX_PIXELS)


def orientation(picture: ImageFile.ImageFile) -> int:
    """How it lies, from 1, upright, to 8; from 5 on its side. A TIFF that is loaded stands upright."""
    try:
        found = picture.getexif().get(_ORIENTATION)
    except DAMAGE:
        return 1
    return found if isinstance(found, int) and found in _UPRIGHT else 1


def check_pixels(width: int, height: int, limit: int = MAX_PIXELS) -> None:
    """Raises `Unreadable` with `extraction_limit` if there are more."""
    if width * height > limit:
        raise Unreadable(
            "extraction_limit",
            f"The picture has {width:,} x {height:,} pixels; at most {limit // 1_000_000} million can be read. "
            "Scale it down and add it again.",
        )


def _read_head(file: Path | BytesIO) -> bytes:
    if isinstance(file, BytesIO):
        return bytes(file.getbuffer()[:_HEAD_BYTES])
    with file.open("rb") as opened:
        return opened.read(_HEAD_BYTES)


def _check_webp(head: bytes) -> None:
    """Its decoder takes memory for the whole picture when it is opened."""
    found = _WEBP_SIZE.match(head)
    if found is None or found.lastgroup is None:
        return
    size = found[found.lastgroup]
    if found.lastgroup == "canvas":
        width, height = int.from_bytes(size[:3], "little") + 1, int.from_bytes(size[3:], "little") + 1
    elif found.lastgroup == "lossy":
        width, height = int.from_bytes(size[:2], "little") & 0x3FFF, int.from_bytes(size[2:], "little") & 0x3FFF
    else:
        bits = int.from_bytes(size, "little")
        width, height = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    check_pixels(width, height, _MAX_WEBP_PIXELS)


def _in_eight_bits(picture: Image.Image) -> Image.Image:
    if picture.mode in ("I", "F") or picture.mode.startswith("I;16"):
        return _stretch(picture)
    if picture.has_transparency_data:
        return picture.convert("RGBA")
    if picture.mode == "1":
        return picture.convert("L")
    return picture if picture.mode in ("L", "RGB") else picture.convert("RGB")


def _stretch(picture: Image.Image) -> Image.Image:
    """From its darkest to its lightest: what has more bits seldom uses them all, and some has no scale at all."""
    deep = picture if picture.mode == "F" else picture.convert("I")
    darkest, lightest = deep.getextrema()
    scale = 255 / (lightest - darkest) if lightest > darkest else 0.0  # type: ignore[operator] # one channel
    return deep.point(lambda value: value * scale - darkest * scale).convert("L")  # type: ignore[operator]


@contextmanager
def _damage_told() -> Iterator[None]:
    try:
        yield
    except DAMAGE as error:
        raise Unreadable("corrupt_file", _DAMAGED) from error
