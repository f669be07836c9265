from datetime import timedelta
from uuid import uuid4

import pytest
from tests.handmade_documents import LATER, LEASE, NOW, claim_new_job, commit, file, found_by_text, index, note

from kb.engine.errors import Conflict, JobFinished, JobNotFound
from kb.engine.model import (
    Claim,
    DocumentId,
    DocumentQuery,
    FileSubmission,
    JobError,
    JobId,
    JobStatus,
    Lane,
    NoteSubmission,
    Progress,
    QueueCounts,
)
from kb.engine.ports import ClaimLost, Store

TROUBLE = JobError("unavailable", "The model is away.")
MISTAKE = JobError("corrupt_file", "It cannot be read.")
A_FILE = FileSubmission("ab" * 32, "a.txt", "txt", 3, "Title", ("t",), "/a.txt", {"k": [1]}, force_ocr=True)


def claim_next(store: Store, *, after: timedelta = timedelta(0)) -> Claim | None:
    """The next job of either lane, a note before a file."""
    claims = (store.claim_job(lane, now=NOW + after, lease_until=NOW + after + LEASE) for lane in Lane)
    return next((claim for claim in claims if claim is not None), None)


def is_nothing_there(store: Store) -> bool:
    statistics = store.read_statistics()
    return store.list_documents(DocumentQuery()).total == statistics.chunks == statistics.vectors == 0


def test_e6_a_new_job_waits(store: Store) -> None:
    job = store.add_job(A_FILE, idempotency_key=None, max_queued=100, now=NOW)

    assert job == store.get_job(job.id) == store.get_job(job.uuid)
    assert (job.type, job.status, job.filename, job.attempts) == ("file", JobStatus.QUEUED, "a.txt", 0)
    assert (job.created_at, job.started_at, job.finished_at) == (NOW, None, None)
    assert store.count_jobs() == QueueCounts(queued=1, running=0, failed=0, ever_submitted=1)


@pytest.mark.parametrize("ref", [1, 2**63, uuid4()])
def test_a_job_that_is_not_there_is_not_found(store: Store, ref: int) -> None:
    with pytest.raises(JobNotFound):
        store.get_job(ref)
    with pytest.raises(JobNotFound):
        store.cancel_job(ref, now=NOW)
    with pytest.raises(JobNotFound):
        store.retry_job(ref, now=NOW)


@pytest.mark.parametrize(
    "submission", [A_FILE, NoteSubmission("text", "Title", ("a", "b"), "/n.md", {"k": {"l": None}})]
)
def test_a_claim_brings_back_what_was_submitted(store: Store, submission: FileSubmission | NoteSubmission) -> None:
    job = store.add_job(submission, idempotency_key=None, max_queued=100, now=NOW)

    claim = claim_next(store)

    assert claim == Claim(job.id, 1, 0, submission, "engine", DocumentId(0))
    running = store.get_job(job.id)
    assert (running.status, running.attempts, running.started_at) == (JobStatus.RUNNING, 1, NOW)
    assert claim_next(store) is None


def test_jobs_are_claimed_in_their_order_but_notes_overtake_files(store: Store) -> None:
    jobs = [
        store.add_job(submission, idempotency_key=None, max_queued=100, now=NOW)
        for submission in (A_FILE, NoteSubmission("one"), A_FILE, NoteSubmission("two"))
    ]

    claims = [claim_next(store) for _ in jobs]

    assert [claim and claim.job_id for claim in claims] == [jobs[place].id for place in (1, 3, 0, 2)]


def test_progress_is_told_and_the_lease_renewed(store: Store) -> None:
    claim = claim_new_job(store)

    store.renew_claim(claim, Progress("Reading", 5, 10, "Page 5 of 10"), lease_until=NOW + 3 * LEASE)

    job = store.get_job(claim.job_id)
    assert job.progress == Progress("Reading", 5, 10, "Page 5 of 10")
    assert job.progress.fraction == 0.5
    assert claim_next(store, after=2 * LEASE) is None
    assert claim_next(store, after=4 * LEASE) is not None


