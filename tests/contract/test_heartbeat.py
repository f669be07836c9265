import threading
from datetime import timedelta

import pytest
from tests.handmade_documents import NOW, claim_new_job

from kb.engine.ingestion.heartbeat import Heartbeat, Stopping
from kb.engine.model import Claim, Progress
from kb.engine.ports import ClaimLost, Store


def progress_of(step: int) -> Progress:
    return Progress("Extracting text", step, 10, f"Processing page {step} of 10")


def start(store: Store, claim: Claim, stopping: threading.Event | None = None) -> Heartbeat:
    return Heartbeat(store, claim, lambda: NOW, stopping or threading.Event())


def test_what_is_told_at_once_is_written_at_once(store: Store) -> None:
    """I4"""
    claim = claim_new_job(store)

    with start(store, claim) as heartbeat:
        heartbeat.report(progress_of(9))
        heartbeat.report(progress_of(10), at_once=True)

        assert store.get_job(claim.job_id).progress == progress_of(10)


def test_progress_is_written_a_few_times_a_second_at_most(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kb.engine.ingestion.heartbeat.SECONDS_BETWEEN_REPORTS", 3600)
    # Each beat writes the latest, too.
    monkeypatch.setattr("kb.engine.ingestion.heartbeat.HEARTBEAT", timedelta(hours=1))
    claim = claim_new_job(store)

    with start(store, claim) as heartbeat:
        heartbeat.report(progress_of(1))

        assert store.get_job(claim.job_id).progress != progress_of(1)


def test_a_report_on_a_cancelled_job_ends_it(store: Store) -> None:
    """E7"""
    claim = claim_new_job(store)

    with start(store, claim) as heartbeat:
        store.cancel_job(claim.job_id, now=NOW)

        with pytest.raises(ClaimLost):
            heartbeat.report(progress_of(1), at_once=True)


def test_a_worker_that_stops_ends_the_job_after_a_grace(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kb.engine.ingestion.heartbeat.FINISH_WITHIN_SECONDS", 0.0)
    monkeypatch.setattr("kb.engine.ingestion.heartbeat.HEARTBEAT", NOW - NOW)
    stopping = threading.Event()
    stopping.set()

    def report_until_stopped(heartbeat: Heartbeat) -> None:
        while True:
            heartbeat.report(progress_of(1))

    with start(store, claim_new_job(store), stopping) as heartbeat, pytest.raises(Stopping):
        report_until_stopped(heartbeat)
