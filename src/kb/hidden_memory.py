"""Hides the memory of a program, with its keys and documents, from other programs of the same user."""

import ctypes
import resource
import sys

_PR_SET_DUMPABLE = 4


def hide_memory() -> None:
    """Let only root inspect this process, until it executes another program, and let it leave no core dump.

    Linux then refuses `/proc/PID/mem`, `/proc/PID/environ` and debuggers. Other systems only leave no core dump.
    """
    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, most))
    _set_dumpable(is_dumpable=False)


def show_memory() -> None:
    """Undo `hide_memory` in a process that a hidden one has forked, so that it can write to `/proc/self`."""
    _set_dumpable(is_dumpable=True)


def _set_dumpable(*, is_dumpable: bool) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, int(is_dumpable), 0, 0, 0)
