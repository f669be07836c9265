"""E7: a job that is told to forget keeps nothing of what it was given, whatever has become of it."""

from pathlib import Path

import pytest
from tests.handmade_documents import LATER, LEASE, NOW, commit, file, index

from kb.engine.documents import forget_job
from kb.engine.errors import JobFinished, JobNotFound
from kb.engine.model import Action, Claim, FileSubmission, Job, JobError, JobStatus, Lane, NoteSubmission, Submission
from kb.engine.originals import FolderOriginals
from kb.engine.ports import ClaimLost, Store

CONTENT = "The walrus rests."
UPLOAD = FileSubmission(file(CONTENT).original or "", "a.txt", "txt", len(CONTENT))
MISTAKE = JobError("corrupt_file", "It cannot be read.")


@pytest.fixture
def originals(folder: Path) -> FolderOriginals:
    return FolderOriginals(folder / "originals")


def submit(store: Store, submission: Submission = UPLOAD, key: str | None = None) -> Job:
    return store.add_job(submission, idempotency_key=key, max_queued=10, now=NOW)


def submit_kept(store: Store, originals: FolderOriginals) -> Job:
    """A job whose original is on disk."""
    with originals.receive() as incoming, originals.locked():
        incoming.write(CONTENT.encode())
        originals.keep(incoming, incoming.finish())
        return submit(store)


def claim(store: Store, lane: Lane = Lane.BULK) -> Claim:
    claimed = store.claim_job(lane, now=NOW, lease_until=NOW + LEASE)
    assert claimed is not None
    return claimed


def bring_to(store: Store, status: str) -> Job:
    """A job in this state; no other may be waiting."""
    job = submit(store)
    match status:
        case "running":
            claim(store)
        case "failed":
            store.fail_job(claim(store), MISTAKE, retry_at=None, now=NOW)
        case "cancelled":
            store.cancel_job(job.id, now=NOW)
        case "completed":
            store.commit_document(claim(store), file(CONTENT), index(CONTENT), now=NOW)
    return store.get_job(job.id)


@pytest.mark.parametrize("status", ["queued", "running"])
def test_an_unfinished_job_that_is_to_forget_is_cancelled(store: Store, status: str) -> None:
    job = bring_to(store, status)

    forgotten, original = store.forget_job(job.uuid, now=LATER)

    assert forgotten == store.get_job(job.id)
    assert (forgotten.status, forgotten.finished_at) == (JobStatus.CANCELLED, LATER)
    assert (forgotten.filename, original) == ("a.txt", UPLOAD.original)
    assert not store.is_original_in_use(UPLOAD.original)
    assert store.claim_job(Lane.BULK, now=LATER, lease_until=LATER + LEASE) is None


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_a_job_that_came_to_nothing_forgets_and_is_otherwise_as_it_was(store: Store, status: str) -> None:
    job = bring_to(store, status)

    forgotten, original = store.forget_job(job.id, now=LATER)

    assert forgotten == job
    assert original == UPLOAD.original
    assert not store.is_original_in_use(UPLOAD.original)


def test_a_completed_job_has_nothing_to_forget(store: Store) -> None:
    job = bring_to(store, "completed")

    with pytest.raises(JobFinished):
        store.forget_job(job.id, now=LATER)

    assert store.get_job(job.id) == job
    assert store.is_original_in_use(UPLOAD.original)


def test_a_job_that_is_not_there_cannot_forget(store: Store) -> None:
    with pytest.raises(JobNotFound):
        store.forget_job(1, now=NOW)


@pytest.mark.parametrize("submission", [UPLOAD, NoteSubmission("some text")])
def test_what_was_forgotten_cannot_be_retried(store: Store, submission: Submission) -> None:
    job = submit(store, submission)
    store.forget_job(job.id, now=NOW)

    with pytest.raises(JobFinished, match="has been forgotten"):
        store.retry_job(job.id, now=LATER)

    assert store.get_job(job.id).status is JobStatus.CANCELLED


def test_to_forget_twice_is_to_forget_once(store: Store) -> None:
    job = submit(store)
    first, _ = store.forget_job(job.id, now=NOW)

    again, original = store.forget_job(job.id, now=LATER)

    assert (again, original) == (first, None)
    actions = [entry.action for entry in store.list_audit_log(document_id=None, limit=10, offset=0).rows]
    assert actions == [Action.JOB_CANCELLED, Action.JOB_SUBMITTED]


def test_the_same_request_after_it_was_forgotten_is_a_new_one(store: Store) -> None:
    first = submit(store, key="k")
    store.forget_job(first.id, now=NOW)

    again = submit(store, key="k")

    assert (again.id > first.id, again.status) == (True, JobStatus.QUEUED)
    assert store.is_original_in_use(UPLOAD.original)


def test_a_worker_that_was_at_it_can_do_nothing_any_more(store: Store) -> None:
    submit(store)
    late = claim(store)
    store.forget_job(late.job_id, now=NOW)

    with pytest.raises(ClaimLost):
        store.commit_document(late, file(CONTENT), index(CONTENT), now=LATER)
    with pytest.raises(ClaimLost):
        store.fail_job(late, MISTAKE, retry_at=LATER, now=LATER)

    assert store.get_job(late.job_id).status is JobStatus.CANCELLED
    assert not store.is_original_in_use(UPLOAD.original)


def test_a_forgotten_original_is_removed(store: Store, originals: FolderOriginals) -> None:
    job = submit_kept(store, originals)
    assert originals.path_of(UPLOAD.original).exists()

    forget_job(store, originals, job.id, now=NOW)

    assert not originals.path_of(UPLOAD.original).exists()


@pytest.mark.parametrize("other", ["a job", "a document"])
def test_an_original_that_another_has_too_stays(store: Store, originals: FolderOriginals, other: str) -> None:
    job = submit_kept(store, originals)
    if other == "a job":
        submit(store)
    else:
        commit(store, file(CONTENT))

    forget_job(store, originals, job.id, now=NOW)

    assert originals.path_of(UPLOAD.original).read_text() == CONTENT


def test_e24_a_kill_before_the_original_is_removed_leaves_it_to_the_next_start(
    store: Store, originals: FolderOriginals
) -> None:
    job = submit_kept(store, originals)
    store.forget_job(job.id, now=NOW)
    assert originals.path_of(UPLOAD.original).exists()

    originals.sweep(store.is_original_in_use)

    assert not originals.path_of(UPLOAD.original).exists()
