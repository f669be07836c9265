"""E21: everything that is stored is checked, and whatever is no longer what was stored is found."""

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import apsw
import pytest
from tests.handmade_documents import (
    LATER,
    LEASE,
    NOW,
    add,
    add_note,
    claim_new_job,
    commit,
    file,
    found_by_text,
    index,
    note,
    revision,
)

from kb.engine.documents import forget_job
from kb.engine.integrity import MAX_LISTED, check_integrity
from kb.engine.model import (
    CheckCursor,
    Checked,
    Damage,
    DocumentChange,
    FileSubmission,
    IndexedText,
    JobError,
    Lane,
    NewDocument,
    NoteSubmission,
    Scrub,
)
from kb.engine.originals import FolderOriginals
from kb.engine.ports import Store
from kb.engine.storage.sqlite import integrity
from kb.engine.storage.sqlite.integrity import ROWS_PER_BATCH, check_base
from kb.engine.upkeep.scrub import EVERY, EVERY_AFTER_DAMAGE, scrub_if_due

AddFile = Callable[[str], NewDocument]


@pytest.fixture
def originals(folder: Path) -> FolderOriginals:
    return FolderOriginals(folder / "originals")


@pytest.fixture
def upload(originals: FolderOriginals) -> AddFile:
    """A file that is kept as an original; no document refers to it yet."""

    def keep(content: str) -> NewDocument:
        with originals.receive() as incoming:
            incoming.write(content.encode())
            originals.keep(incoming, incoming.finish())
        return file(content)

    return keep


def harm(folder: Path, sql: str) -> None:
    """Change the base behind the store's back."""
    connection = apsw.Connection(str(folder / "kb.sqlite"))
    connection.execute(sql)
    connection.close()


def find_damages(store: Store, originals: FolderOriginals) -> list[Damage]:
    return check_integrity(store, originals).damages


def text_of(store: Store, words: int) -> IndexedText:
    return index(*[f"word {number} 東京" for number in range(words)], heading="Part > 章節")


def test_a_base_is_whole_after_every_kind_of_change(store: Store, originals: FolderOriginals, upload: AddFile) -> None:
    """E21"""
    first, second, third, fourth = (add(store, note(f"note {n} 寿司", title=f"名 {n}")) for n in range(4))
    add(store, note("a", source_path="/a", tags=["x"]), text_of(store, 60))
    add(store, note("b", source_path="/a", tags=["y"]), text_of(store, 3))
    add(store, upload("a, but a file"), text_of(store, 2))
    commit(store, upload("a, but a file"))
    add(store, note("to be replaced by a file", source_path="/b"))
    store.replace_note(first.id, revision("new", title="Ω"), index("new", "text"), expected_version=None, now=LATER)
    store.replace_note(first.id, revision("new", title="Ω"), index("new"), expected_version=None, now=LATER)
    store.update_document(second.id, DocumentChange(title="Other", metadata={"a": 1}), expected_version=None, now=LATER)
    store.change_tags(third.id, add=["a", "b"], remove=[], expected_version=None, now=LATER)
    store.replace_tags(third.id, ["c"], expected_version=None, now=LATER)
    store.delete_document(fourth.id, expected_version=None, now=LATER)
    claim = claim_new_job(store)
    store.fail_job(claim, JobError("internal_error", "no"), retry_at=None, now=NOW)
    store.retry_job(claim.job_id, now=NOW)
    store.cancel_job(claim.job_id, now=NOW)
    forgotten = FileSubmission(upload("forgotten").original or "", "a.txt", "txt", 9)
    forget_job(store, originals, store.add_job(forgotten, idempotency_key="k", max_queued=10, now=NOW).id, now=NOW)
    submission = FileSubmission(upload("waiting").original or "", "a.txt", "txt", 7)
    store.add_job(submission, idempotency_key="k", max_queued=10, now=NOW)
    store.add_reindex(now=NOW)
    store.adopt_model(now=NOW)

    report = check_integrity(store, originals)

    assert (report.damages, report.damage_count) == ([], 0)
    assert report.checked == Checked(6, chunks=9, vectors=9, revisions=8, originals=2, bytes=report.checked.bytes)

    store.delete_everything(now=LATER)

    assert check_integrity(store, originals).checked == Checked()
    assert find_damages(store, originals) == []


def test_a_base_is_whole_for_everybody_after_one_has_cleared_it(
    store: Store, other_store: Store, originals: FolderOriginals
) -> None:
    """What one process knows of the full-text index holds for another that was there before it was emptied."""
    for writer, cleaner in ((other_store, store), (store, other_store)) * 2:
        assert find_damages(cleaner, originals) == []
        for number in range(3):
            document = add_note(writer, f"note {number}")
            writer.delete_document(document.id, expected_version=None, now=LATER)
        add_note(writer, "left over")
        cleaner.delete_everything(now=LATER)
        documents = [add_note(writer, f"other note {number}") for number in range(2)]
        writer.delete_document(documents[0].id, expected_version=None, now=LATER)

        assert [find_damages(one, originals) for one in (store, other_store)] == [[], []]


