"""Every word that a person reads in the terminal.

What was asked for goes to stdout; remarks, errors and progress go to stderr. On a terminal there are colours
(not with NO_COLOR) and lines fit the window; in a pipe there are neither, and no line is cut.

Titles and texts come from documents, which anybody may have written: control characters are taken out, so
that no document can move the cursor or rename the window.
"""

import json
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from kb.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence

Json: TypeAlias = dict[str, Any]  # Any: the engine's JSON, whose shapes its reference page tells
