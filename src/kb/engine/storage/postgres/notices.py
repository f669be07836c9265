"""Hearing of jobs as soon as they are submitted, on whichever machine: without it, workers look twice a second."""

import logging
import threading
from collections.abc import Callable
from contextlib import closing

import psycopg

from kb.engine.storage.postgres.connection import JOB_NOTICES
from kb.engine.storage.postgres.database import keep_alive

log = logging.getLogger(__name__)

LOOK_EVERY_SECONDS = 1.0
CONNECT_AGAIN_AFTER_SECONDS = 5.0


def watch_jobs(url: str, on_job: Callable[[], None], stopping: threading.Event) -> None:
    while not stopping.is_set():
        try:
            with closing(psycopg.connect(autocommit=True, **keep_alive(url))) as connection:
                connection.execute(f"LISTEN {JOB_NOTICES}")
                while not stopping.is_set():
                    for _ in connection.notifies(timeout=LOOK_EVERY_SECONDS, stop_after=1):
                        on_job()
        except psycopg.Error:
            # Some relatives of PostgreSQL, and some poolers in front of it, pass no notices on.
            log.debug("Notices of jobs cannot be heard now.", exc_info=True)
            stopping.wait(CONNECT_AGAIN_AFTER_SECONDS)
