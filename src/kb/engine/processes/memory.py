"""What a process keeps of the memory that it no longer uses."""

import ctypes
import sys

# Of glibc's malloc.h.
_M_ARENA_MAX = -8
_ARENAS = 2


def share_memory_among_threads() -> None:
    """Have all threads use the same few heaps, with glibc. To be called before there are many threads.

    By default each thread gets a heap of its own, and every heap keeps what it once needed: with forty threads that
    serve requests, forty times the largest array that one of them ever made. They hold Python's lock most of the time,
    so they hardly wait for one another's heap.
    """
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(_M_ARENA_MAX, _ARENAS)
