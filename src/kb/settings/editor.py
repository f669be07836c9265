"""The editor that the user prefers, as every program learns it."""

import os
import shlex
import shutil
from collections.abc import Mapping

# As programs have always asked: what is good on a screen first, then what works anywhere.
_VARIABLES = ("VISUAL", "EDITOR")


def editor_command(environ: Mapping[str, str] = os.environ, platform: str = os.name) -> list[str]:
    """The program and its arguments, to which a file's name is added; empty if the user has named none.

    The program need not exist. A path with spaces is one word if there is such a program.
    """
    given = next((value for name in _VARIABLES if (value := environ.get(name, "").strip())), "")
    if not given or shutil.which(given):
        return [given] if given else []
    try:
        # Elsewhere the backslash is an escape; on Windows it is in every path.
        words = shlex.split(given, posix=platform != "nt")
    except ValueError:
        return [given]
    return [word.strip('"') for word in words] if platform == "nt" else words
