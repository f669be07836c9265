"""Forgetting what is old: finished jobs, the originals that only they kept, and the audit log."""

import logging
import threading
from collections.abc import Callable
from datetime import datetime, timedelta

from kb.engine.errors import StorageFull, Unavailable
from kb.engine.originals import Originals
from kb.engine.ports import Store

log = logging.getLogger(__name__)

KEEP_FINISHED_JOBS = timedelta(days=30)
KEEP_AUDIT_LOG = timedelta(days=365)
EVERY_SECONDS = 3600.0


def forget_the_old(store: Store, originals: Originals, now: datetime) -> None:
    released = store.delete_finished_jobs(finished_before=now - KEEP_FINISHED_JOBS)
    originals.release(released, store.is_original_in_use)
    store.forget_audit_log(before=now - KEEP_AUDIT_LOG)


def keep_forgetting(
    store: Store, originals: Originals, clock: Callable[[], datetime], stopping: threading.Event
) -> None:
    """Forget what is old at once, and then every hour until told to stop."""
    while True:
        try:
            forget_the_old(store, originals, clock())
            originals.remove_strays(store.is_original_in_use)
        except (Unavailable, StorageFull) as error:
            log.warning("What is old could not be forgotten; trying again later. %s", error.message)
        if stopping.wait(EVERY_SECONDS):
            return
