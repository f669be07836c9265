"""Makes Linux allow a process only the system calls that reading a file needs (seccomp).

The filter is a list of instructions that the kernel runs at each call; once set, it cannot be removed. The
list of allowed calls was found by tracing the readers of all sample files. It also contains harmless variants of those
calls, which another C library may use.
"""

import ctypes
import errno
import fcntl
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager

PR_SET_NAME = 15
_PR_GET_NAME = 16
_PR_SET_SECCOMP = 22
_SECCOMP_MODE_FILTER = 2
_SET_MODE_FILTER = 1
# The filter then holds for all threads of the process, not only for the one that sets it.
_FOR_ALL_THREADS = 1

_INSTRUCTION = struct.Struct("HBBI")
_LOAD_WORD = 0x20
_AND = 0x54
_JUMP_IF_EQUAL = 0x15
_JUMP_IF_AT_LEAST = 0x35
_RETURN = 0x06
_ALLOW = 0x7FFF0000
_FAIL_WITH = 0x00050000
_DENY = _FAIL_WITH | errno.EPERM
# Where `struct seccomp_data` holds the call's number, the processor's kind, and the low half of its first argument.
_NUMBER, _PROCESSOR, _ARGUMENTS = 0, 4, 16

_PROCESSORS = ("x86_64", "aarch64")
_PROCESSOR_CODES = (0xC000003E, 0xC00000B7)

# Calls with higher numbers came after 2019, the same on both. They fail as on a kernel that does not have them: the C
# library then does with older ones, whose arguments can be looked at. (So do x86-64's calls with 32-bit pointers.)
_FIRST_NEW = 424

_CLONE = (56, 220)
_SECCOMP = (317, 277)
ALLOWED_CALLS = {
    # The number of each call on x86-64 and on 64-bit Arm. Arm lacks calls that have a newer replacement.
    # The most frequent calls come first.
    "read": (0, 63),
    "lseek": (8, 62),
    "brk": (12, 214),
    "mmap": (9, 222),
    "munmap": (11, 215),
    "futex": (202, 98),
    "fstat": (5, 80),
    "newfstatat": (262, 79),
    "stat": (4, None),
    "close": (3, 57),
    "mprotect": (10, 226),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "write": (1, 64),
    # open files, and the state and path of files
    "readv": (19, 65),
    "pread64": (17, 67),
    "preadv": (295, 69),
    "preadv2": (327, 286),
    "writev": (20, 66),
    "lstat": (6, None),
    "statx": (332, 291),
    "statfs": (137, 43),
    "fstatfs": (138, 44),
    "access": (21, None),
    "faccessat": (269, 48),
    "faccessat2": (439, 439),
    "readlink": (89, None),
    "readlinkat": (267, 78),
    "getcwd": (79, 17),
    "getdents": (78, None),
    "getdents64": (217, 61),
    "fadvise64": (221, 223),
    "dup": (32, 23),
    "dup2": (33, None),
    "dup3": (292, 24),
    "close_range": (436, 436),
    "poll": (7, None),
    "ppoll": (271, 73),
    "select": (23, None),
    "pselect6": (270, 72),
    # the process itself and its threads
    "getpid": (39, 172),
    "getppid": (110, 173),
    "gettid": (186, 178),
    "getuid": (102, 174),
    "geteuid": (107, 175),
    "getgid": (104, 176),
    "getegid": (108, 177),
    "getrlimit": (97, 163),
    "getrusage": (98, 165),
    "times": (100, 153),
    "arch_prctl": (158, None),
    "set_tid_address": (218, 96),
    "set_robust_list": (273, 99),
    "rseq": (334, 293),
    "membarrier": (324, 283),
    "futex_waitv": (449, 449),
    "sched_yield": (24, 124),
    "sched_getaffinity": (204, 123),
    "sched_getscheduler": (145, 120),
    "sched_getparam": (143, 121),
    "sched_get_priority_max": (146, 125),
    "sched_get_priority_min": (147, 126),
    "getcpu": (309, 168),
    "exit": (60, 93),
    "exit_group": (231, 94),
    # signals that the process gets
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "sigaltstack": (131, 132),
    "restart_syscall": (219, 128),
    # time, random numbers, facts about the machine
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "clock_nanosleep": (230, 115),
    "nanosleep": (35, 101),
    "gettimeofday": (96, 169),
    "time": (201, None),
    "getrandom": (318, 278),
    "uname": (63, 160),
    "sysinfo": (99, 179),
}

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CLONE_THREAD = 0x00010000
# FIOCLEX, FIONBIO, FIONREAD, TCGETS: what a C library asks of a file that it opens.
_HARMLESS_CONTROLS = [0x5451, 0x5421, 0x541B, 0x5401]
# Only copies of descriptors and their flags. Not locks: other processes would wait for them. Not F_SETOWN: it makes the
# kernel send signals to another process.
_HARMLESS_FILE_CONTROLS = [
    fcntl.F_DUPFD,
    fcntl.F_DUPFD_CLOEXEC,
    fcntl.F_GETFD,
    fcntl.F_SETFD,
    fcntl.F_GETFL,
    fcntl.F_SETFL,
]
_ALL_BITS = 0xFFFFFFFF


