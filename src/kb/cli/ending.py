"""How a command ends. What goes wrong between it and the engine is told in `calling`."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

import typer

from kb.cli.exits import Exit


def end_with(sentence: str, code: Exit) -> NoReturn:
    """The sentence goes to stderr."""
    from kb.cli.render.terminal import complain

    complain(sentence)
    raise typer.Exit(code) from None


@contextmanager
def until_interrupted() -> Iterator[None]:
    """Of a program that runs until it is stopped, Ctrl-C is the end that was meant."""
    with suppress(KeyboardInterrupt):
        yield


@contextmanager
def ending_plainly(extra: str = "engine") -> Iterator[None]:
    """What a person can put right ends the program with a sentence."""
    from kb.cli.render.programs import not_installed
    from kb.engine.errors import KbError
    from kb.listening import CannotStart
    from kb.settings import SettingsError

    try:
        yield
    except (SettingsError, CannotStart, KbError) as error:
        end_with(str(error), Exit.FAILED)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "kb":
            raise
        end_with(not_installed(extra), Exit.FAILED)
