"""Bars on the terminal while something takes long; nothing in a pipe."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from kb.cli.render.terminal import Json, one_line, open_console

ShowProgress: TypeAlias = Callable[[str, int], None]
"""Takes what is being worked on, and how many more are done."""


@contextmanager
def progress(total: int) -> Iterator[ShowProgress]:
    """A bar on the terminal while the block runs; nothing in a pipe."""
    console = open_console(stderr=True)
    if not console.is_terminal:
        yield lambda label, done: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=console, transient=True, redirect_stdout=False) as bar:
        task = bar.add_task("", total=total)
        yield lambda label, done: bar.update(task, description=one_line(label), advance=done)


@contextmanager
def progress_of_copying() -> Iterator[Callable[[str, int, int], None]]:
    """As `progress`, for work whose steps are counted as it goes: what is done, how much, and of how much."""
    console = open_console(stderr=True)
    if not console.is_terminal:
        yield lambda label, done, total: None
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    columns = (BarColumn(), TaskProgressColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=console, transient=True, redirect_stdout=False) as bar:
        task = bar.add_task("")
        yield lambda label, done, total: bar.update(task, description=label, completed=done, total=total)


@contextmanager
def progress_of_bytes(label: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """As `progress`, for bytes on their way, of which it is perhaps not known how many there are."""
    console = open_console(stderr=True)
    if not console.is_terminal:
        yield lambda count: None
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=console, transient=True, redirect_stdout=False) as bar:
        task = bar.add_task(one_line(label), total=total)
        yield lambda count: bar.update(task, advance=count)


def describe_progress(label: str, job: Json) -> str:
    return f"{label}: {job['message'] or job['current_step']}"
