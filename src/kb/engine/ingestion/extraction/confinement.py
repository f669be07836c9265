"""Confines a process that reads untrusted files. It cannot outlive its parent, use up the machine, reach the network,
start programs, change a file, or affect another process.

The resource limits hold on every Unix (the limit of memory not on macOS). On Linux the kernel also refuses all system
calls except those that reading needs. If it has Landlock, it also refuses all files except the one to read and the
libraries: a parser that is taken over by the file can then only send text to its parent. Without Landlock it can also
read other files of the same user.
"""

import ctypes
import mimetypes
import os
import resource
import signal
import struct
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import kb
from kb.engine.ingestion.extraction.landlock import open_nothing_but
from kb.engine.ingestion.extraction.system_calls import PR_SET_NAME, refuse_system_calls, refuse_threads
from kb.hidden_memory import hide_memory

__all__ = ["allow_cpu_seconds", "be_known_as", "confine", "give_way", "refuse_threads"]

_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38
_LESS_URGENT_THAN_THE_PARENT = 5
_LAST = 19


# The files that libraries open: other libraries, fonts, time zones, MIME types, the number and kind of the processors.
# Some libraries fail if a file exists but cannot be opened.
_SYSTEM_FILES = (
    *map(str, mimetypes.knownfiles),
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/local/lib",
    "/usr/share",
    "/usr/local/share",
    "/nix/store",
    "/gnu/store",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/fonts",
    "/etc/ssl/openssl.cnf",
    "/etc/pki/tls/openssl.cnf",
    "/etc/crypto-policies",
    "/proc/self",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/sys/devices/system/cpu",
    "/dev/null",
    "/dev/urandom",
)


def confine(*, memory_bytes: int, cpu_seconds: int, parent: int, file: Path, starts_threads: bool = False) -> bool:
    """Give up all rights that reading this file does not need. Must be called before a parser is imported, and cannot
    be undone. A process that starts threads calls `refuse_threads` once they run, and only then reads the file.

    False if the kernel has not taken the network, other processes and the writing of files.
    """
    # Whoever is told to come again goes on: most files are read sooner than that.
    _give_session(os.nice(_LESS_URGENT_THAN_THE_PARENT))
    _limit(resource.RLIMIT_AS, memory_bytes)
    # At the hard limit it would be killed without a word of what for.
    _limit(resource.RLIMIT_CPU, cpu_seconds, hard=cpu_seconds + 5)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_NOFILE, 64)
    is_linux = sys.platform == "linux"
    if is_linux:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        ctypes.CDLL(None).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        _give_up_capabilities()
        # Readers of the same user must not read one another's documents.
        hide_memory()
        open_nothing_but([str(file), *_find_libraries(file)])
    # It may have died before it could be followed.
    if os.getppid() != parent:
        sys.exit(1)
    return is_linux and refuse_system_calls(but_threads=starts_threads)


def _give_up_capabilities() -> None:
    """Drop the capabilities of root. With them a reader could raise its own limits."""
    # Version 3 of the call, in which each set has 64 bits, and 0 for the calling process.
    header = struct.pack("Ii", 0x20080522, 0)
    ctypes.CDLL(None).capset(header, bytes(24))


def _find_libraries(file: Path) -> Iterator[str]:
    """The folders from which Python imports, and the files that imported modules open."""
    yield os.path.dirname(kb.__file__)
    # Python's standard library, which may be outside of the system's folders of libraries.
    yield os.path.dirname(os.path.dirname(os.__file__))
    place = os.path.realpath(file)
    for folder in sys.path:
        # The current folder may be in `sys.path` and contain all documents. So a folder above the file is left out.
        if not place.startswith(os.path.join(os.path.realpath(folder), "")):
            yield folder
    yield from _SYSTEM_FILES


def be_known_as(name: str) -> None:
    """In lists of processes: one that is forked off another has that one's command line."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_NAME, name.encode(), 0, 0, 0)


def give_way() -> None:
    """Take from now on only what is left over of the processors. Called before `confine`."""
    niceness = os.nice(_LAST)
    for _ in range(10):
        if _give_session(niceness):
            return
        time.sleep(0.05)


def _give_session(niceness: int) -> bool:
    """Where each session is scheduled as one, only its own niceness counts: if this process has one, set that.

    False if it has to be tried again: it can be set ten times a second, by all processes together.
    """
    if os.getsid(0) != os.getpid():
        return True
    try:
        Path("/proc/self/autogroup").write_text(str(niceness))
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def allow_cpu_seconds(seconds: int) -> None:
    """From now on; what is allowed in all stays. Whoever takes more dies of it."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (min(int(used.ru_utime + used.ru_stime) + seconds, most), most))


def _limit(what: int, soft: int, hard: int | None = None) -> None:
    _, most = resource.getrlimit(what)
    if most == resource.RLIM_INFINITY:
        most = max(soft, hard or 0)
    resource.setrlimit(what, (min(soft, most), min(soft if hard is None else hard, most)))
