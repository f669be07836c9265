"""E25: of two submissions for one source path the later one wins, in whatever order their jobs end."""

from collections.abc import Callable
from itertools import permutations

import pytest
from tests.handmade_documents import LATER, LEASE, NOW, digest, file, found_by_text, index, note

from kb.engine.model import Claim, Committed, FileSubmission, JobError, Lane, NewDocument, NoteSubmission
from kb.engine.ports import Store

PATH = "/a"


def submit(store: Store, document: NewDocument) -> Claim:
    """Its job, taken by a worker that has not come further yet."""
    if document.note_text is not None:
        submission: NoteSubmission | FileSubmission = NoteSubmission(document.note_text)
        lane = Lane.INTERACTIVE
    else:
        submission = FileSubmission(str(document.original), document.filename, document.format, document.size_bytes)
        lane = Lane.BULK
    store.add_job(submission, idempotency_key=None, max_queued=9, now=NOW)
    claim = store.claim_job(lane, now=NOW, lease_until=NOW + LEASE)
    assert claim is not None
    return claim


def finish(store: Store, claim: Claim, document: NewDocument, word: str) -> Committed:
    early = store.commit_duplicate(claim, document, now=LATER)
    return early or store.commit_document(claim, document, index(word), now=LATER)


@pytest.mark.parametrize("order", [*permutations(range(3))])
@pytest.mark.parametrize("last", [note, file])
def test_e25_the_last_submission_for_a_path_wins_in_whatever_order_they_are_done(
    store: Store, last: Callable[..., NewDocument], order: tuple[int, ...]
) -> None:
    documents = [file("walrus", source_path=PATH), note("otter", source_path=PATH), last("seal", source_path=PATH)]
    claims = [submit(store, document) for document in documents]

    ended = [finish(store, claims[n], documents[n], ("walrus", "otter", "seal")[n]) for n in order]

    (document_id,) = {committed.document_id for committed in ended}
    assert store.get_document(document_id).content_hash == documents[-1].content_hash
    found = {word: found_by_text(store, word) for word in ("walrus", "otter", "seal")}
    assert found == {"walrus": [], "otter": [], "seal": [document_id]}


@pytest.mark.parametrize("is_read", [False, True])
def test_e25_an_overtaken_job_ends_with_the_document_that_is_there_and_changes_nothing(
    store: Store, *, is_read: bool
) -> None:
    older, newer = file("walrus", source_path=PATH, tags=["old"]), note("otter", source_path=PATH)
    claim = submit(store, older)
    there = store.get_document(finish(store, submit(store, newer), newer, "otter").document_id)

    overtaken = (
        store.commit_document(claim, older, index("walrus"), now=LATER)
        if is_read
        else store.commit_duplicate(claim, older, now=LATER)
    )

    assert overtaken == Committed(there.id, is_duplicate=True, released_original=older.original)
    assert store.get_document(there.id) == there
    assert not store.is_original_in_use(digest("walrus"))
    job = store.get_job(claim.job_id)
    assert (job.status, job.document_id, job.chunks_created) == ("completed", there.id, 0)
    assert (job.is_duplicate, job.is_replacement) == (True, False)
    assert "later" in job.progress.message


def test_e25_a_later_note_that_repeats_what_is_there_wins_over_an_earlier_file(store: Store) -> None:
    there = note("otter", source_path=PATH)
    document_id = finish(store, submit(store, there), there, "otter").document_id
    older = file("walrus", source_path=PATH)
    claim = submit(store, older)

    repeated = finish(store, submit(store, there), there, "otter")
    finish(store, claim, older, "walrus")

    assert repeated.is_duplicate
    assert store.get_document(document_id).content_hash == there.content_hash


def test_e25_a_later_file_that_names_no_path_does_not_stand_in_the_way_of_one_that_does(store: Store) -> None:
    there = file("otter", source_path=PATH)
    document_id = finish(store, submit(store, there), there, "otter").document_id
    older = file("walrus", source_path=PATH)
    claim = submit(store, older)

    repeated = finish(store, submit(store, file("otter")), file("otter"), "otter")
    finish(store, claim, older, "walrus")

    assert (repeated.document_id, repeated.is_duplicate) == (document_id, True)
    assert store.get_document(document_id).content_hash == older.content_hash


def test_e7_a_retried_job_is_as_old_as_it_was(store: Store) -> None:
    older, newer = file("walrus", source_path=PATH), file("otter", source_path=PATH)
    claim = submit(store, older)
    store.fail_job(claim, JobError("internal_error", "Once."), retry_at=None, now=NOW)
    document_id = finish(store, submit(store, newer), newer, "otter").document_id

    store.retry_job(claim.job_id, now=LATER)
    again = store.claim_job(Lane.BULK, now=LATER, lease_until=LATER + LEASE)
    assert again is not None
    finish(store, again, older, "walrus")

    assert store.get_document(document_id).content_hash == newer.content_hash


def test_e25_a_later_submission_for_another_path_is_none_of_its_business(store: Store) -> None:
    there, older, newer = (file(word, source_path=path) for word, path in (("a", PATH), ("b", PATH), ("c", "/b")))
    document_id = finish(store, submit(store, there), there, "a").document_id
    claim = submit(store, older)
    finish(store, submit(store, newer), newer, "c")

    committed = finish(store, claim, older, "b")

    assert (committed.document_id, committed.is_duplicate) == (document_id, False)
