from functools import cache

from kb.cli.render.terminal import complain
from kb.settings import warnings


@cache
def warn_once() -> None:
    """Of names in the environment that nobody knows: a command may call the engine several times."""
    for warning in warnings():
        complain(warning)
