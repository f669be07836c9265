"""Asks Linux to refuse a process the system calls that reading a file does not need (seccomp).

The filter is a list of instructions that the kernel runs at each call; once set, it cannot be taken back.
"""

import ctypes
import errno
import os
import struct
from collections.abc import Iterator

_PR_SET_SECCOMP = 22
_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_MODE_FILTER = 2

_INSTRUCTION = struct.Struct("HBBI")
_ALLOW = 0x7FFF0000
_FAIL_WITH = 0x00050000
_LOAD_WORD = 0x20
_JUMP_IF_EQUAL = 0x15
_JUMP_IF_AT_LEAST = 0x35
_JUMP_IF_ANY_BIT = 0x45
_RETURN = 0x06
# Where `struct seccomp_data` holds the call's number, the processor's kind, and the low half of each argument.
_NUMBER, _PROCESSOR, _ARGUMENTS = 0, 4, 16

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CLONE_THREAD = 0x00010000

# The number of each call on x86-64 and on 64-bit Arm, which has no call that a newer one replaces.
_NEVER = {
    # the network
    "socket": (41, 198),
    "socketpair": (53, 199),
    "connect": (42, 203),
    "bind": (49, 200),
    "listen": (50, 201),
    "accept": (43, 202),
    "accept4": (288, 242),
    "sendto": (44, 206),
    "sendmsg": (46, 211),
    "sendmmsg": (307, 269),
    # other processes
    "fork": (57, None),
    "vfork": (58, None),
    "execve": (59, 221),
    "execveat": (322, 281),
    "kill": (62, 129),
    "tkill": (200, 130),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    # files
    "creat": (85, None),
    "openat2": (437, 437),
    "open_by_handle_at": (304, 265),
    "truncate": (76, 45),
    "rename": (82, None),
    "renameat": (264, 38),
    "renameat2": (316, 276),
    "link": (86, None),
    "linkat": (265, 37),
    "symlink": (88, None),
    "symlinkat": (266, 36),
    "unlink": (87, None),
    "unlinkat": (263, 35),
    "rmdir": (84, None),
    "mkdir": (83, None),
    "mkdirat": (258, 34),
    "mknod": (133, None),
    "mknodat": (259, 33),
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "chown": (92, None),
    "lchown": (94, None),
    "fchown": (93, 55),
    "fchownat": (260, 54),
    "mount": (165, 40),
    # ways around this filter
    "io_uring_setup": (425, 425),
    "bpf": (321, 280),
}
# Allowed for reading only; with the place of the flags among the arguments.
_OPEN = {"open": ((2, None), 1), "openat": ((257, 56), 2)}
# Allowed for threads only.
_CLONE = (56, 220)
_CLONE3 = 435
_PROCESSORS = ("x86_64", "aarch64")
_PROCESSOR_CODES = (0xC000003E, 0xC00000B7)
# On x86-64 every call has a second number for 32-bit pointers.
_FIRST_X32 = 0x40000000


def refuse_system_calls() -> bool:
    """Whether this process can from now on use no network, start no process and change no file.

    False where the kernel or the processor is not one that this module knows.
    """
    machine = os.uname().machine
    if machine not in _PROCESSORS:
        return False
    program = b"".join(_write_filter(_PROCESSORS.index(machine)))
    instructions = ctypes.create_string_buffer(program)
    described = struct.pack("HxxxxxxP", len(program) // _INSTRUCTION.size, ctypes.addressof(instructions))
    prctl = ctypes.CDLL(None).prctl
    if prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return False
    refused: int = prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.c_char_p(described), 0, 0)
    return refused == 0


def _write_filter(processor: int) -> Iterator[bytes]:
    """The filter's instructions. A jump skips as many of them as it says, if so and if not."""
    denied = _FAIL_WITH | errno.EPERM
    yield _instruction(_LOAD_WORD, _PROCESSOR)
    yield _instruction(_JUMP_IF_EQUAL, _PROCESSOR_CODES[processor], 1, 0)
    yield _instruction(_RETURN, denied)
    yield _instruction(_LOAD_WORD, _NUMBER)
    yield _instruction(_JUMP_IF_AT_LEAST, _FIRST_X32, 0, 1)
    yield _instruction(_RETURN, denied)
    for numbers in _NEVER.values():
        if (number := numbers[processor]) is not None:
            yield _instruction(_JUMP_IF_EQUAL, number, 0, 1)
            yield _instruction(_RETURN, denied)
    # The C library then starts its threads with `clone`, whose arguments can be looked at.
    yield _instruction(_JUMP_IF_EQUAL, _CLONE3, 0, 1)
    yield _instruction(_RETURN, _FAIL_WITH | errno.ENOSYS)
    for numbers, flags in _OPEN.values():
        if (number := numbers[processor]) is not None:
            yield _instruction(_JUMP_IF_EQUAL, number, 0, 4)
            yield _instruction(_LOAD_WORD, _ARGUMENTS + 8 * flags)
            yield _instruction(_JUMP_IF_ANY_BIT, _WRITING, 0, 1)
            yield _instruction(_RETURN, denied)
            yield _instruction(_RETURN, _ALLOW)
    yield _instruction(_JUMP_IF_EQUAL, _CLONE[processor], 0, 3)
    yield _instruction(_LOAD_WORD, _ARGUMENTS)
    yield _instruction(_JUMP_IF_ANY_BIT, _CLONE_THREAD, 1, 0)
    yield _instruction(_RETURN, denied)
    yield _instruction(_RETURN, _ALLOW)


def _instruction(code: int, value: int, if_so: int = 0, if_not: int = 0) -> bytes:
    return _INSTRUCTION.pack(code, if_so, if_not, value)
