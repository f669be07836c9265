"""Titles that can be clicked on a terminal.

They lead to the engine's copy of a document, not to its `source_path`. The author of a hostile document could choose
that path, and a click would open a file of this machine.
"""

from rich.style import Style


def find_open_engine(engine_url: str | None) -> str | None:
    """The engine's URL, if a browser can read there without a key."""
    from kb.settings import load_client_settings

    settings = load_client_settings({"engine_url": engine_url})
    return None if settings.api_key.get_secret_value() else settings.engine_url


def title_style(document_id: int, open_engine: str | None) -> Style:
    """Bold, and a link if there is an engine that can be read without a key."""
    # An id that is not a number could end the escape sequence of the link.
    link = open_engine and f"{open_engine.rstrip('/')}/api/v1/documents/{int(document_id)}/file"
    return Style(bold=True, link=link)
