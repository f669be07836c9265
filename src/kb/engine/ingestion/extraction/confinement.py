"""What a process that reads strangers' files may not do: outlive its parent, eat the machine, reach the network, start
programs, or change a file.

The limits hold on every Unix (that of memory not on macOS). On Linux the kernel also refuses the system calls for the
rest: a parser that is taken over by the file it reads can then read other files of the same user, and send text to its
parent, but nothing else.
"""

import ctypes
import os
import resource
import signal
import sys
import time
from pathlib import Path

from kb.engine.ingestion.extraction.system_calls import PR_SET_NAME, refuse_system_calls

_PR_SET_PDEATHSIG = 1
_LESS_URGENT_THAN_THE_PARENT = 5
_LAST = 19


def confine(*, memory_bytes: int, cpu_seconds: int, parent: int) -> bool:
    """Give up all that reading does not need. Called before any parser is imported; nothing of it can be undone.

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
    # It may have died before it could be followed.
    if os.getppid() != parent:
        sys.exit(1)
    return is_linux and refuse_system_calls()


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
