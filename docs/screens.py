"""The pictures of the terminal in the docs: what the real program writes there, drawn as SVG.

`make screens` starts an engine on a folder of its own, adds a few documents and runs each command below on a
terminal. Nothing in a picture is made up, so it changes whenever the program does.
"""

import io
import os
import shlex
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text
from tests.cli.terminal import OnTerminal
from tests.engine_program import EngineProgram, own_environment

SCREENS = Path(__file__).parent / "screens"
COLUMNS = 96
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


@dataclass(frozen=True)
class Screen:
    name: str
    command: str


def draw(screen: Screen, written: str) -> str:
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.from_ansi(written.replace("\r\n", "\n").rstrip()))
    return console.export_svg(title=f"kb {screen.command}", code_format=DRAWING, unique_id=screen.name)
