"""What changed between two versions of a note."""

from collections.abc import Iterator
from difflib import SequenceMatcher, unified_diff

from rich.console import Console
from rich.text import Text

from kb.cli.render.terminal import Json, clean, one_line

_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def render_difference(old: Json | None, new: Json) -> Iterator[str]:
    """The lines of a unified diff, as `diff -u` has it; nothing if the texts are the same.

    Before the first version there was no text.
    """
    before = ("", "nothing") if old is None else (old["text"], _name(old))
    lines = unified_diff(_lines(before[0]), _lines(new["text"]), before[1], _name(new), lineterm="")
    return (clean(line) for line in lines)


def count_changes(old: str, new: str) -> tuple[int, int]:
    """How many lines were added, and how many removed."""
    changes = SequenceMatcher(None, _lines(old), _lines(new)).get_opcodes()
    changed = [change for change in changes if change[0] != "equal"]
    return sum(j2 - j1 for _, _, _, j1, j2 in changed), sum(i2 - i1 for _, i1, i2, _, _ in changed)


def show_difference(lines: Iterator[str], console: Console) -> None:
    """In a pipe as it is: rich would turn tabs into spaces."""
    for number, line in enumerate(lines):
        if console.is_terminal:
            console.print(Text(line, "bold" if number < 2 else _STYLES.get(line[:1], "")))
        else:
            print(line, file=console.file)


def _lines(text: str) -> list[str]:
    # Not `splitlines`, which ends a line at characters that do not end one on the screen.
    return text.split("\n") if text else []


def _name(version: Json) -> str:
    return f"version {version['version']}: {one_line(version['title'])}"
