"""The life of a document: submit, forget before it is one, delete, clear."""

from dataclasses import replace
from datetime import datetime

from kb.engine.model import Cleared, DeletedDocument, FileSubmission, Job, Ref
from kb.engine.originals import IncomingFile, Originals
from kb.engine.ports import Store


def submit_file(
    store: Store,
    originals: Originals,
    incoming: IncomingFile,
    submission: FileSubmission,
    *,
    idempotency_key: str | None,
    max_queued: int,
    now: datetime,
) -> Job:
    """Queue a finished upload. When this returns, neither a crash nor a power cut can lose it."""
    try:
        with originals.locked():
            originals.keep(incoming, submission.original)
            return store.add_job(submission, idempotency_key=idempotency_key, max_queued=max_queued, now=now)
    finally:
        # A refusal, or a job that the same key queued before, has no use for the file.
        originals.release([submission.original], store.is_original_in_use)


def forget_job(store: Store, originals: Originals, ref: Ref, *, now: datetime) -> Job:
    """Cancel a job, unless it has failed or is cancelled, and keep nothing of what it was given but its name."""
    job, original = store.forget_job(ref, now=now)
    if original is not None:
        originals.release([original], store.is_original_in_use)
    return job


def delete_document(
    store: Store, originals: Originals, ref: Ref, *, expected_version: int | None, now: datetime
) -> DeletedDocument:
    deleted = store.delete_document(ref, expected_version=expected_version, now=now)
    if deleted.original is not None:
        originals.release([deleted.original], store.is_original_in_use)
    return deleted


def clear(store: Store, originals: Originals, *, now: datetime) -> Cleared:
    cleared = store.delete_everything(now=now)
    freed = originals.release_all(store.is_original_in_use)
    return replace(cleared, bytes_freed=cleared.bytes_freed + freed)