def refuse_system_calls(*, but_threads: bool) -> bool:
    """Whether this process can from now on use no network, touch no other process and change no file.

    With `but_threads` it can start threads until it calls `refuse_threads`.
    False where the kernel or the processor is not one that this module knows. Needs PR_SET_NO_NEW_PRIVS.
    """
    processor = _find_processor()
    if processor is None:
        return False
    with _described(_write_filter(processor, but_threads=but_threads)) as described:
        return _set_filter(described)


def refuse_threads() -> None:
    """Refuse new threads; running ones go on. For a process that was allowed threads. Does nothing without seccomp."""
    processor = _find_processor()
    if processor is None:
        return
    # A service may not be allowed the call `seccomp`. Then `prctl` sets the filter for this thread alone.
    with _described(_write_filter_of_threads(processor)) as described:
        if ctypes.CDLL(None).syscall(_SECCOMP[processor], _SET_MODE_FILTER, _FOR_ALL_THREADS, described) != 0:
            _set_filter(described)


def _find_processor() -> int | None:
    machine = os.uname().machine
    return _PROCESSORS.index(machine) if machine in _PROCESSORS else None


@contextmanager
def _described(instructions: Iterator[bytes]) -> Iterator[ctypes.c_char_p]:
    """The filter in the form that the kernel takes: the number of instructions and their address."""
    program = b"".join(instructions)
    kept = ctypes.create_string_buffer(program)
    yield ctypes.c_char_p(struct.pack("HxxxxxxP", len(program) // _INSTRUCTION.size, ctypes.addressof(kept)))


def _set_filter(described: ctypes.c_char_p) -> bool:
    failed: int = ctypes.CDLL(None).prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, described, 0, 0)
    return not failed


def _write_filter(processor: int, *, but_threads: bool) -> Iterator[bytes]:
    """The filter's instructions. A jump skips as many of them as it says, if so and if not."""
    yield _instruction(_LOAD_WORD, _PROCESSOR)
    yield _instruction(_JUMP_IF_EQUAL, _PROCESSOR_CODES[processor], 1, 0)
    yield _instruction(_RETURN, _DENY)
    yield _instruction(_LOAD_WORD, _NUMBER)
    allowed = [number for numbers in ALLOWED_CALLS.values() if (number := numbers[processor]) is not None]
    # Each comparison that matches jumps over the rest to the instruction that allows the call. If the last one does not
    # match, it jumps over that instruction.
    for left, number in zip(reversed(range(len(allowed))), allowed, strict=True):
        yield _instruction(_JUMP_IF_EQUAL, number, left, 0 if left else 1)
    yield _instruction(_RETURN, _ALLOW)
    itself = os.getpid()
    threads = [(_CLONE, 0, _CLONE_THREAD, [_CLONE_THREAD]), (_SECCOMP, 1, _ALL_BITS, [_FOR_ALL_THREADS])]
    for numbers, argument, bits, values in (
        ((2, None), 1, _WRITING, [0]),  # open
        ((257, 56), 2, _WRITING, [0]),  # openat
        ((234, 131), 0, _ALL_BITS, [itself]),  # tgkill, by which a process aborts
        ((200, 130), 0, _ALL_BITS, [itself]),  # tkill, by which a process aborts with musl
        ((302, 261), 0, _ALL_BITS, [0, itself]),  # prlimit64
        ((16, 29), 1, _ALL_BITS, _HARMLESS_CONTROLS),  # ioctl
        ((72, 25), 1, _ALL_BITS, _HARMLESS_FILE_CONTROLS),  # fcntl
        ((157, 167), 0, _ALL_BITS, [PR_SET_NAME, _PR_GET_NAME]),  # prctl
        *(threads if but_threads else []),
    ):
        if (number := numbers[processor]) is not None:
            yield from _allow_only(number, argument, bits, values)
    yield _instruction(_JUMP_IF_AT_LEAST, _FIRST_NEW, 0, 1)
    yield _instruction(_RETURN, _FAIL_WITH | errno.ENOSYS)
    yield _instruction(_RETURN, _DENY)


def _write_filter_of_threads(processor: int) -> Iterator[bytes]:
    """The filter that refuses new threads. It is added to the first one, which has checked the processor."""
    yield _instruction(_LOAD_WORD, _NUMBER)
    for call in (_CLONE, _SECCOMP):
        yield _instruction(_JUMP_IF_EQUAL, call[processor], 0, 1)
        yield _instruction(_RETURN, _DENY)
    yield _instruction(_RETURN, _ALLOW)


def _allow_only(number: int, argument: int, bits: int, allowed: list[int]) -> Iterator[bytes]:
    """Of this call, allow only those in which these bits of an argument are one of the allowed values."""
    yield _instruction(_JUMP_IF_EQUAL, number, 0, 4 + len(allowed))
    yield _instruction(_LOAD_WORD, _ARGUMENTS + 8 * argument)
    yield _instruction(_AND, bits)
    for left, value in reversed(list(enumerate(allowed))):
        yield _instruction(_JUMP_IF_EQUAL, value, left + 1, 0)
    yield _instruction(_RETURN, _DENY)
    yield _instruction(_RETURN, _ALLOW)


def _instruction(code: int, value: int, if_so: int = 0, if_not: int = 0) -> bytes:
    return _INSTRUCTION.pack(code, if_so, if_not, value)
