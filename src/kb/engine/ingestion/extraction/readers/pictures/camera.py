"""What a camera writes into a picture: when, where and by which camera it was taken."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from PIL import Image
from PIL.ExifTags import GPS, IFD, Base

from kb.engine.ingestion.extraction.readers.shared.outline import tidy
from kb.engine.ingestion.extraction.readers.shared.pixels import DAMAGE

_MAX_NAME_CHARACTERS = 100


@dataclass(frozen=True)
class Shot:
    taken: datetime | None = None
    """With its zone if the camera knew it."""
    camera: str | None = None
    position: str | None = None
    """Latitude and longitude in degrees, "47.37690, 8.54170"; south and west are negative."""


def read_shot(exif: Image.Exif) -> Shot:
    details, position = find_directory(exif, IFD.Exif), find_directory(exif, IFD.GPSInfo)
    return Shot(
        _parse_time(details.get(Base.DateTimeOriginal), details.get(Base.OffsetTimeOriginal)),
        _name_camera(find_tag(exif, Base.Make), find_tag(exif, Base.Model)),
        _render_position(position),
    )


def render_time(taken: datetime) -> str:
    """In the form of RFC 3339; without a zone it means little elsewhere, so the date alone."""
    return taken.isoformat().replace("+00:00", "Z") if taken.tzinfo else taken.date().isoformat()


def find_tag(exif: Image.Exif, tag: int) -> object:
    """None if it is not there or damaged."""
    try:
        return exif.get(tag)
    except DAMAGE:
        return None


def find_directory(exif: Image.Exif, tag: int) -> Mapping[int, Any]:
    """The tags of a group; none if it is not there or damaged."""
    try:
        return exif.get_ifd(tag)
    except DAMAGE:
        return {}


def _parse_time(told: object, offset: object) -> datetime | None:
    try:
        time = datetime.strptime(str(told).strip("\0 "), "%Y:%m:%d %H:%M:%S")  # noqa: DTZ007 - the zone is told apart
        return datetime.fromisoformat(time.isoformat() + str(offset).strip("\0 ")) if offset else time
    except ValueError:
        return None


def _name_camera(make: object, model: object) -> str | None:
    maker, name = (" ".join(tidy(str(told or "")).split())[:_MAX_NAME_CHARACTERS] for told in (make, model))
    # Many a maker stands in the name already: Canon, Canon EOS R5; or NIKON CORPORATION, NIKON D750.
    if maker and name and maker.split()[0].casefold() == name.split()[0].casefold():
        maker = ""
    return f"{maker} {name}".strip() or None


def _render_position(tags: Mapping[int, Any]) -> str | None:
    latitude = _parse_angle(tags.get(GPS.GPSLatitude), tags.get(GPS.GPSLatitudeRef), "S", 90)
    longitude = _parse_angle(tags.get(GPS.GPSLongitude), tags.get(GPS.GPSLongitudeRef), "W", 180)
    # A receiver that has not found its place writes zeros.
    if latitude is None or longitude is None or (latitude == 0 and longitude == 0):
        return None
    return f"{latitude:.5f}, {longitude:.5f}"


def _parse_angle(told: object, side: object, negative: str, most: int) -> float | None:
    """From degrees, minutes and seconds; None if they are no place on Earth."""
    if not isinstance(told, tuple) or len(told) != 3:
        return None
    try:
        degrees, minutes, seconds = map(float, told)
    except DAMAGE:
        return None
    angle = degrees + minutes / 60 + seconds / 3600
    if not math.isfinite(angle) or not 0 <= angle <= most:
        return None
    return -angle if str(side).strip("\0 ").upper() == negative else angle
