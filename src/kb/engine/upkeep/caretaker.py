"""One worker of a base does what one is enough for: forgetting, checking, tuning, the map.

It holds a lease, as it does of a job. When it is gone, another takes its place once the lease has run out.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

from kb.engine.errors import StorageFull, Unavailable
from kb.engine.ports import Store

log = logging.getLogger(__name__)

LEASE = timedelta(seconds=15)
RENEW_EVERY_SECONDS = 5.0

Duty = Callable[[threading.Event], None]
"""Goes on until the event is set."""


def take_care(
    store: Store, owner: str, duties: Sequence[Duty], clock: Callable[[], datetime], stopping: threading.Event
) -> None:
    """Whenever it is for this worker to do so, do all duties side by side, until told to stop."""
    while not stopping.is_set():
        if _is_in_charge(store, owner, clock()):
            _do_duties(store, owner, duties, clock, stopping)
        stopping.wait(RENEW_EVERY_SECONDS)


def _do_duties(
    store: Store, owner: str, duties: Sequence[Duty], clock: Callable[[], datetime], stopping: threading.Event
) -> None:
    off_duty = threading.Event()
    # Each needs a thread of its own: by itself the pool has as many as the machine has cores, and some more.
    with ThreadPoolExecutor(len(duties)) as threads:
        running = [threads.submit(duty, off_duty) for duty in duties]
        try:
            while not stopping.wait(RENEW_EVERY_SECONDS) and _is_in_charge(store, owner, clock()):
                if any(duty.done() for duty in running):
                    # One that failed for a reason nobody foresaw takes the others with it.
                    break
        finally:
            off_duty.set()
    for duty in running:
        duty.result()


def _is_in_charge(store: Store, owner: str, now: datetime) -> bool:
    try:
        return store.claim_upkeep(owner, now=now, lease_until=now + LEASE)
    except (Unavailable, StorageFull) as error:
        log.warning("Who is to look after the base cannot be told now: %s", error.message)
        return False