def test_a_commit_completes_the_job(store: Store) -> None:
    claim = claim_new_job(store)

    committed = store.commit_document(claim, note("text"), index("a", "b"), now=LATER)

    job = store.get_job(claim.job_id)
    document = store.get_document(committed.document_id)
    assert (job.status, job.finished_at, job.progress.fraction) == (JobStatus.COMPLETED, LATER, 1.0)
    assert (job.document_id, job.document_uuid) == (document.id, document.uuid)
    assert (job.chunks_created, job.is_duplicate, job.error) == (2, False, None)


def test_e24_a_job_whose_worker_is_silent_is_taken_over(store: Store) -> None:
    first = claim_new_job(store)

    too_early = claim_next(store, after=LEASE)
    second = claim_next(store, after=LEASE + timedelta(seconds=1))

    assert too_early is None
    assert second == Claim(first.job_id, 2, 1, first.work, "engine", DocumentId(0))


def test_e24_a_late_worker_can_do_nothing_and_leaves_nothing(store: Store) -> None:
    late = claim_new_job(store)
    current = claim_next(store, after=2 * LEASE)
    assert current is not None

    with pytest.raises(ClaimLost):
        store.renew_claim(late, Progress("x", 1, 2, "x"), lease_until=LATER)
    with pytest.raises(ClaimLost):
        store.commit_document(late, note("walrus", tags=["t"]), index("walrus"), now=LATER)
    with pytest.raises(ClaimLost):
        store.fail_job(late, MISTAKE, retry_at=None, now=LATER)

    assert is_nothing_there(store)
    assert found_by_text(store, "walrus") == []
    assert store.list_tags().rows == []
    assert store.get_job(late.job_id).status is JobStatus.RUNNING
    assert not store.commit_document(current, note("otter"), index("otter"), now=LATER).is_duplicate


def test_e24_a_worker_that_was_slow_may_not_commit_what_another_has_committed(store: Store) -> None:
    late = claim_new_job(store)
    current = claim_next(store, after=2 * LEASE)
    assert current is not None
    store.commit_document(current, note("otter"), index("otter"), now=LATER)

    with pytest.raises(ClaimLost):
        store.commit_document(late, note("otter"), index("otter"), now=LATER)

    assert store.list_documents(DocumentQuery()).total == 1


def test_e24_a_job_that_kills_its_workers_fails_after_five_attempts(store: Store) -> None:
    job = store.add_job(NoteSubmission("x"), idempotency_key=None, max_queued=100, now=NOW)
    claims = [claim_next(store, after=attempt * 2 * LEASE) for attempt in range(5)]
    assert [claim and claim.attempt for claim in claims] == [1, 2, 3, 4, 5]

    sixth = claim_next(store, after=5 * 2 * LEASE)

    ended = store.get_job(job.id)
    assert sixth is None
    assert (ended.status, ended.attempts) == (JobStatus.FAILED, 5)
    assert ended.error is not None
    assert ended.finished_at == NOW + 10 * LEASE


def test_e24_a_hopeless_job_does_not_keep_others_from_being_done(store: Store) -> None:
    store.add_job(NoteSubmission("bad"), idempotency_key=None, max_queued=100, now=NOW)
    for attempt in range(5):
        claim_next(store, after=attempt * 2 * LEASE)
    good = store.add_job(NoteSubmission("good"), idempotency_key=None, max_queued=100, now=NOW)

    claim = claim_next(store, after=10 * LEASE)

    assert claim is not None
    assert claim.job_id == good.id


def test_e24_trouble_is_tried_again_at_most_five_times(store: Store) -> None:
    job = store.add_job(NoteSubmission("x"), idempotency_key=None, max_queued=100, now=NOW)
    statuses = []

    for attempt in range(1, 6):
        claim = claim_next(store)
        assert claim is not None
        assert claim.attempt == attempt
        store.fail_job(claim, TROUBLE, retry_at=NOW, now=NOW)
        statuses.append(store.get_job(job.id).status.value)

    assert statuses == ["queued"] * 4 + ["failed"]
    assert store.get_job(job.id).error == TROUBLE
    assert claim_next(store, after=timedelta(days=1)) is None


def test_a_job_to_be_tried_again_waits_for_its_time(store: Store) -> None:
    claim = claim_new_job(store)
    store.fail_job(claim, TROUBLE, retry_at=NOW + timedelta(seconds=4), now=NOW)

    early = claim_next(store, after=timedelta(seconds=3))
    in_time = claim_next(store, after=timedelta(seconds=4))

    assert early is None
    assert in_time is not None