def test_a_document_made_anew_is_whole(store: Store, originals: FolderOriginals) -> None:
    """E21"""
    document = add(store, note("one"), index("one", "two", model="another"))
    store.adopt_model(now=NOW)
    claim = store.claim_job(Lane.UPKEEP, now=NOW, lease_until=NOW + LEASE)
    assert claim is not None

    store.replace_text(claim, document.id, index("one"), expected_version=document.version)

    assert find_damages(store, originals) == []


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("UPDATE documents SET checksum = checksum + 1", "document"),
        ("UPDATE documents SET note_text = note_text || ' '", "note"),
        ("UPDATE documents SET note_text = NULL", "note"),
        ("UPDATE documents SET note_text = CAST(note_text AS BLOB)", "note"),
        ("UPDATE documents SET search_title = 'other'", "full_text"),
        ("UPDATE chunks SET text = CAST(x'ff' AS TEXT) WHERE ordinal = 1", "chunk"),
        ("UPDATE chunks SET text = CAST(text AS BLOB) WHERE ordinal = 1", "chunk"),
        ("UPDATE chunks SET heading = 'Other' WHERE ordinal = 1", "chunk"),
        ("UPDATE chunks SET page_num = 2 WHERE ordinal = 1", "chunk"),
        ("UPDATE chunks SET search_text = 'other' WHERE ordinal = 1", "full_text"),
        ("UPDATE chunks SET search_heading = NULL WHERE ordinal = 1", "full_text"),
        ("DELETE FROM chunks WHERE ordinal = 0", "count"),
        ("DELETE FROM embeddings WHERE chunk_id = 5", "count"),
        ("UPDATE embeddings SET vector = zeroblob(64) WHERE chunk_id = 5", "vector"),
        ("UPDATE note_revisions SET text = text || ' '", "revision"),
        ("UPDATE note_revisions SET title = 'Other' WHERE text IS NOT NULL", "revision"),
        ("UPDATE note_revisions SET text = '' WHERE text IS NULL", "revision"),
        ("UPDATE jobs SET payload = replace(payload, 'waits', 'waited')", "job"),
        ("INSERT INTO chunks_fts (chunks_fts) VALUES ('delete-all')", "full_text"),
        ("DELETE FROM note_revisions; DELETE FROM documents", "structure"),
    ],
)
def test_what_is_not_as_it_was_stored_is_found(
    store: Store, originals: FolderOriginals, folder: Path, sql: str, kind: str
) -> None:
    """E21"""
    document = add(store, note("first", title="名"), index("one", "two 寿司", "three", heading="章節"))
    store.replace_note(
        document.id,
        revision("second", title="名"),
        index("one", "two 寿司", "three", heading="章節"),
        expected_version=None,
        now=LATER,
    )
    store.add_job(NoteSubmission("This waits."), idempotency_key=None, max_queued=10, now=NOW)
    assert find_damages(store, originals) == []

    harm(folder, sql)

    found = find_damages(store, originals)
    store.close()
    assert kind in [damage.kind for damage in found]
    assert all(damage.message.endswith(".") for damage in found)
    assert kind in [damage.kind for damage in check_base(folder / "kb.sqlite")]


