"""Names of settings that nobody knows, in the environment and in `kb.toml`: most are misspelt."""

from functools import cache

from kb.cli.render.terminal import complain
from kb.settings import find_unknown_names


@cache
def warn_once() -> None:
    """A command may call the engine several times."""
    for warning in find_unknown_names():
        complain(warning)
