"""Giving up what takes too long."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import thread_time

import apsw

from kb.engine.errors import TooBroad

# How often SQLite looks at the clock, in its own steps: about every millisecond.
STEPS_BETWEEN_LOOKS = 10_000


@contextmanager
def time_limited(db: apsw.Connection, seconds: float) -> Iterator[None]:
    """Raises `TooBroad` when the block has taken so long; the connection can be used on.

    It is the thread's own time that counts, so that nobody is turned away because the machine is busy or its disk slow.
    What FTS5 does between two rows is not interrupted.
    """
    deadline = thread_time() + seconds
    db.set_progress_handler(lambda: thread_time() > deadline, STEPS_BETWEEN_LOOKS)
    try:
        yield
    except apsw.InterruptError as error:
        if thread_time() > deadline:
            raise TooBroad("These words are in too many documents to be looked for. Use rarer ones.") from error
        raise
    finally:
        db.set_progress_handler(None)
