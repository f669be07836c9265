"""Writes the reference pages from the code: `python -m docs.generate`, or `--check` to only compare.

A page is a function without arguments that renders it; `PAGES` gives each its file. One is for the web page, which
shows what `kb connect` prints: the engine has nothing of the command line, so the page is given its words as a file.
"""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from docs.cli_reference import render_command_line
from docs.http_reference import render_http_api
from docs.mcp_reference import render_mcp_tools
from docs.page_clients import render_clients
from docs.settings_reference import render_settings

ROOT = Path(__file__).parents[1]

PAGES: Mapping[str, Callable[[], str]] = {
    "docs/reference/settings.md": render_settings,
    "docs/reference/http-api.md": render_http_api,
    "docs/reference/command-line.md": render_command_line,
    "docs/reference/mcp-tools.md": render_mcp_tools,
    "src/kb/engine/web/clients.json": render_clients,
}


def find_stale_pages() -> list[str]:
    """The pages whose file is not what the code would write now."""
    return [name for name, render in PAGES.items() if _read_page(name) != render()]


def _read_page(name: str) -> str | None:
    path = ROOT / name
    return path.read_text(encoding="utf-8") if path.exists() else None


def write_pages() -> None:
    for name, render in PAGES.items():
        (ROOT / name).write_text(render(), encoding="utf-8", newline="\n")


def main(arguments: list[str]) -> int:
    if arguments == ["--check"]:
        stale = find_stale_pages()
        if stale:
            sys.stderr.write(f"Not what the code says: {', '.join(stale)}. `make docs` writes them anew.\n")
        return 1 if stale else 0
    if arguments:
        sys.stderr.write("usage: python -m docs.generate [--check]\n")
        return 2
    write_pages()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
