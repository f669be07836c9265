"""What is known of a picture, as a person would tell it: one chunk, by which it is found even if it holds no text."""

from calendar import month_name
from collections.abc import Mapping, Sequence

from kb.engine.ingestion.extraction.readers.pictures.camera import Shot

_KINDS = {"JPEG": "JPEG", "MPO": "JPEG", "PNG": "PNG", "TIFF": "TIFF", "WEBP": "WEBP"}
_CAPTIONS = ("title", "description", "comment", "keywords", "author", "copyright")


def describe(
    kind: str,
    size: tuple[int, int],
    *,
    pages: int,
    shot: Shot,
    colours: Sequence[str],
    captions: Mapping[str, str],
) -> str:
    """`kind` is Pillow's name for the format."""
    told = [f"{_KINDS[kind]} picture{f' of {pages} pages' if pages > 1 else ''}, {size[0]} x {size[1]} pixels"]
    told += _tell_shot(shot)
    lines = [", ".join(told) + "."]
    if colours:
        lines[0] += f" Mostly {_enumerate(colours)}."
    lines += [f"{name.capitalize()}: {captions[name]}" for name in _CAPTIONS if name in captions]
    return "\n".join(lines)


def _tell_shot(shot: Shot) -> list[str]:
    told = []
    if shot.taken:
        time = shot.taken
        told.append(f"on {time.day} {month_name[time.month]} {time.year} at {time:%H:%M}")
    if shot.camera:
        told.append(f"with {shot.camera}")
    if shot.position:
        told.append(f"at {shot.position}")
    return [f"taken {' '.join(told)}"] if told else []


def _enumerate(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last
