"""Keeps what a program has in memory, such as keys and documents, from other programs of the same user."""

import ctypes
import resource
import sys

_PR_SET_DUMPABLE = 4


def hide_memory() -> None:
    """From now on, until it starts another program, only root can look into this process, and it leaves no core dump.

    On Linux: `/proc/PID/mem`, `/proc/PID/environ` and debuggers. Elsewhere there is only no core dump.
    """
    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, most))
    _set_dumpable(is_dumpable=False)


def show_memory() -> None:
    """Undo `hide_memory` in a process that was forked off a hidden one, so that it may write to `/proc/self`."""
    _set_dumpable(is_dumpable=True)


def _set_dumpable(*, is_dumpable: bool) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, int(is_dumpable), 0, 0, 0)
