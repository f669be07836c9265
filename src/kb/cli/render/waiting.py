"""A sign on the terminal that something goes on; nothing in a pipe."""

from collections.abc import Iterator
from contextlib import contextmanager

from kb.cli.render.terminal import one_line, open_console


@contextmanager
def spinner(sentence: str) -> Iterator[None]:
    console = open_console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(one_line(sentence)):
        yield
