"""How kb writes to the terminal, whatever it has to say.

What was asked for goes to stdout; remarks, errors and progress go to stderr. On a terminal there are colours
(not with NO_COLOR) and long lines are folded; in a pipe there are neither, and no line is cut.

Titles and texts come from documents, which anybody may have written: control characters are taken out, so
that no document can move the cursor or rename the window.
"""

import json
import re
from datetime import datetime
from typing import Any, TypeAlias

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

Json: TypeAlias = dict[str, Any]  # Any: the engine's JSON, whose shapes its reference page tells
# The last ones turn the direction of what follows, so that a name could be read as another.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_SIZES = ("bytes", "KB", "MB", "GB", "TB")


def open_console(*, stderr: bool = False) -> Console:
    # Soft wrapping leaves folding to the terminal: a copied line stays one line.
    return Console(stderr=stderr, soft_wrap=True, markup=False, emoji=False, highlight=False)


def complain(sentence: str) -> None:
    open_console(stderr=True).print(clean(sentence))


def print_json(answer: Json) -> None:
    print(json.dumps(answer, ensure_ascii=False))


def print_indented(console: Console, text: Text) -> None:
    """Folded below its heading on a terminal; a single line in a pipe."""
    if console.is_terminal:
        console.print(Padding(text, (0, 0, 0, 4), expand=False), soft_wrap=False)
    else:
        console.print(Text("    ").append_text(text))


def clean(text: str) -> str:
    return _CONTROL.sub("", text)


def one_line(text: str) -> str:
    return clean(" ".join(text.split()))


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def readable_size(size_bytes: int) -> str:
    size = float(size_bytes)
    for unit in _SIZES:
        if size < 1024 or unit == _SIZES[-1]:
            break
        size /= 1024
    return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"


def local_time(moment: str) -> str:
    """The engine tells UTC; a person reads a clock on the wall."""
    return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M")
