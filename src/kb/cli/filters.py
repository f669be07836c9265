"""The options of `search` and `list` that say which documents are meant."""

import json
import math
import os
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated, Any

import typer

from kb.cli.options import require_something

DocType = Annotated[
    str | None,
    typer.Option("--type", metavar="TYPE", help="Only note, image, pdf, docx, ...", callback=require_something),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format", metavar="FORMAT", help="As --type, but jpg, png, ... for images.", callback=require_something
    ),
]
SourcePath = Annotated[
    str | None,
    typer.Option(
        "--path", metavar="PATH", help="Only what was added from exactly this path.", callback=require_something
    ),
]
SourceFolder = Annotated[
    str | None,
    typer.Option(
        "--folder", metavar="PATH", help="Only what was added from below this folder.", callback=require_something
    ),
]
Words = Annotated[
    str | None,
    typer.Option(
        "--grep", metavar="WORDS", help="Only with these words in title or file name.", callback=require_something
    ),
]
Since = Annotated[
    datetime | None,
    typer.Option("--since", formats=["%Y-%m-%d"], metavar="DAY", help="Added on this UTC day or later."),
]
Until = Annotated[
    datetime | None,
    typer.Option("--until", formats=["%Y-%m-%d"], metavar="DAY", help="Added on this UTC day or earlier."),
]
Meta = Annotated[
    list[str] | None, typer.Option("--meta", metavar="KEY=VALUE", help="Only with this in the metadata; repeatable.")
]
Scalar = str | int | float | bool | None


def build_filters(
    named: Mapping[str, str | None], since: datetime | None, until: datetime | None, meta: Iterable[str]
) -> dict[str, Any]:  # Any: the engine's JSON
    """The `filters` of a search: only those that were asked for."""
    days = {"start": since, "end": until}
    date_range = {name: day.date().isoformat() for name, day in days.items() if day is not None}
    filters = {**named, "date_range": date_range or None, "metadata": parse_metadata(meta) or None}
    return {name: value for name, value in filters.items() if value is not None}


def locate(path: str | None) -> str | None:
    """The engine knows files by their whole paths; what is not here is taken as it is written."""
    return os.path.abspath(path) if path and os.path.exists(path) else path


def parse_metadata(pairs: Iterable[str]) -> dict[str, Scalar]:
    """`year=2024` is the number, `year="2024"` the text. Raises `typer.BadParameter` for what is no pair."""
    wanted = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not key or not equals:
            raise typer.BadParameter(f"{pair!r} is not of the form KEY=VALUE.", param_hint="--meta")
        wanted[key] = _parse_scalar(value)
    return wanted


def _parse_scalar(text: str) -> Scalar:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    # Of numbers JSON has neither NaN nor infinity, and a list or an object cannot be asked for.
    is_number = isinstance(value, int | float) and math.isfinite(value)
    return value if value is None or isinstance(value, str) or is_number else text
