"""What the worker makes of jobs that do not go well."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from tests.handmade_documents import NOW, work_off, work_once
from tests.originals import is_kept, keep

from kb.engine.documents import forget_job
from kb.engine.errors import StorageFull, Unavailable
from kb.engine.ingestion.pipeline import Pipeline
from kb.engine.ingestion.worker import WAIT_FOR_ROOM
from kb.engine.model import Computing, EmbeddingModel, FileSubmission, JobStatus, NoteSubmission, Vector, Vectors
from kb.engine.originals import FolderOriginals
from kb.engine.ports import Embedder, Store
from kb.engine.upkeep.forgetting import KEEP_FINISHED_JOBS, forget_the_old


@dataclass
class Clock:
    """Stands still until somebody moves it."""

    now: datetime = NOW

    def __call__(self) -> datetime:
        return self.now


@dataclass
class MoodyEmbedder:
    """The real model, as long as nobody says otherwise."""

    working: Embedder
    error: Exception | None = None
    is_ready: bool = True
    failure: str | None = None
    computing: Computing = field(default_factory=Computing)
    model: EmbeddingModel = field(init=False)

    def __post_init__(self) -> None:
        self.model = self.working.model

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        if self.error is not None:
            raise self.error
        return self.working.embed_passages(texts)

    def embed_query(self, text: str) -> Vector:
        return self.working.embed_query(text)

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        return self.working.token_spans(text)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def moody(embedder: Embedder) -> MoodyEmbedder:
    return MoodyEmbedder(embedder)


@pytest.fixture
def pipeline(store: Store, moody: MoodyEmbedder, clock: Clock, tmp_path: Path) -> Pipeline:
    return Pipeline(store, FolderOriginals(tmp_path / "originals"), moody, clock)


def a_file(original: str) -> FileSubmission:
    return FileSubmission(original=original, filename="a.txt", format="txt", size_bytes=1)


@pytest.mark.parametrize("error", [Unavailable("No memory."), RuntimeError("a bug")])
def test_e24_trouble_that_may_pass_is_tried_five_times_at_growing_distances(
    store: Store, pipeline: Pipeline, moody: MoodyEmbedder, clock: Clock, error: Exception
) -> None:
    job = store.add_job(NoteSubmission("text"), idempotency_key=None, max_queued=100, now=NOW)
    moody.error = error

    for wait in (1, 4, 16, 64):
        assert work_once(pipeline)
        assert store.get_job(job.id).status is JobStatus.QUEUED
        clock.now += timedelta(seconds=wait, milliseconds=-1)
        assert not work_once(pipeline)
        clock.now += timedelta(milliseconds=1)
    assert work_once(pipeline)

    failed = store.get_job(job.id)
    assert (failed.status, failed.attempts) == (JobStatus.FAILED, 5)
    assert failed.error is not None
    assert "a bug" not in failed.error.message


def test_e7_a_job_retried_by_a_person_has_all_its_attempts_again(
    store: Store, pipeline: Pipeline, moody: MoodyEmbedder, clock: Clock
) -> None:
    job = store.add_job(NoteSubmission("text"), idempotency_key=None, max_queued=100, now=NOW)
    moody.error = Unavailable("No memory.")
    for _ in range(5):
        work_once(pipeline)
        clock.now += timedelta(minutes=2)
    assert store.get_job(job.id).status is JobStatus.FAILED

    store.retry_job(job.id, now=clock.now)
    work_once(pipeline)
    clock.now += timedelta(seconds=1)
    moody.error = None
    work_once(pipeline)

    assert store.get_job(job.id).status is JobStatus.COMPLETED


def test_no_job_is_taken_while_there_is_no_model(store: Store, pipeline: Pipeline, moody: MoodyEmbedder) -> None:
    job = store.add_job(NoteSubmission("text"), idempotency_key=None, max_queued=100, now=NOW)
    moody.is_ready = False

    assert not work_once(pipeline)

    assert store.get_job(job.id).attempts == 0


def test_a_file_that_cannot_be_read_fails_at_once_with_its_code(store: Store, pipeline: Pipeline) -> None:
    """I5"""
    blank = keep(pipeline.originals, b" \n ")
    job = store.add_job(a_file(blank), idempotency_key=None, max_queued=100, now=NOW)

    work_once(pipeline)

    failed = store.get_job(job.id)
    assert (failed.status, failed.attempts) == (JobStatus.FAILED, 1)
    assert failed.error is not None
    assert failed.error.code == "no_text_found"


def test_e24_old_jobs_are_forgotten_with_what_they_kept(store: Store, pipeline: Pipeline, clock: Clock) -> None:
    blank = keep(pipeline.originals, b" \n ")
    store.add_job(a_file(blank), idempotency_key=None, max_queued=100, now=NOW)
    work_once(pipeline)

    clock.now += KEEP_FINISHED_JOBS
    forget_the_old(store, pipeline.originals, clock.now)
    assert is_kept(pipeline.originals, blank)

    clock.now += timedelta(seconds=1)
    forget_the_old(store, pipeline.originals, clock.now)
    assert store.list_jobs(status=None, limit=1, offset=0).total == 0
    assert not is_kept(pipeline.originals, blank)


def test_e7_a_file_that_is_forgotten_while_it_is_read_is_dropped_without_a_fuss(
    store: Store, pipeline: Pipeline, caplog: pytest.LogCaptureFixture
) -> None:
    original = keep(pipeline.originals, b"The walrus rests.")
    job = store.add_job(a_file(original), idempotency_key=None, max_queued=100, now=NOW)

    def forget_once_it_runs() -> datetime:
        if store.get_job(job.id).status is JobStatus.RUNNING:
            forget_job(store, pipeline.originals, job.id, now=NOW)
        return NOW

    with caplog.at_level(logging.INFO):
        assert work_once(replace(pipeline, clock=forget_once_it_runs))

    assert (store.get_job(job.id).status, store.get_job(job.id).error) == (JobStatus.CANCELLED, None)
    # Who finds that out, the reader or the heartbeat, is a matter of time.
    (told,) = [record.getMessage() for record in caplog.records]
    assert told in (f"Attempt 1 of job {job.id} no longer counts.", f"Job {job.id} was cancelled or taken over.")


def test_e25_a_file_that_repeats_a_note_leaves_no_original_behind(store: Store, pipeline: Pipeline) -> None:
    store.add_job(NoteSubmission("the same", source_path="/p"), idempotency_key=None, max_queued=100, now=NOW)
    original = keep(pipeline.originals, b"the same")
    job = store.add_job(replace(a_file(original), source_path="/p"), idempotency_key=None, max_queued=9, now=NOW)

    work_off(pipeline)

    assert store.get_job(job.id).is_duplicate
    assert not is_kept(pipeline.originals, original)


def test_e25_a_file_that_a_later_note_has_overtaken_is_not_read_and_leaves_no_original_behind(
    store: Store, pipeline: Pipeline
) -> None:
    original = keep(pipeline.originals, b"The walrus rests.")
    job = store.add_job(replace(a_file(original), source_path="/p"), idempotency_key=None, max_queued=9, now=NOW)
    store.add_job(NoteSubmission("The otter dives.", source_path="/p"), idempotency_key=None, max_queued=9, now=NOW)

    work_off(pipeline)

    document_id = store.get_job(job.id).document_id
    assert document_id is not None
    assert store.read_document(document_id).text == "The otter dives."
    assert store.get_job(job.id).is_duplicate
    assert not is_kept(pipeline.originals, original)


def test_a_job_waits_as_long_as_the_disk_is_full(
    store: Store, pipeline: Pipeline, moody: MoodyEmbedder, clock: Clock
) -> None:
    job = store.add_job(NoteSubmission("text"), idempotency_key=None, max_queued=9, now=NOW)
    moody.error = StorageFull("The disk is full.")
    for _ in range(10):
        assert work_once(pipeline)
        assert store.get_job(job.id).status is JobStatus.QUEUED
        clock.now += WAIT_FOR_ROOM

    moody.error = None
    work_off(pipeline)

    assert store.get_job(job.id).status is JobStatus.COMPLETED