def test_a_mistake_ends_the_job_at_once(store: Store) -> None:
    claim = claim_new_job(store)

    store.fail_job(claim, MISTAKE, retry_at=None, now=LATER)

    job = store.get_job(claim.job_id)
    assert (job.status, job.error, job.finished_at) == (JobStatus.FAILED, MISTAKE, LATER)
    assert store.count_jobs() == QueueCounts(queued=0, running=0, failed=1, ever_submitted=1)
    assert claim_next(store, after=timedelta(days=1)) is None


def test_e7_a_queued_job_is_cancelled(store: Store) -> None:
    job = store.add_job(NoteSubmission("x"), idempotency_key=None, max_queued=100, now=NOW)

    cancelled = store.cancel_job(job.id, now=LATER)

    assert (cancelled.status, cancelled.finished_at) == (JobStatus.CANCELLED, LATER)
    assert claim_next(store, after=timedelta(days=1)) is None


def test_e7_nothing_of_a_job_cancelled_while_running_is_searchable(store: Store) -> None:
    claim = claim_new_job(store)
    store.cancel_job(claim.job_id, now=NOW)

    with pytest.raises(ClaimLost):
        store.commit_document(claim, note("walrus"), index("walrus"), now=NOW)

    assert is_nothing_there(store)
    assert found_by_text(store, "walrus") == []
    assert store.get_job(claim.job_id).status is JobStatus.CANCELLED


@pytest.mark.parametrize("ending", ["completed", "failed", "cancelled"])
def test_e7_a_finished_job_cannot_be_cancelled(store: Store, ending: str) -> None:
    job_id = finish(store, ending)

    with pytest.raises(JobFinished):
        store.cancel_job(job_id, now=LATER)

    assert store.get_job(job_id).status == ending


@pytest.mark.parametrize("ending", ["failed", "cancelled"])
def test_e7_a_failed_or_cancelled_job_can_be_retried(store: Store, ending: str) -> None:
    job_id = finish(store, ending)

    retried = store.retry_job(job_id, now=LATER)

    assert (retried.status, retried.error) == (JobStatus.QUEUED, None)
    assert (retried.started_at, retried.finished_at) == (None, None)
    claim = store.claim_job(Lane.INTERACTIVE, now=LATER, lease_until=LATER + LEASE)
    assert claim is not None
    assert claim.work == NoteSubmission("some text")
    store.commit_document(claim, note("walrus"), index("walrus"), now=LATER)
    assert store.get_job(job_id).status is JobStatus.COMPLETED


@pytest.mark.parametrize("state", ["queued", "running", "completed"])
def test_e7_no_other_job_can_be_retried(store: Store, state: str) -> None:
    job_id = finish(store, state)

    with pytest.raises(Conflict):
        store.retry_job(job_id, now=LATER)

    assert store.get_job(job_id).status == state


def test_a_retried_job_has_five_attempts_anew_and_old_workers_stay_fenced_off(store: Store) -> None:
    old = claim_new_job(store)
    store.fail_job(old, MISTAKE, retry_at=None, now=NOW)
    store.retry_job(old.job_id, now=NOW)

    claims = []
    for _ in range(5):
        claim = claim_next(store)
        assert claim is not None
        claims.append(claim.attempt)
        store.fail_job(claim, TROUBLE, retry_at=NOW, now=NOW)

    assert claims == [2, 3, 4, 5, 6]
    assert store.get_job(old.job_id).status is JobStatus.FAILED
    with pytest.raises(ClaimLost):
        store.commit_document(old, note("x"), index("x"), now=NOW)


def test_a_job_cleared_away_cannot_be_retried(store: Store) -> None:
    job = store.add_job(NoteSubmission("secret"), idempotency_key=None, max_queued=100, now=NOW)
    store.delete_everything(now=NOW)

    with pytest.raises(Conflict):
        store.retry_job(job.id, now=NOW)


def test_the_same_idempotency_key_is_the_same_job(store: Store) -> None:
    first = store.add_job(NoteSubmission("x"), idempotency_key="k", max_queued=100, now=NOW)
    again = store.add_job(NoteSubmission("x"), idempotency_key="k", max_queued=100, now=LATER)
    other = store.add_job(NoteSubmission("x"), idempotency_key="l", max_queued=100, now=NOW)

    with pytest.raises(Conflict):
        store.add_job(NoteSubmission("y"), idempotency_key="k", max_queued=100, now=NOW)

    assert again == first
    assert other.id != first.id
    assert store.list_jobs(status=None, limit=10, offset=0).total == 2


