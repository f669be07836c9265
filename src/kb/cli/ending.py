"""How a command ends that works on this machine and not through the engine."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import typer

from kb.cli.exits import Exit


@contextmanager
def until_interrupted() -> Iterator[None]:
    """Of a program that runs until it is stopped, Ctrl-C is the end that was meant."""
    with suppress(KeyboardInterrupt):
        yield


@contextmanager
def ending_plainly(extra: str = "engine") -> Iterator[None]:
    """What a person can put right ends the program with a sentence."""
    from kb.cli.render.programs import not_installed
    from kb.cli.render.terminal import complain
    from kb.engine.errors import KbError
    from kb.listening import CannotStart
    from kb.settings import SettingsError

    try:
        yield
    except (SettingsError, CannotStart, KbError) as error:
        complain(str(error))
        raise typer.Exit(Exit.FAILED) from None
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "kb":
            raise
        complain(not_installed(extra))
        raise typer.Exit(Exit.FAILED) from None
