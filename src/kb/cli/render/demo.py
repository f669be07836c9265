"""What `kb demo` tells."""

import shlex
from collections.abc import Sequence

from rich.text import Text

from kb.cli.render.searching import show_hits
from kb.cli.render.terminal import Json, counted, open_console


def show_search(search: Json, options: Sequence[str], answer: Json, *, open_engine: str | None) -> None:
    """What it is to show, the command, and the best that it finds."""
    command = shlex.join(["kb", "search", *search["q"].split(), *options])
    console = open_console()
    console.print()
    console.print(Text(f"{search['words']}:", "bold"))
    console.print(Text(f"$ {command}", "green"))
    show_hits(answer, open_engine=open_engine)


def show_next() -> None:
    print(
        "\nAdd your own with `kb add FILE`, or drop files on the page (`kb open`); `kb demo --remove` takes these away."
    )


def question_before_removing(count: int) -> str:
    return f"Delete {counted(count, 'document')} of the sample for good?"


def show_removed(count: int, kept: int) -> None:
    print(f"{counted(count, 'document')} of the sample removed.")
    if kept:
        print(
            f"{counted(kept, 'document')} kept: somebody has changed what is there. `kb delete` deletes any document."
        )