def test_an_idempotency_key_holds_when_the_job_is_done(store: Store) -> None:
    job = store.add_job(NoteSubmission("x"), idempotency_key="k", max_queued=100, now=NOW)
    claim = claim_next(store)
    assert claim is not None
    store.commit_document(claim, note("x"), index("x"), now=NOW)

    again = store.add_job(NoteSubmission("x"), idempotency_key="k", max_queued=100, now=LATER)

    assert (again.id, again.status) == (job.id, JobStatus.COMPLETED)


def test_e5_jobs_are_listed_newest_first_and_by_status(store: Store) -> None:
    endings = ["completed", "failed", "cancelled", "running", "queued"]
    jobs = {ending: finish(store, ending) for ending in endings}

    everything = store.list_jobs(status=None, limit=10, offset=0)
    page = store.list_jobs(status=None, limit=2, offset=1)

    assert [job.id for job in everything.rows] == sorted(jobs.values(), reverse=True)
    assert [job.id for job in page.rows] == [jobs["running"], jobs["cancelled"]]
    assert everything.total == page.total == 5
    for ending, job_id in jobs.items():
        found = store.list_jobs(status=JobStatus(ending), limit=10, offset=0)
        assert ([job.id for job in found.rows], found.total) == ([job_id], 1)


def test_e24_finished_jobs_are_forgotten_in_time_and_others_are_not(store: Store) -> None:
    done = finish(store, "completed")
    failed = store.add_job(A_FILE, idempotency_key="k", max_queued=100, now=NOW)
    claim = claim_next(store)
    assert claim is not None
    store.fail_job(claim, MISTAKE, retry_at=None, now=LATER)
    waiting = finish(store, "queued")

    kept = store.delete_finished_jobs(finished_before=NOW)
    originals = store.delete_finished_jobs(finished_before=LATER + timedelta(seconds=1))

    assert kept == []
    assert originals == [A_FILE.original]
    assert [job.id for job in store.list_jobs(status=None, limit=10, offset=0).rows] == [waiting]
    for gone in (done, failed.id):
        with pytest.raises(JobNotFound):
            store.get_job(gone)
    assert store.add_job(A_FILE, idempotency_key="k", max_queued=100, now=LATER).id > failed.id


def test_a_failed_upload_keeps_its_original_until_it_is_forgotten(store: Store) -> None:
    store.add_job(A_FILE, idempotency_key=None, max_queued=100, now=NOW)
    claim = claim_next(store)
    assert claim is not None
    store.fail_job(claim, MISTAKE, retry_at=None, now=NOW)
    assert store.is_original_in_use(A_FILE.original)

    store.delete_finished_jobs(finished_before=LATER)

    assert not store.is_original_in_use(A_FILE.original)


def test_a_completed_upload_leaves_its_original_to_the_document(store: Store) -> None:
    committed = commit(store, file("content"))
    original = store.get_document(committed.document_id).original or ""

    store.delete_document(committed.document_id, expected_version=None, now=LATER)

    assert not store.is_original_in_use(original)


def test_two_stores_never_claim_the_same_job(store: Store, other_store: Store) -> None:
    jobs = [store.add_job(NoteSubmission("x"), idempotency_key=None, max_queued=100, now=NOW) for _ in range(4)]

    claims = [claim_next(one) for one in (store, other_store, store, other_store, other_store)]

    assert [claim and claim.job_id for claim in claims] == [*(job.id for job in jobs), None]


def finish(store: Store, state: str) -> JobId:
    """A job brought to this state; no other job may be waiting."""
    if state == "queued":
        return store.add_job(NoteSubmission("some text"), idempotency_key=None, max_queued=100, now=NOW).id
    claim = claim_new_job(store)
    match state:
        case "completed":
            store.commit_document(claim, note("done"), index("done"), now=NOW)
        case "failed":
            store.fail_job(claim, MISTAKE, retry_at=None, now=NOW)
        case "cancelled":
            store.cancel_job(claim.job_id, now=NOW)
    return claim.job_id
