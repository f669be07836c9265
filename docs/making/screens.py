"""The pictures of the terminal in the docs: what the real program writes there, drawn as SVG.

`make screens` starts an engine on a folder of its own, adds a few documents and runs each command below on a
terminal. Nothing in a picture is made up but where the data lies, which is a scratch folder; so it changes whenever
the program does.
"""

import contextlib
import io
import json
import re
import shlex
import tempfile
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console
from rich.text import Text
from tests.cli.terminal import OnTerminal
from tests.engine_program import EngineProgram, own_environment
from tests.pdf_files import make_text_pdf

SCREENS = Path(__file__).parents[1] / "screens"
COLUMNS = 100
DATA_DIR = "/home/ada/.local/share/kb"
# As rich draws it, but with the reader's own fonts: a picture in the docs loads nothing from elsewhere.
DRAWING = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
  <style>
    .{unique_id}-matrix {{ font-family: Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: {char_height}px;
      line-height: {line_height}px; font-variant-east-asian: full-width; }}
    .{unique_id}-title {{ font-size: 15px; font-weight: bold; font-family: sans-serif; }}
    {styles}
  </style>
  <defs>
    <clipPath id="{unique_id}-clip-terminal">
      <rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
    </clipPath>
    {lines}
  </defs>
  {chrome}
  <g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
    {backgrounds}
    <g class="{unique_id}-matrix">
      {matrix}
    </g>
  </g>
</svg>
"""


NOTES = {
    "House": "# House\n\nThe spare key is under the third flower pot. The alarm code changes every spring.",
    "Garden": "# Garden\n\nPrune the apple tree in February. The rain barrel leaks at the tap.",
    "Travel": "# Travel\n\nThe night train to Lisbon leaves at 21:45. Reserve a berth two weeks ahead.",
}
PAGES = [
    "Heat pump, user manual. Read this first: keep the outdoor unit free of snow and leaves.",
    "Maintenance. Clean the filter every three months. A dirty filter raises the power bill by a tenth.",
    "Faults. E7 means low pressure: check the valve, then call the installer.",
]
STANDUP = [
    "We ship on Monday.\nAda tests the backup.\n",
    "We ship on Thursday.\nAda tests the backup.\nGrace writes the notes.\n",
]

# In their order: a screen shows what those before it have left behind. {note} is a note that was rewritten.
SCREENS_OF = {
    "demo": "demo",
    "add": "add papers --tag home",
    "search": "search where is the key --top 3",
    "why": "search filter cleaning --top 2 --why --tag home",
    "list": "list --sort title",
    "history": "history {note} --diff",
    "sync": "sync papers --dry-run --verbose",
    "doctor": "doctor",
}


def make_sample(folder: Path) -> None:
    folder.mkdir()
    for name, text in NOTES.items():
        (folder / f"{name.lower()}.md").write_text(text)
    (folder / "heat-pump.pdf").write_bytes(make_text_pdf(PAGES))
    (folder / ".gitignore").write_text("*.tmp\n")
    (folder / "draft.tmp").write_text("half a thought")


def add_rewritten_note(engine: EngineProgram) -> int:
    job = json.loads(engine.run_kb("addnote", STANDUP[0], "--title", "Stand-up", "--json").stdout)
    engine.run_kb("updatenote", str(job["document_id"]), STANDUP[1])
    return int(job["document_id"])


def change_sample(folder: Path) -> None:
    (folder / "garden.md").rename(folder / "garden-2026.md")
    (folder / "travel.md").unlink()
    (folder / "house.md").write_text(NOTES["House"] + " The plumber has the other key.")
    (folder / "kitchen.md").write_text("# Kitchen\n\nSharpen the knives on Sundays.")


def capture(command: str, environment: Mapping[str, str]) -> str:
    with OnTerminal(*shlex.split(command), environment=environment, columns=COLUMNS) as terminal:
        terminal.wait()
    return terminal.output


def draw(name: str, command: str, written: str) -> str:
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.from_ansi(_after_the_bars(written)))
    return console.export_svg(title=f"kb {command}", code_format=DRAWING, unique_id=f"kb-{name}")


def _after_the_bars(written: str) -> str:
    """What is left on the screen: bars are drawn over themselves, and wiped away in the end."""
    lines, row = [""], 0
    for part in re.split(r"(\n|\x1b\[\d*A|\x1b\[2K)", re.sub(r"\r|\x1b\[\?25[lh]", "", written)):
        if part == "\n":
            row += 1
            lines += [""] * (row == len(lines))
        elif re.fullmatch(r"\x1b\[\d*A", part):
            row = max(row - int(part[2:-1] or 1), 0)
        elif part == "\x1b[2K":
            lines[row] = ""
        else:
            lines[row] += part
    return "\n".join(lines).strip("\n")


def main() -> None:
    SCREENS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
        folder = Path(scratch)
        engine = EngineProgram(folder)
        engine.start()
        environment = own_environment(folder, engine.client_settings)
        try:
            make_sample(folder / "papers")
            note = 0
            for name, command in SCREENS_OF.items():
                if name == "add":
                    engine.run_kb("demo", "--remove", "--yes")
                    note = add_rewritten_note(engine)
                if name == "sync":
                    change_sample(folder / "papers")
                told = command.format(note=note)
                written = capture(told, environment).replace(str(engine.data_dir), DATA_DIR)
                (SCREENS / f"{name}.svg").write_text(draw(name, told, written), encoding="utf-8")
        finally:
            engine.stop()


if __name__ == "__main__":
    main()
