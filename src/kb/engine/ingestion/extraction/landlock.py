"""Makes Linux let a process open only some files and folders, and only for reading (Landlock).

Kernels have Landlock since 5.13, if it is switched on. Later versions of Landlock restrict more; this module asks only
for what the kernel's version knows. The process then also cannot inspect processes outside, through `/proc` or by
system calls, and with a new version of Landlock it cannot send them signals.
"""

import contextlib
import ctypes
import os
import stat
import struct
from collections.abc import Iterable

# The numbers are the same on all processors.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION = 1
_RULE_OF_PATH = 1

_READ_FILE = 1 << 2
_READ_FOLDER = 1 << 3
# The number of rights to files that each version knows: to execute, write, read, list, remove and make each kind of
# file; later also to move files to other folders, to truncate, to control devices. Later versions know no more.
_RIGHTS_OF_VERSION = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_LAST_VERSION_WITH_RIGHTS = 5
_VERSION_WITH_NETWORK, _BIND_AND_CONNECT = 4, 0b11
_VERSION_WITH_SCOPES, _ABSTRACT_SOCKETS_AND_SIGNALS = 6, 0b11


def find_version() -> int:
    """The kernel's version of Landlock; 0 if it has none, or does not let us use it."""
    return max(0, _call(_CREATE_RULESET, None, 0, _ASK_VERSION))


def open_nothing_but(readable: Iterable[str]) -> bool:
    """Let this thread, and all threads that it starts later, open only these files and folders and what is below them.

    Returns whether the kernel does so. Paths that do not exist are left out. Needs PR_SET_NO_NEW_PRIVS.
    """
    version = find_version()
    if version == 0:
        return False
    files = (1 << _RIGHTS_OF_VERSION[min(version, _LAST_VERSION_WITH_RIGHTS)]) - 1
    network = _BIND_AND_CONNECT if version >= _VERSION_WITH_NETWORK else 0
    scopes = _ABSTRACT_SOCKETS_AND_SIGNALS if version >= _VERSION_WITH_SCOPES else 0
    described = struct.pack("QQQ", files, network, scopes)
    rules = _call(_CREATE_RULESET, described, len(described), 0)
    if rules < 0:
        return False
    try:
        for path in readable:
            with contextlib.suppress(OSError):
                _allow(rules, path)
        return _call(_RESTRICT_SELF, rules, 0) == 0
    finally:
        os.close(rules)


def _allow(rules: int, path: str) -> None:
    opened = os.open(path, os.O_PATH)
    try:
        rights = _READ_FILE | _READ_FOLDER if stat.S_ISDIR(os.fstat(opened).st_mode) else _READ_FILE
        _call(_ADD_RULE, rules, _RULE_OF_PATH, struct.pack("=Qi", rights, opened), 0)
    finally:
        os.close(opened)


_system_call = ctypes.CDLL(None).syscall
_system_call.restype = ctypes.c_long


def _call(number: int, *arguments: int | bytes | None) -> int:
    return int(_system_call(number, *arguments))
