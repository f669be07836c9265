"""Asks Linux to refuse a process the system calls that reading a file does not need (seccomp).

The filter is a list of instructions that the kernel runs at each call; once set, it cannot be taken back.
"""

import ctypes
import errno
import fcntl
import os
import struct
from collections.abc import Iterator

PR_SET_NAME = 15
_PR_GET_NAME = 16
_PR_SET_SECCOMP = 22
_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_MODE_FILTER = 2

_INSTRUCTION = struct.Struct("HBBI")
_LOAD_WORD = 0x20
_AND = 0x54
_JUMP_IF_EQUAL = 0x15
_JUMP_IF_AT_LEAST = 0x35
_RETURN = 0x06
_ALLOW = 0x7FFF0000
_FAIL_WITH = 0x00050000
# Where `struct seccomp_data` holds the call's number, the processor's kind, and the low half of its first argument.
_NUMBER, _PROCESSOR, _ARGUMENTS = 0, 4, 16

_PROCESSORS = ("x86_64", "aarch64")
_PROCESSOR_CODES = (0xC000003E, 0xC00000B7)

# Calls with higher numbers came after 2019, the same on both. They fail as on a kernel that does not have them: the C
# library then does with older ones, whose arguments can be looked at. (So do x86-64's calls with 32-bit pointers.)
_FIRST_NEW = 424
_HARMLESS_NEW = {"close_range": 436, "faccessat2": 439, "epoll_pwait2": 441, "futex_waitv": 449}

# The number of each on x86-64 and on 64-bit Arm, which does not have those that a newer one replaces.
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
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "setpriority": (141, 140),
    "sched_setaffinity": (203, 122),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "sched_setattr": (314, 274),
    "ioprio_set": (251, 30),
    "shmget": (29, 194),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mq_open": (240, 180),
    # files
    "creat": (85, None),
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
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    # the system
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "unshare": (272, 97),
    "setns": (308, 268),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "perf_event_open": (298, 241),
    "add_key": (248, 217),
    "keyctl": (250, 219),
}

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CLONE_THREAD = 0x00010000
# FIOCLEX, FIONBIO, FIONREAD, TCGETS: what a C library asks of a file that it opens.
_HARMLESS_CONTROLS = [0x5451, 0x5421, 0x541B, 0x5401]
# Copies of descriptors, their flags, and locks; above all not who is sent a signal when one can be read.
_HARMLESS_FILE_CONTROLS = [
    fcntl.F_DUPFD,
    fcntl.F_DUPFD_CLOEXEC,
    fcntl.F_GETFD,
    fcntl.F_SETFD,
    fcntl.F_GETFL,
    fcntl.F_SETFL,
    fcntl.F_GETLK,
    fcntl.F_SETLK,
    fcntl.F_SETLKW,
]
_ALL_BITS = 0xFFFFFFFF


def refuse_system_calls() -> bool:
    """Whether this process can from now on use no network, touch no other process and change no file.

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
    failed: int = prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.c_char_p(described), 0, 0)
    return not failed


def _write_filter(processor: int) -> Iterator[bytes]:
    """The filter's instructions. A jump skips as many of them as it says, if so and if not."""
    denied = _FAIL_WITH | errno.EPERM
    yield _instruction(_LOAD_WORD, _PROCESSOR)
    yield _instruction(_JUMP_IF_EQUAL, _PROCESSOR_CODES[processor], 1, 0)
    yield _instruction(_RETURN, denied)
    yield _instruction(_LOAD_WORD, _NUMBER)
    for harmless in _HARMLESS_NEW.values():
        yield _instruction(_JUMP_IF_EQUAL, harmless, 0, 1)
        yield _instruction(_RETURN, _ALLOW)
    yield _instruction(_JUMP_IF_AT_LEAST, _FIRST_NEW, 0, 1)
    yield _instruction(_RETURN, _FAIL_WITH | errno.ENOSYS)
    for numbers in _NEVER.values():
        if (number := numbers[processor]) is not None:
            yield _instruction(_JUMP_IF_EQUAL, number, 0, 1)
            yield _instruction(_RETURN, denied)
    itself = os.getpid()
    for numbers, argument, bits, allowed in (
        ((2, None), 1, _WRITING, [0]),  # open
        ((257, 56), 2, _WRITING, [0]),  # openat
        ((56, 220), 0, _CLONE_THREAD, [_CLONE_THREAD]),  # clone
        ((234, 131), 0, _ALL_BITS, [itself]),  # tgkill, by which a process aborts
        ((302, 261), 0, _ALL_BITS, [0, itself]),  # prlimit64
        ((16, 29), 1, _ALL_BITS, _HARMLESS_CONTROLS),  # ioctl
        ((72, 25), 1, _ALL_BITS, _HARMLESS_FILE_CONTROLS),  # fcntl
        ((157, 167), 0, _ALL_BITS, [PR_SET_NAME, _PR_GET_NAME]),  # prctl
    ):
        if (number := numbers[processor]) is not None:
            yield from _allow_only(number, argument, bits, allowed)
    yield _instruction(_RETURN, _ALLOW)


def _allow_only(number: int, argument: int, bits: int, allowed: list[int]) -> Iterator[bytes]:
    """Of this call, allow only those in which these bits of an argument are one of the allowed values."""
    yield _instruction(_JUMP_IF_EQUAL, number, 0, 4 + len(allowed))
    yield _instruction(_LOAD_WORD, _ARGUMENTS + 8 * argument)
    yield _instruction(_AND, bits)
    for left, value in reversed(list(enumerate(allowed))):
        yield _instruction(_JUMP_IF_EQUAL, value, left + 1, 0)
    yield _instruction(_RETURN, _FAIL_WITH | errno.EPERM)
    yield _instruction(_RETURN, _ALLOW)


def _instruction(code: int, value: int, if_so: int = 0, if_not: int = 0) -> bytes:
    return _INSTRUCTION.pack(code, if_so, if_not, value)
