"""What the exit code of a command tells the script that called it."""

from enum import IntEnum


class Exit(IntEnum):
    DONE = 0
    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    REFUSED = 4
    NOT_AUTHORISED = 5
    UNREACHABLE = 6
    JOB_FAILED = 7
    INTERRUPTED = 130
    """As the shell tells of a program that a signal has ended: 128 and the number of SIGINT."""
