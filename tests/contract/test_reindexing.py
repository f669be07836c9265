"""E28 and E21: making vectors of another model, or everything derived, anew."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import apsw
import numpy as np
import pytest
from tests.backends import ONLY_SQLITE, Backend
from tests.handmade_documents import LATER, LEASE, NOW, add, claim_new_job, file, work_off
from tests.originals import path_in

from kb.engine.errors import Unavailable
from kb.engine.ingestion.indexing import index_text
from kb.engine.ingestion.pipeline import Pipeline
from kb.engine.ingestion.sections import Section
from kb.engine.ingestion.worker import Worker
from kb.engine.model import (
    Computing,
    EmbeddingModel,
    FileSubmission,
    IndexSource,
    Job,
    JobStatus,
    Lane,
    NoteSubmission,
    Vector,
    Vectors,
)
from kb.engine.notes import rewrite_note
from kb.engine.originals import FolderOriginals
from kb.engine.ports import Embedder, Store
from kb.engine.search.hybrid import Mode, SearchRequest, search
from kb.engine.storage.sqlite.checksums import register_checksum

OTHER_WINDOW = 100


@dataclass
class MirroredModel:
    """Another model: the bundled one with every vector reversed, which reads less text at a time."""

    working: Embedder
    is_ready: bool = True
    failure: str | None = None
    computing: Computing = field(default_factory=Computing)
    model: EmbeddingModel = field(init=False)
    before_embedding: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self.model = replace(self.working.model, fingerprint="mirrored", window=OTHER_WINDOW)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self.before_embedding()
        return np.ascontiguousarray(self.working.embed_passages(texts)[:, ::-1])

    def embed_query(self, text: str) -> Vector:
        return np.ascontiguousarray(self.working.embed_query(text)[::-1])

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        return self.working.token_spans(text)


@pytest.fixture
def originals(tmp_path: Path) -> FolderOriginals:
    return FolderOriginals(tmp_path / "originals")


@pytest.fixture
def old(backend: Backend, originals: FolderOriginals, embedder: Embedder) -> Iterator[Pipeline]:
    """The base as its first model knows it, with notes and a file."""
    with closing(backend.open(embedder.model.fingerprint)) as store:
        store.adopt_model(now=NOW)
        pipeline = Pipeline(store, originals, embedder, lambda: LATER)
        for text in ("The walrus rests on the ice.", "The tax return is due in May.", "A long tale. " * 100):
            store.add_job(NoteSubmission(text), idempotency_key=None, max_queued=9, now=NOW)
        with originals.receive() as incoming, originals.locked():
            incoming.write(b"# Boats\n\nA ship sails to the harbour.")
            name = incoming.finish()
            originals.keep(incoming, name)
        store.add_job(FileSubmission(name, "a.md", "md", 37), idempotency_key=None, max_queued=9, now=NOW)
        work_off(pipeline)
        yield pipeline


@pytest.fixture
def model(embedder: Embedder) -> MirroredModel:
    return MirroredModel(embedder)


@pytest.fixture
def new(backend: Backend, old: Pipeline, model: MirroredModel) -> Iterator[Pipeline]:
    """The same base, opened with another model."""
    with closing(backend.open(model.model.fingerprint)) as store:
        store.adopt_model(now=LATER)
        yield Pipeline(store, old.originals, model, lambda: LATER)


def titles(pipeline: Pipeline, query: str, mode: Mode = Mode.HYBRID) -> list[str]:
    outcome = search(pipeline.store, pipeline.embedder, SearchRequest(query, mode=mode))
    return [hit.document.title for hit in outcome.hits]


def is_degraded(pipeline: Pipeline) -> bool:
    return search(pipeline.store, pipeline.embedder, SearchRequest("walrus")).is_degraded


def reindex_job(store: Store) -> Job:
    return next(job for job in store.list_jobs(status=None, limit=100, offset=0).rows if job.type == "reindex")


def test_e28_until_all_vectors_are_made_anew_search_is_by_keyword_alone(new: Pipeline) -> None:
    assert is_degraded(new)
    assert titles(new, "walrus") == ["The walrus rests on the ice."]
    with pytest.raises(Unavailable):
        titles(new, "walrus", Mode.VECTOR)
    assert new.store.read_statistics().stale_vectors == new.store.read_statistics().chunks


def test_e28_then_it_is_by_meaning_again_and_no_document_has_changed(old: Pipeline, new: Pipeline) -> None:
    before = [old.store.get_document(number) for number in range(1, 5)]

    work_off(new)

    assert not is_degraded(new)
    assert titles(new, "an animal with tusks", Mode.VECTOR)[0] == "The walrus rests on the ice."
    assert titles(new, "vessel at sea", Mode.VECTOR)[0] == "Boats"
    after = [new.store.get_document(number) for number in range(1, 5)]
    assert [replace(one, chunk_count=0) for one in after] == [replace(one, chunk_count=0) for one in before]
    statistics = new.store.read_statistics()
    assert (statistics.stale_vectors, statistics.vectors) == (0, statistics.chunks)


def test_e28_chunks_that_the_new_model_cannot_read_whole_are_split_and_lose_nothing(new: Pipeline) -> None:
    """I6"""
    work_off(new)

    detail = new.store.read_document(3)

    assert "".join(chunk.text for chunk in detail.chunks).replace(" ", "") == ("A long tale. " * 100).replace(" ", "")
    assert all(len(new.embedder.token_spans(chunk.text)) < OTHER_WINDOW for chunk in detail.chunks)


def damage(folder: Path, sql: str) -> None:
    connection = apsw.Connection(str(folder / "kb.sqlite"))
    register_checksum(connection)
    connection.execute(sql)
    connection.close()


UNREADABLE_CHUNK = "UPDATE chunks SET text = CAST(x'ff' AS TEXT) WHERE document_id = 1"
UNREADABLE_NOTE = "UPDATE documents SET note_text = 'another' WHERE id = 1"


@ONLY_SQLITE
def test_e28_a_document_whose_chunk_is_damaged_is_made_from_its_original(new: Pipeline, folder: Path) -> None:
    damage(folder, UNREADABLE_CHUNK)

    work_off(new)

    assert not is_degraded(new)
    assert titles(new, "an animal with tusks", Mode.VECTOR)[0] == "The walrus rests on the ice."


def test_no_file_outside_of_the_originals_becomes_text(old: Pipeline, tmp_path: Path) -> None:
    """E31"""
    outside = tmp_path / "outside.txt"
    outside.write_text("The secret of another program.")
    text = index_text([[Section("The narwhal dives.")]], "Untitled", old.embedder, lambda embedded, known: None)
    forged = add(old.store, replace(file("narwhal"), original=str(outside)), text)
    old.store.add_reindex(now=LATER)

    work_off(old)

    assert reindex_job(old.store).status is JobStatus.COMPLETED
    assert [chunk.text for chunk in old.store.read_document(forged.id).chunks] == ["The narwhal dives."]


@ONLY_SQLITE
def test_e28_a_document_that_cannot_be_read_at_all_does_not_keep_the_others_back(new: Pipeline, folder: Path) -> None:
    damage(folder, UNREADABLE_CHUNK)
    damage(folder, UNREADABLE_NOTE)

    work_off(new)

    assert reindex_job(new.store).status is JobStatus.COMPLETED
    assert titles(new, "vessel at sea", Mode.VECTOR)[0] == "Boats"
    assert new.store.read_statistics().stale_vectors == 1


def test_e24_a_job_that_comes_further_each_time_is_not_given_up(new: Pipeline, model: MirroredModel) -> None:
    now = LATER
    for _ in range(3):
        claim = new.store.claim_job(Lane.UPKEEP, now=now, lease_until=now + LEASE)
        assert claim is not None
        (document_id,) = new.store.list_documents_to_index(IndexSource.CHUNKS, after=claim.cursor, limit=1)
        version = new.store.get_document(document_id).version
        text = index_text([[Section("Some words.")]], "Title", model)
        new.store.replace_text(claim, document_id, text, expected_version=version)
        now += 2 * LEASE

    claim = new.store.claim_job(Lane.UPKEEP, now=now, lease_until=now + LEASE)

    assert claim is not None
    assert (claim.attempt, claim.failures) == (4, 1)


def test_e28_one_job_does_it_however_often_the_engine_starts(new: Pipeline) -> None:
    for _ in range(3):
        new.store.adopt_model(now=LATER)

    assert new.store.count_jobs().queued == 1


def test_e28_a_note_written_meanwhile_is_not_lost_and_the_switch_waits_for_all(
    new: Pipeline, model: MirroredModel
) -> None:
    rewrites: list[str] = []

    def interfere() -> None:
        if not rewrites:
            rewrites.append("The otter swims.")
            rewrite_note(
                new.store,
                MirroredModel(model.working),
                1,
                text=rewrites[0],
                title=None,
                tags=None,
                expected_version=None,
                now=LATER,
            )

    model.before_embedding = interfere
    work_off(new)

    assert titles(new, "otter")[0] == "The otter swims."
    assert "walrus" not in titles(new, "walrus")[0]
    assert not is_degraded(new)


def test_e28_an_interrupted_job_goes_on_where_it_was(new: Pipeline, model: MirroredModel) -> None:
    """E24"""
    embedded = 0

    def die_at_the_third() -> None:
        nonlocal embedded
        embedded += 1
        if embedded == 3:
            raise KeyboardInterrupt

    model.before_embedding = die_at_the_third
    with pytest.raises(KeyboardInterrupt):
        work_off(new)
    assert is_degraded(new)

    later = replace(new, clock=lambda: LATER.replace(year=2027))
    claim = later.store.claim_job(Lane.UPKEEP, now=later.clock(), lease_until=later.clock())
    assert claim is not None
    assert claim.cursor == 2
    assert later.store.list_documents_to_index(IndexSource.CHUNKS, after=claim.cursor, limit=9) == [3, 4]
    later.store.release_claim(claim, available_at=later.clock())
    work_off(later)

    assert not is_degraded(new)
    assert reindex_job(new.store).status is JobStatus.COMPLETED


def test_e28_going_back_to_the_first_model_makes_its_vectors_again(old: Pipeline, new: Pipeline) -> None:
    work_off(new)

    old.store.adopt_model(now=LATER)
    assert is_degraded(old)
    work_off(old)

    assert not is_degraded(old)
    assert titles(old, "an animal with tusks", Mode.VECTOR)[0] == "The walrus rests on the ice."


def test_e28_when_everything_is_deleted_there_is_nothing_to_wait_for(new: Pipeline) -> None:
    new.store.delete_everything(now=LATER)

    assert not is_degraded(new)
    assert new.store.count_jobs().queued == 0


def test_e21_a_reindex_reads_the_originals_again(old: Pipeline) -> None:
    former = {chunk.uuid for number in range(1, 5) for chunk in old.store.read_document(number).chunks}

    job = old.store.add_reindex(now=LATER)
    assert old.store.add_reindex(now=LATER).id == job.id
    work_off(old)

    assert old.store.get_job(job.id).status is JobStatus.COMPLETED
    anew = [old.store.read_document(number) for number in range(1, 5)]
    assert not former & {chunk.uuid for detail in anew for chunk in detail.chunks}
    assert [detail.document.version for detail in anew] == [1, 1, 1, 1]
    assert titles(old, "harbour")[0] == "Boats"


@pytest.mark.parametrize("harm", [Path.unlink, lambda path: path.write_text("# Cars\n\nA car drives.")])
def test_e21_a_document_whose_original_is_gone_or_damaged_keeps_its_text(
    old: Pipeline, harm: Callable[[Path], object]
) -> None:
    document = old.store.get_document(4)
    assert document.original is not None
    harm(path_in(old.originals, document.original))

    old.store.add_reindex(now=LATER)
    work_off(old)

    assert titles(old, "harbour")[0] == "Boats"


def test_e21_a_document_of_a_format_that_cannot_be_read_keeps_its_text(old: Pipeline) -> None:
    """A base that was taken over may hold any."""
    claim = claim_new_job(old.store)
    picture = replace(file("a picture", title="Picture", format="png"), original="0" * 64)
    indexed = index_text([[Section("A lighthouse")]], "Picture", old.embedder)
    old.store.commit_document(claim, picture, indexed, now=LATER)

    old.store.add_reindex(now=LATER)
    work_off(old)

    assert titles(old, "lighthouse")[0] == "Picture"


def test_e7_a_reindex_can_be_cancelled(new: Pipeline) -> None:
    job = reindex_job(new.store)

    new.store.cancel_job(job.id, now=LATER)
    work_off(new)

    assert new.store.get_job(job.id).status is JobStatus.CANCELLED
    assert is_degraded(new)


def test_a_worker_that_has_to_stop_gives_a_long_job_back(
    new: Pipeline, model: MirroredModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kb.engine.ingestion.heartbeat.FINISH_WITHIN_SECONDS", 0.0)
    monkeypatch.setattr("kb.engine.ingestion.heartbeat.HEARTBEAT", LATER - LATER)
    stopping = threading.Event()
    worker = Worker(new, Lane.UPKEEP, stopping)
    renewed = threading.Event()
    renew_claim = new.store.renew_claim

    def renew_and_tell(*arguments: object, **named: object) -> None:
        renew_claim(*arguments, **named)  # type: ignore[arg-type]  # passed through
        renewed.set()

    monkeypatch.setattr(new.store, "renew_claim", renew_and_tell)

    def stop() -> None:
        stopping.set()
        for _ in range(3):
            renewed.clear()
            assert renewed.wait(5)

    model.before_embedding = stop
    worker.work_once()

    job = reindex_job(new.store)
    assert (job.status, job.attempts) == (JobStatus.QUEUED, 1)
