"""Who waits for whom: the bound of the queue, its lanes, and jobs that a worker gives back."""

from contextlib import closing

import pytest
from tests.backends import Backend
from tests.handmade_documents import LEASE, NOW, claim_new_job

from kb.engine.errors import TooManyRequests, Unavailable
from kb.engine.model import Claim, FileSubmission, JobError, JobStatus, Lane, NoteSubmission
from kb.engine.ports import ClaimLost, Store

A_FILE = FileSubmission("ab" * 32, "a.txt", "txt", 3)


def claim_note(store: Store) -> Claim:
    claim = store.claim_job(Lane.INTERACTIVE, now=NOW, lease_until=NOW + LEASE)
    assert claim is not None
    return claim


def test_e4_the_queue_of_notes_and_that_of_files_are_bounded_each_by_itself(store: Store) -> None:
    for number in range(2):
        store.add_job(A_FILE, idempotency_key=f"file {number}", max_queued=2, now=NOW)

    with pytest.raises(TooManyRequests):
        store.add_job(A_FILE, idempotency_key=None, max_queued=2, now=NOW)
    again = store.add_job(A_FILE, idempotency_key="file 0", max_queued=2, now=NOW)
    note = store.add_job(NoteSubmission("text"), idempotency_key=None, max_queued=2, now=NOW)

    assert (again.id, note.status) == (1, JobStatus.QUEUED)


def test_e4_there_is_room_again_when_a_job_is_taken(store: Store) -> None:
    store.add_job(A_FILE, idempotency_key=None, max_queued=1, now=NOW)
    store.claim_job(Lane.BULK, now=NOW, lease_until=NOW + LEASE)

    assert store.add_job(A_FILE, idempotency_key=None, max_queued=1, now=NOW).status is JobStatus.QUEUED


def test_a_note_need_not_wait_for_a_file_that_takes_long(store: Store) -> None:
    store.add_job(A_FILE, idempotency_key=None, max_queued=9, now=NOW)
    store.claim_job(Lane.BULK, now=NOW, lease_until=NOW + LEASE)
    note = store.add_job(NoteSubmission("text"), idempotency_key=None, max_queued=9, now=NOW)

    in_bulk = store.claim_job(Lane.BULK, now=NOW, lease_until=NOW + LEASE)
    claim = store.claim_job(Lane.INTERACTIVE, now=NOW, lease_until=NOW + LEASE)

    assert in_bulk is None
    assert claim is not None
    assert claim.job_id == note.id


def test_a_file_need_not_wait_for_work_on_all_documents(store: Store) -> None:
    store.add_reindex(now=NOW)
    store.claim_job(Lane.UPKEEP, now=NOW, lease_until=NOW + LEASE)
    file = store.add_job(A_FILE, idempotency_key=None, max_queued=9, now=NOW)

    claim = store.claim_job(Lane.BULK, now=NOW, lease_until=NOW + LEASE)

    assert claim is not None
    assert claim.job_id == file.id


def test_e4_who_has_no_room_is_told_before_anything_is_sent(store: Store) -> None:
    store.add_job(A_FILE, idempotency_key=None, max_queued=1, now=NOW)

    store.require_room(NoteSubmission, max_queued=1)
    with pytest.raises(TooManyRequests):
        store.require_room(FileSubmission, max_queued=1)


def test_a_worker_with_another_model_than_the_engine_takes_no_job(backend: Backend, store: Store) -> None:
    """E28"""
    store.adopt_model(now=NOW)
    store.add_job(NoteSubmission("text"), idempotency_key=None, max_queued=9, now=NOW)

    with closing(backend.open("another")) as other, pytest.raises(Unavailable, match="another"):
        other.claim_job(Lane.INTERACTIVE, now=NOW, lease_until=NOW + LEASE)

    assert claim_note(store).attempt == 1


def test_a_job_given_back_waits_again_and_that_attempt_does_not_count(store: Store) -> None:
    claim = claim_new_job(store)
    for _ in range(10):
        store.release_claim(claim, available_at=NOW)
        assert store.get_job(claim.job_id).status is JobStatus.QUEUED
        claim = claim_note(store)

    assert claim.failures == 0
    store.fail_job(claim, JobError("unavailable", "Later."), retry_at=NOW, now=NOW)
    assert store.get_job(claim.job_id).status is JobStatus.QUEUED


def test_e24_who_has_lost_a_job_cannot_give_it_back(store: Store) -> None:
    late = claim_new_job(store)
    store.claim_job(Lane.INTERACTIVE, now=NOW + 2 * LEASE, lease_until=NOW + 3 * LEASE)

    with pytest.raises(ClaimLost):
        store.release_claim(late, available_at=NOW)
