"""Writes the reference pages anew from the code: `make docs`.

A page is a function without arguments that renders it; `PAGES` gives each its file. One is for the web page, which
shows what `kb connect` prints: the engine has nothing of the command line, so the page is given its words as a file.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from docs.making.clients import render_clients
from docs.making.command_line import render_command_line
from docs.making.http_api import render_http_api
from docs.making.mcp_tools import render_mcp_tools
from docs.making.settings import render_settings

ROOT = Path(__file__).parents[2]

PAGES: Mapping[str, Callable[[], str]] = {
    "docs/reference/settings.md": render_settings,
    "docs/reference/http-api.md": render_http_api,
    "docs/reference/command-line.md": render_command_line,
    "docs/reference/mcp-tools.md": render_mcp_tools,
    "src/kb/engine/web/clients.json": render_clients,
}


def main() -> None:
    for name, render in PAGES.items():
        (ROOT / name).write_text(render(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
