"""Keeping search quick, whatever is added and deleted."""

import logging
import threading
from collections.abc import Callable
from datetime import datetime

from kb.engine.errors import StorageFull, Unavailable
from kb.engine.originals import Originals
from kb.engine.ports import Store

log = logging.getLogger(__name__)

EVERY_SECONDS = 5.0
AGAIN_AFTER_SECONDS = 60.0


def tune(store: Store, originals: Originals, clock: Callable[[], datetime], stopping: threading.Event) -> None:
    """See to it again and again that search stays quick, until told to stop."""
    while True:
        rest = EVERY_SECONDS
        try:
            store.tune_search()
        except (Unavailable, StorageFull) as error:
            log.warning("What keeps search quick could not be done; trying again later. %s", error.message)
            rest = AGAIN_AFTER_SECONDS
        if stopping.wait(rest):
            return
