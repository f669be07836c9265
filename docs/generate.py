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
from kb.settings import OptionDescription, describe_options

ROOT = Path(__file__).parents[1]

_SETTINGS_HEAD = """\
# Settings

<!-- Made by `make docs` from src/kb/settings/programs.py: change it there. -->

Everything works with none of these set. A value comes from a flag of the command, else from the environment,
else from the file `kb.toml` in the config directory (`~/.config/kb` on Linux), else it is the default.

- The variable `KB_MAX_FILE_MB` is the key `max_file_mb` in `kb.toml`.
- An empty variable counts as not set.
- Lists are separated by commas; in `kb.toml` they may also be arrays.
- A key may stand in a file of its own: `KB_API_KEY_FILE` names the file that holds `KB_API_KEY`.
- A `KB_` variable or a key in `kb.toml` that kb does not know is reported at start with the nearest real one.

| Variable | Default | Allowed | Meaning | Read by |
|---|---|---|---|---|
"""


def render_settings() -> str:
    return _SETTINGS_HEAD + "".join(_render_row(option) for option in describe_options())


def _render_row(option: OptionDescription) -> str:
    programs = ", ".join(option.programs)
    return f"| `{option.variable}` | {option.default} | {option.allowed} | {option.meaning} | {programs} |\n"


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