def test_the_full_text_index_is_mended_only_while_that_is_short_enough_for_writers_to_wait(
    store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E21"""
    document = add(store, note("long"), index("one walrus", "two walruses"))
    harm(folder, "INSERT INTO chunks_fts (chunks_fts) VALUES ('delete-all')")

    with monkeypatch.context() as patched:
        patched.setattr(integrity, "MAX_CHUNKS_TO_COMPARE", 1)
        store.mend_full_text()
        found_in_large_base = found_by_text(store, "walrus")
    store.mend_full_text()

    assert found_in_large_base == []
    assert found_by_text(store, "walrus") == [document.id]


def test_only_what_can_be_made_anew_is_called_derived(store: Store, originals: FolderOriginals, folder: Path) -> None:
    """E21"""
    document = add_note(store, "one")
    harm(folder, "UPDATE embeddings SET vector = zeroblob(64)")
    harm(folder, "UPDATE documents SET note_text = 'two'")

    found = {(damage.kind, damage.document_id, damage.is_derived) for damage in find_damages(store, originals)}

    assert found == {("vector", document.id, True), ("note", document.id, False)}


def test_an_original_that_is_missing_or_changed_is_found(
    store: Store, originals: FolderOriginals, upload: AddFile
) -> None:
    """E21"""
    changed, missing = (add(store, upload(content)) for content in ("changed", "missing"))
    waiting = FileSubmission(upload("waiting").original or "", "a.txt", "txt", 7)
    store.add_job(waiting, idempotency_key=None, max_queued=10, now=NOW)
    originals.path_of(changed.original or "").write_text("changes")
    originals.path_of(missing.original or "").unlink()
    originals.path_of(waiting.original).unlink()

    found = find_damages(store, originals)

    assert [(damage.kind, damage.document_id) for damage in found] == [
        ("original", changed.id),
        ("original", missing.id),
        ("original", None),
    ]
    assert "is not what was uploaded" in found[0].message
    assert "is missing" in found[1].message


def test_an_original_that_nothing_refers_to_is_no_damage(
    store: Store, originals: FolderOriginals, upload: AddFile
) -> None:
    """E21"""
    upload("stray")

    assert check_integrity(store, originals).checked.originals == 0
    assert find_damages(store, originals) == []


def test_of_much_damage_the_beginning_is_told_and_the_rest_counted(
    store: Store, originals: FolderOriginals, folder: Path
) -> None:
    """E21"""
    chunks = MAX_LISTED + ROWS_PER_BATCH
    add(store, note("long"), text_of(store, chunks))
    harm(folder, "UPDATE chunks SET page_num = 7")

    report = check_integrity(store, originals)

    assert (len(report.damages), report.damage_count) == (MAX_LISTED, chunks)


class Resting:
    """Keeps count of the rests instead of taking them; says to stop after so many."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.seconds: list[float] = []
        self.stop_after = stop_after

    def __call__(self, seconds: float) -> bool:
        self.seconds.append(seconds)
        return len(self.seconds) == self.stop_after


def clock_at(moment: datetime) -> Callable[[], datetime]:
    return lambda: moment


def test_a_scrub_tells_what_it_found_and_is_due_again_after_a_week(
    store: Store, originals: FolderOriginals, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """E21"""
    add_note(store, "one")
    scrub_if_due(store, originals, clock_at(NOW), Resting())
    assert store.read_scrub() == Scrub(finished_at=NOW)

    harm(folder, "UPDATE embeddings SET vector = zeroblob(64)")
    scrub_if_due(store, originals, clock_at(NOW + EVERY - timedelta(seconds=1)), Resting())
    assert store.read_scrub().finished_at == NOW
    scrub_if_due(store, originals, clock_at(NOW + EVERY), Resting())

    assert store.read_scrub() == Scrub(finished_at=NOW + EVERY, damage_count=1)
    assert "The vector of chunk 1 is not the one that was stored." in caplog.text


def test_a_scrub_that_found_damage_is_due_again_the_next_day(store: Store, originals: FolderOriginals) -> None:
    """E21"""
    store.write_scrub(Scrub(finished_at=NOW, damage_count=3))

    scrub_if_due(store, originals, clock_at(NOW + EVERY_AFTER_DAMAGE), Resting())

    assert store.read_scrub() == Scrub(finished_at=NOW + EVERY_AFTER_DAMAGE)


def test_a_stopped_scrub_goes_on_where_it_was_and_counts_nothing_twice(
    store: Store, originals: FolderOriginals, folder: Path, upload: AddFile
) -> None:
    """E21"""
    for number in range(3):
        add(store, upload(f"file {number}"), text_of(store, ROWS_PER_BATCH))
        originals.path_of(file(f"file {number}").original or "").unlink()
    harm(folder, "UPDATE chunks SET page_num = 7 WHERE ordinal = 0")
    places: list[CheckCursor | None] = []

    # One more step at a time, or else the batch of documents with its originals would never be done.
    for stop_after in range(1, 20):
        scrub_if_due(store, originals, clock_at(NOW), Resting(stop_after))
        places.append(store.read_scrub().cursor)
        if places[-1] is None:
            break

    assert len(places) > 3
    assert store.read_scrub() == Scrub(finished_at=NOW, damage_count=6)


def test_a_scrub_rests_far_longer_than_it_works(store: Store, originals: FolderOriginals) -> None:
    """E21"""
    add(store, note("long"), text_of(store, 2 * ROWS_PER_BATCH))
    resting = Resting()

    scrub_if_due(store, originals, clock_at(NOW), resting)

    assert len(resting.seconds) >= 5
    assert all(seconds > 0 for seconds in resting.seconds)


def test_a_scrub_waits_for_jobs_to_be_done(store: Store, originals: FolderOriginals) -> None:
    """E21"""
    claim = claim_new_job(store)

    scrub_if_due(store, originals, clock_at(NOW), Resting(stop_after=3))
    assert store.read_scrub() == Scrub()

    store.cancel_job(claim.job_id, now=NOW)
    scrub_if_due(store, originals, clock_at(NOW), Resting())
    assert store.read_scrub().finished_at == NOW
