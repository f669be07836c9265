"""The machine's clock is set to another time while there are jobs. Time is given, so each is a matter of numbers."""

from datetime import timedelta

import pytest
from tests.handmade_documents import LEASE, NOW, claim_new_job

from kb.engine.model import Claim, JobError, JobStatus, Lane, NoteSubmission
from kb.engine.ports import Store

DAY = timedelta(days=1)
LEAPS = [-10 * 365 * DAY, -DAY, timedelta(hours=-1), timedelta(hours=1), DAY, 10 * 365 * DAY]


def add_note(store: Store) -> None:
    store.add_job(NoteSubmission("text"), idempotency_key=None, max_queued=9, now=NOW)


def claim_after(store: Store, leap: timedelta) -> Claim | None:
    return store.claim_job(Lane.INTERACTIVE, now=NOW + leap, lease_until=NOW + leap + LEASE)


@pytest.mark.parametrize("leap", LEAPS, ids=str)
def test_e24_a_job_that_waits_is_taken_whatever_the_clock_says_by_now(store: Store, leap: timedelta) -> None:
    add_note(store)

    assert claim_after(store, leap) is not None


@pytest.mark.parametrize("leap", LEAPS, ids=str)
def test_e24_the_job_of_a_dead_worker_is_taken_over_whatever_the_clock_says_by_now(
    store: Store, leap: timedelta
) -> None:
    dead = claim_new_job(store)

    claim = claim_after(store, leap)

    assert claim is not None
    assert claim.attempt == dead.attempt + 1


@pytest.mark.parametrize("leap", LEAPS, ids=str)
def test_e24_a_job_that_is_held_is_nobody_elses_once_its_worker_knows_the_new_time(
    store: Store, leap: timedelta
) -> None:
    claim = claim_new_job(store)
    store.renew_claim(claim, store.get_job(claim.job_id).progress, lease_until=NOW + leap + LEASE)

    assert claim_after(store, leap) is None


def test_e24_a_clock_that_is_set_back_by_two_seconds_makes_a_job_wait_for_two(store: Store) -> None:
    add_note(store)
    leap = timedelta(seconds=-2)

    too_early, in_time = claim_after(store, leap), claim_after(store, timedelta(0))

    assert too_early is None
    assert in_time is not None


@pytest.mark.parametrize("leap", [-DAY, DAY], ids=str)
def test_e24_a_job_that_kills_its_workers_is_given_up_whatever_the_clock_says_by_now(
    store: Store, leap: timedelta
) -> None:
    claim = claim_new_job(store)
    for attempt in range(1, 5):
        claim_after(store, attempt * 2 * LEASE)

    claim_after(store, leap)

    assert store.get_job(claim.job_id).status is JobStatus.FAILED


def test_e24_a_retry_waits_for_its_moment_and_not_for_longer_than_any_retry_does(store: Store) -> None:
    claim = claim_new_job(store)
    trouble = JobError("unavailable", "Later.")
    store.fail_job(claim, trouble, retry_at=NOW + timedelta(seconds=64), now=NOW)

    assert claim_after(store, timedelta(seconds=63)) is None
    assert claim_after(store, -DAY) is not None
