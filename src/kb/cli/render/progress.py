"""Bars on the terminal while something takes long; nothing in a pipe."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from rich.text import Text

from kb.cli.render.terminal import Json, clean, counted, one_line, open_console, readable_size, render_json

if TYPE_CHECKING:
    from rich.progress import Progress, Task, TaskID

MOST_LINES = 8
# The bar of all files, and the line below it where the cursor stands.
OTHER_LINES = 2


class Board:
    """Files or jobs on their way: a bar for all of them, a line for each that is being sent or read, results above.

    Without `bars` only the results are written: to stdout what was asked for, to stderr what went wrong.
    """

    def __init__(
        self, bars: "Progress | None" = None, total: int = 1, noun: str = "file", total_bytes: int = 0
    ) -> None:
        self._bars = bars
        self._total = total
        self._noun = noun
        self._lines: dict[int, TaskID] = {}
        self._errors = open_console(stderr=True) if bars is None else bars.console
        # On a terminal what is not written above the bars would be overwritten by them.
        self._results = open_console() if bars is None else bars.console
        self._total_bytes = total_bytes
        self._done_bytes = 0
        if bars is not None and total > 1:
            self._all = bars.add_task("", total=total, describe=self._describe_all)

    def say(self, result: Text) -> None:
        if sys.stdout.isatty():
            self._results.print(result)
        else:
            # By itself, as soon as it is known; a reader that has gone away is an error, as it is not to rich.
            print(result.plain, flush=True)

    def say_json(self, answer: Json) -> None:
        self.say(Text(render_json(answer)))

    def complain(self, sentence: str) -> None:
        self._errors.print(clean(sentence))

    def show_sending(self, place: int, label: str, size_bytes: int) -> Callable[[int], None]:
        """To be called with how many more bytes are sent."""
        sent = 0

        def show(count: int) -> None:
            nonlocal sent
            # A form is a little longer than the file in it.
            sent = min(sent + count, size_bytes)
            text = f"{_name_of(label)}: {readable_size(sent)} of {readable_size(size_bytes)} sent"
            self._show(place, text, total=size_bytes, completed=sent)

        show(0)
        return show

    def show_job(self, place: int, label: str, job: Json) -> None:
        """Those that wait for their turn in the engine are many, and have nothing to tell unless they are alone."""
        if job["status"] == "running" or self._total == 1:
            text = f"{_name_of(label)}: {one_line(job['message'] or job['current_step'] or job['status'])}"
            self._show(place, text, total=100, completed=round(100 * job["progress"]))
        else:
            self.hide(place)

    def hide(self, place: int) -> None:
        line = self._lines.pop(place, None)
        if self._bars is not None and line is not None:
            self._bars.remove_task(line)

    def count_done(self, place: int, size_bytes: int = 0) -> None:
        self.hide(place)
        self._done_bytes += size_bytes
        if self._bars is not None and self._total > 1:
            self._bars.advance(self._all)

    def _show(self, place: int, text: str, *, total: int | None, completed: int) -> None:
        if self._bars is None:
            return
        if place in self._lines:
            self._bars.update(self._lines[place], description=text, total=total, completed=completed)
        elif len(self._lines) < min(MOST_LINES, self._bars.console.height - OTHER_LINES):
            self._lines[place] = self._bars.add_task(text, total=total, completed=completed, describe=_describe_one)

    def _describe_all(self, task: "Task") -> str:
        elapsed = int(task.elapsed or 0)
        told = f"{int(task.completed)} of {counted(self._total, self._noun)}, {elapsed // 60}:{elapsed % 60:02}"
        if not self._total_bytes:
            return told
        # The sizes last: where there is little room, they are what can be missed.
        return f"{told}, {readable_size(self._done_bytes)} of {readable_size(self._total_bytes)}"


def _describe_one(task: "Task") -> str:
    return task.description


def _name_of(label: str) -> str:
    """Its last part: on a narrow terminal a path would leave no room for what is told of it."""
    return one_line(label.rpartition("/")[2])


def progress_of_files(files: int, total_bytes: int) -> AbstractContextManager[Board]:
    return _open_board(files, "file", total_bytes)


def progress_of_jobs(jobs: int) -> AbstractContextManager[Board]:
    return _open_board(jobs, "job", 0)


@contextmanager
def _open_board(total: int, noun: str, total_bytes: int) -> Iterator[Board]:
    console = open_console(stderr=True)
    if not console.is_terminal:
        yield Board(None, total, noun, total_bytes)
        return
    from rich.progress import BarColumn, Progress, ProgressColumn
    from rich.table import Column

    class Description(ProgressColumn):
        def render(self, task: "Task") -> Text:
            return Text(task.fields["describe"](task))

    # What does not fit is cut: a folded line would make the bars jump.
    description = Description(Column(ratio=1, no_wrap=True, overflow="ellipsis"))
    columns = (BarColumn(max(8, min(30, console.width // 4))), description)
    with Progress(*columns, console=console, transient=True, redirect_stdout=False, expand=True) as bars:
        yield Board(bars, total, noun, total_bytes)


@contextmanager
def progress_of_steps() -> Iterator[Callable[[str, int, int], None]]:
    """To be called as the work goes: with what is done, how much of it, and of how much."""
    console = open_console(stderr=True)
    if not console.is_terminal:
        yield lambda label, done, total: None
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
    from rich.table import Column

    # What does not fit is cut: a folded line would make the bar jump.
    label_column = Column(no_wrap=True, overflow="ellipsis")
    label = TextColumn("{task.description}", markup=False, table_column=label_column)
    with Progress(
        BarColumn(), TaskProgressColumn(), label, console=console, transient=True, redirect_stdout=False
    ) as bar:
        task = bar.add_task("")
        yield lambda label, done, total: bar.update(task, description=one_line(label), completed=done, total=total)


@contextmanager
def progress_of_bytes(label: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """To be called with how many more bytes have come or gone. Perhaps nobody knows how many there are."""
    console = open_console(stderr=True)
    if not console.is_terminal:
        yield lambda count: None
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=console, transient=True, redirect_stdout=False) as bar:
        task = bar.add_task(one_line(label), total=total)
        yield lambda count: bar.update(task, advance=count)


@contextmanager
def spinner(sentence: str) -> Iterator[None]:
    """A sign that something goes on of which nobody knows how long it takes."""
    console = open_console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(one_line(sentence)):
        yield
