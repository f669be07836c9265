"""Titles that can be clicked on a terminal.

A path or a title may have been written by anybody: only a percent-encoded URL goes into the escape sequence.
"""

import os
from pathlib import Path

from rich.style import Style

from kb.cli.render.terminal import Json


def find_open_engine(engine_url: str | None) -> str | None:
    """The engine's URL, if a browser can read there without a key."""
    from kb.settings import load_client_settings

    settings = load_client_settings({"engine_url": engine_url})
    return None if settings.api_key.get_secret_value() else settings.engine_url


def title_style(document: Json, document_id: int, open_engine: str | None, page: int | None = None) -> Style:
    """Bold, and a link to the document's own file if it lies on this machine, else to the engine's copy."""
    return Style(bold=True, link=_link_to(document, document_id, open_engine, page))


def _link_to(document: Json, document_id: int, open_engine: str | None, page: int | None) -> str | None:
    source_path = document["source_path"] or ""
    # Not by pathlib, which raises where a hostile path cannot be looked at.
    if os.path.isabs(source_path) and os.path.isfile(source_path):
        place = f"#page={page}" if page is not None and document["format"] == "pdf" else ""
        return f"{Path(source_path).as_uri()}{place}"
    return None if open_engine is None else f"{open_engine.rstrip('/')}/api/v1/documents/{document_id}/file"
