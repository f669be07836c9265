"""How kb writes to the terminal, whatever it has to say.

What was asked for goes to stdout; remarks, errors and progress go to stderr. On a terminal there are colours
(not with NO_COLOR) and long lines are folded; in a pipe there are neither, and no line is cut.

Titles and texts come from documents, and their authors may be hostile. Control characters are removed, and escaped in
JSON, so that no document can move the cursor or rename the window.
"""

import json
import re
from datetime import datetime
from typing import Any, TypeAlias

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from kb.control_characters import CONTROL_CHARACTERS, without_control_characters

Json: TypeAlias = dict[str, Any]  # Any: the engine's JSON, whose shapes its reference page tells
_C0_BUT_TAB_AND_LINE_END = re.compile(r"[\x00-\x08\x0b-\x1f]")
_SIZES = ("bytes", "KB", "MB", "GB", "TB")


class _CleanConsole(Console):
    """Writes the escape sequences of styles, and removes all others from the text."""

    def print(self, *objects: Any, **options: Any) -> None:
        super().print(*map(_cleaned, objects), **options)


def _cleaned(shown: Any) -> Any:  # Any: whatever rich can print
    if isinstance(shown, str):
        return clean(shown)
    if isinstance(shown, Text) and clean(shown.plain) != shown.plain:
        return Text(clean(shown.plain), shown.style)
    return shown


def open_console(*, stderr: bool = False) -> Console:
    # Soft wrapping leaves folding to the terminal: a copied line stays one line.
    return _CleanConsole(stderr=stderr, soft_wrap=True, markup=False, emoji=False, highlight=False)


def complain(sentence: str) -> None:
    open_console(stderr=True).print(clean(sentence))


def print_json(answer: Json) -> None:
    print(render_json(answer))


def render_json(answer: Json) -> str:
    """The JSON in one line. Letters of all scripts are not escaped; control characters are."""
    # In JSON they occur only inside strings, and `json` itself escapes those of C0.
    return CONTROL_CHARACTERS.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(answer, ensure_ascii=False))


def print_indented(console: Console, text: Text) -> None:
    """Folded below its heading on a terminal; a single line in a pipe."""
    if console.is_terminal:
        console.print(Padding(_cleaned(text), (0, 0, 0, 4), expand=False), soft_wrap=False)
    else:
        console.print(Text("    ").append_text(text))


def clean(text: str) -> str:
    return _C0_BUT_TAB_AND_LINE_END.sub("", without_control_characters(text))


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
