"""Checking all that is stored, slowly and in the background: a disk tells nobody that it has lost something.

One pass a week finds damage while there are still backups from before it. It rests ten times as long as it works, and
stands back for jobs. Its place is kept in the base, so a worker that is stopped now and then still comes to the end.
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from kb.engine.errors import StorageFull, Unavailable
from kb.engine.integrity import check_in_steps
from kb.engine.model import CheckCursor, Scrub
from kb.engine.originals import Originals
from kb.engine.ports import Store

log = logging.getLogger(__name__)

EVERY = timedelta(days=7)
# Whoever has repaired what was found should not be told of it for another week.
EVERY_AFTER_DAMAGE = timedelta(days=1)
LOOK_EVERY_SECONDS = 60.0
REST_PER_WORK = 10

Rest = Callable[[float], bool]
"""Waits so many seconds; true if it is time to stop altogether."""


def scrub(store: Store, originals: Originals, clock: Callable[[], datetime], stopping: threading.Event) -> None:
    """Do a pass whenever it is due, until told to stop."""
    while not stopping.is_set():
        try:
            scrub_if_due(store, originals, clock, stopping.wait)
        except _Stopping:
            return
        except (Unavailable, StorageFull) as error:
            log.warning("The check in the background was interrupted; it goes on later. %s", error.message)
        stopping.wait(LOOK_EVERY_SECONDS)


def scrub_if_due(store: Store, originals: Originals, clock: Callable[[], datetime], rest: Rest) -> None:
    """Begin or go on with a pass, to its end or until `rest` says to stop."""
    state = store.read_scrub()
    if state.cursor is None and not _is_due(state, clock()):
        return
    found = state.found
    steps = check_in_steps(store, originals, state.cursor or CheckCursor(), partial(_watch, rest))
    while True:
        if store.count_jobs().has_work:
            if rest(LOOK_EVERY_SECONDS):
                return
            continue
        began = time.monotonic()
        step = next(steps)
        for damage in step.damages:
            log.error("Damage (%s): %s", damage.kind, damage.message)
        found += len(step.damages)
        if step.following is None:
            store.write_scrub(Scrub(finished_at=clock(), damage_count=found))
            return
        if step.following != state.cursor:
            state = replace(state, cursor=step.following, found=found)
            store.write_scrub(state)
        if rest(REST_PER_WORK * (time.monotonic() - began)):
            return


class _Stopping(Exception):
    """In the middle of a step."""


def _watch(rest: Rest) -> None:
    if rest(0):
        raise _Stopping


def _is_due(state: Scrub, now: datetime) -> bool:
    every = EVERY_AFTER_DAMAGE if state.damage_count else EVERY
    return state.finished_at is None or now - state.finished_at >= every
