"""Vectors in files beside the base: made by a worker, mapped by whoever searches, thrown away without loss.

The sizes from which they are used are made small here, and the vectors of these tests are few and short: so nearly all
are compared, and what is found is exact.
"""

import shutil
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from tests.backends import Backend, SqliteBackend
from tests.bases import make_backup, restore_backup
from tests.handmade_documents import LATER, add, claim_new_job, index, note, revision, vector_of

from kb.engine.errors import StorageFull, Unavailable
from kb.engine.model import EVERYWHERE, Document, DocumentChange, Scope
from kb.engine.ports import Store
from kb.engine.storage.sqlite.vectors import building, coded, files
from kb.engine.storage.sqlite.vectors import index as vector_index
from kb.engine.storage.sqlite.vectors.coded import count_steps
from kb.engine.storage.sqlite.vectors.codes import encode

DOCUMENTS, CHUNKS = 30, 4


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "CODED_FROM", 40)
    monkeypatch.setattr(building, "MOST_FRESH_ROWS", 12)
    monkeypatch.setattr(coded, "COMPARED_WITHOUT_CODES", 5)


@pytest.fixture
def documents(store: Store) -> list[Document]:
    return [
        add(store, note(f"note {n}", tags=["even"] if n % 2 == 0 else []), index(*texts_of(n)))
        for n in range(DOCUMENTS)
    ]


@pytest.fixture
def tuned_store(store: Store, documents: list[Document]) -> Store:
    store.tune_search()
    assert store.read_statistics().vector_index.kind == "codes"
    return store


def texts_of(number: int) -> list[str]:
    return [f"chunk {chunk} of {number}" for chunk in range(CHUNKS)]


def find(store: Store, text: str, scope: Scope = EVERYWHERE, *, limit: int = 10) -> list[int]:
    return list(store.find_by_vector(vector_of(text), scope, limit=limit).matches.document_ids)


def folders_of(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.vectors-*"))


def test_a_small_base_has_no_files(store: Store, folder: Path) -> None:
    add(store, note("a note"))

    store.tune_search()

    assert folders_of(folder) == []
    assert store.read_statistics().vector_index.kind == "exact"


def test_e20_a_large_base_gets_files_and_status_tells_how_well_they_find(tuned_store: Store, folder: Path) -> None:
    state = tuned_store.read_statistics().vector_index

    assert len(folders_of(folder)) == 1
    assert state.chunks == DOCUMENTS * CHUNKS
    assert state.recall == 1.0


def test_what_is_found_is_the_same_with_files_and_without(store: Store, documents: list[Document]) -> None:
    queries = [texts_of(n)[1] for n in range(DOCUMENTS)] + ["anything else", "nothing like it"]
    before = [store.find_by_vector(vector_of(query), EVERYWHERE, limit=20) for query in queries]

    store.tune_search()

    after = [store.find_by_vector(vector_of(query), EVERYWHERE, limit=20) for query in queries]
    for one, other in zip(before, after, strict=True):
        assert one.matches.chunk_ids.tolist() == other.matches.chunk_ids.tolist()
        assert one.matches.ordinals.tolist() == other.matches.ordinals.tolist()
        assert np.allclose(one.matches.scores, other.matches.scores, atol=1e-3)
        assert one.background.count == other.background.count


def test_vectors_are_loaded_in_the_order_asked_for_from_files_and_memory(
    tuned_store: Store, documents: list[Document]
) -> None:
    added = add(tuned_store, note("new"), index("something new"))
    [new_chunk] = tuned_store.read_document(added.id).chunks
    old_chunk = tuned_store.read_document(documents[3].id).chunks[2]

    loaded = tuned_store.load_vectors(np.array([new_chunk.id, 10**9, old_chunk.id]))

    assert loaded.chunk_ids.tolist() == [new_chunk.id, old_chunk.id]
    assert np.allclose(loaded.matrix, [vector_of("something new"), vector_of(texts_of(3)[2])], atol=1e-3)


def test_s5_changes_are_seen_at_once_whoever_makes_them(
    tuned_store: Store, other_store: Store, documents: list[Document]
) -> None:
    deleted, rewritten = documents[4], documents[6]
    assert find(tuned_store, texts_of(4)[0])[0] == deleted.id

    other_store.delete_document(deleted.id, expected_version=None, now=LATER)
    other_store.replace_note(rewritten.id, revision("now"), index("wholly rewritten"), expected_version=None, now=LATER)
    added = add(other_store, note("added"), index("freshly added"))

    assert deleted.id not in find(tuned_store, texts_of(4)[0], limit=200)
    assert find(tuned_store, "wholly rewritten")[0] == rewritten.id
    assert find(tuned_store, "freshly added")[0] == added.id
    assert find(tuned_store, texts_of(6)[0])[0] != rewritten.id


def test_the_numbers_of_what_is_deleted_are_gone_from_the_files(
    tuned_store: Store, documents: list[Document], folder: Path
) -> None:
    [vectors], [codes] = folder.glob("*.vectors-*/vectors"), folder.glob("*.vectors-*/codes")
    vector = vector_of(texts_of(4)[0])
    numbers, code = count_steps(vector).tobytes(), encode(vector[None]).tobytes()
    assert numbers in vectors.read_bytes()
    assert code in codes.read_bytes()

    tuned_store.delete_document(documents[4].id, expected_version=None, now=LATER)
    find(tuned_store, "anything")

    assert numbers not in vectors.read_bytes()
    assert code not in codes.read_bytes()


def test_e15_clearing_everything_removes_the_files(tuned_store: Store, folder: Path) -> None:
    tuned_store.delete_everything(now=LATER)

    assert folders_of(folder) == []
    assert find(tuned_store, "anything") == []


def test_s3_a_scope_is_kept_in_files_and_memory(tuned_store: Store, documents: list[Document]) -> None:
    even = Scope(tags=("even",))
    extra = add(tuned_store, note("extra", tags=["even"]), index("extra chunk"))

    found = find(tuned_store, texts_of(3)[0], even, limit=200)

    assert set(found) == {document.id for document in documents[::2]} | {extra.id}
    assert len(found) == DOCUMENTS // 2 * CHUNKS + 1


def test_s3_a_scope_follows_every_change_of_a_documents_properties(store: Store, documents: list[Document]) -> None:
    even = Scope(tags=("even",))
    allowed = {document.id for document in documents[::2]}
    assert set(find(store, "anything", even, limit=200)) == allowed

    store.change_tags(documents[1].id, add=["even"], remove=[], expected_version=None, now=LATER)
    store.change_tags(documents[0].id, add=[], remove=["even"], expected_version=None, now=LATER)
    store.delete_document(documents[2].id, expected_version=None, now=LATER)
    added = add(store, note("late", tags=["even"]))

    expected = (allowed | {documents[1].id, added.id}) - {documents[0].id, documents[2].id}
    assert set(find(store, "anything", even, limit=200)) == expected


def test_files_are_made_anew_when_much_is_new_and_the_old_ones_go(tuned_store: Store, folder: Path) -> None:
    before = folders_of(folder)
    for number in range(4):
        add(tuned_store, note(f"more {number}"), index(*texts_of(100 + number)))

    tuned_store.tune_search()

    assert len(folders_of(folder)) == 1
    assert folders_of(folder) != before
    assert find(tuned_store, texts_of(102)[3])[0] == find(tuned_store, texts_of(102)[0])[0]


def test_files_are_left_alone_when_little_is_new(tuned_store: Store, folder: Path) -> None:
    before = folders_of(folder)
    add(tuned_store, note("one more"))

    tuned_store.tune_search()

    assert folders_of(folder) == before


def test_files_are_made_anew_when_many_of_their_chunks_are_dead(
    tuned_store: Store, documents: list[Document], folder: Path
) -> None:
    before = folders_of(folder)
    for document in documents[:10]:
        tuned_store.delete_document(document.id, expected_version=None, now=LATER)

    tuned_store.tune_search()

    assert folders_of(folder) != before
    assert tuned_store.read_statistics().vector_index.chunks == (DOCUMENTS - 10) * CHUNKS


def test_a_base_that_has_shrunk_gives_its_files_up(tuned_store: Store, documents: list[Document], folder: Path) -> None:
    for document in documents[:-2]:
        tuned_store.delete_document(document.id, expected_version=None, now=LATER)

    tuned_store.tune_search()

    assert folders_of(folder) == []
    assert find(tuned_store, texts_of(DOCUMENTS - 1)[0])[0] == documents[-1].id


def test_another_start_goes_on_with_the_files(tuned_store: Store, documents: list[Document], backend: Backend) -> None:
    added = add(tuned_store, note("added"), index("after the files"))
    tuned_store.delete_document(documents[5].id, expected_version=None, now=LATER)
    tuned_store.close()

    again = backend.open()

    assert again.read_statistics().vector_index.kind == "codes"
    assert find(again, "after the files")[0] == added.id
    assert documents[5].id not in find(again, texts_of(5)[0], limit=200)
    again.close()


@pytest.mark.parametrize("damage", ["no folder", "short file", "no json", "other format"])
def test_damaged_files_are_not_used_and_made_anew(
    tuned_store: Store, documents: list[Document], backend: Backend, folder: Path, damage: str
) -> None:
    [files_of_base] = folders_of(folder)
    if damage == "no folder":
        shutil.rmtree(files_of_base)
    elif damage == "short file":
        with (files_of_base / "codes").open("r+b") as file:
            file.truncate(8)
    elif damage == "no json":
        (files_of_base / "about.json").write_text("{")
    else:
        about = (files_of_base / "about.json").read_text()
        (files_of_base / "about.json").write_text(about.replace(f'"format": {files.FORMAT}', '"format": 99'))

    again = backend.open()

    assert find(again, texts_of(7)[0])[0] == documents[7].id
    assert again.read_statistics().vector_index.kind == "exact"
    again.tune_search()
    assert again.read_statistics().vector_index.kind == "codes"
    again.close()


def test_files_of_another_time_are_not_taken_for_the_bases_own(
    store: Store, documents: list[Document], backend: Backend, folder: Path
) -> None:
    store.close()
    shutil.copy(folder / "kb.sqlite", folder / "copy")
    later = backend.open()
    later.delete_document(documents[9].id, expected_version=None, now=LATER)
    later.tune_search()
    later.close()

    (folder / "copy").replace(folder / "kb.sqlite")
    restored = backend.open()

    assert restored.read_statistics().vector_index.kind == "exact"
    assert find(restored, texts_of(9)[0])[0] == documents[9].id
    restored.tune_search()
    assert restored.read_statistics().vector_index.kind == "codes"
    restored.close()


def test_too_many_vectors_without_files_are_not_searched_until_there_are_some(
    store: Store, documents: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_index, "MOST_EXACT_ROWS", 100)
    assert not store.has_whole_vectors()
    assert store.read_statistics().vector_index.kind == "none"
    with pytest.raises(Unavailable, match="being made"):
        find(store, "anything")

    store.tune_search()

    assert store.has_whole_vectors()
    assert find(store, texts_of(2)[2])[0] == documents[2].id


def test_too_many_changes_at_once_wait_for_new_files(
    tuned_store: Store, other_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_index, "MOST_EXACT_ROWS", 15)
    for number in range(4):
        add(other_store, note(f"more {number}"), index(*texts_of(100 + number)))
    assert not tuned_store.has_whole_vectors()

    other_store.tune_search()

    assert tuned_store.has_whole_vectors()
    assert find(tuned_store, texts_of(103)[0])


def test_a_disk_without_room_leaves_the_files_that_are_there(
    tuned_store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = folders_of(folder)
    for number in range(4):
        add(tuned_store, note(f"more {number}"), index(*texts_of(100 + number)))

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(StorageFull):
        tuned_store.tune_search()

    assert folders_of(folder) == before
    assert find(tuned_store, texts_of(103)[0])


def test_what_a_worker_that_was_killed_left_behind_goes_in_time(
    tuned_store: Store, other_store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unfinished = folder / "kb.sqlite.vectors-abc.unfinished"
    unfinished.mkdir()
    other_store.tune_search()
    assert unfinished.exists()

    monkeypatch.setattr(files, "MADE_WITHIN_SECONDS", -1)
    other_store.tune_search()

    assert not unfinished.exists()
    assert len(folders_of(folder)) == 1


def test_a_new_model_gets_files_once_there_are_vectors_of_it(
    tuned_store: Store, documents: list[Document], backend: Backend, folder: Path
) -> None:
    other = backend.open("another-model")
    other.tune_search()

    assert not other.has_whole_vectors()
    assert len(other.find_by_vector(vector_of("anything"), EVERYWHERE, limit=5).matches) == 0
    assert folders_of(folder) == []

    claim = claim_new_job(other)
    for document in documents:
        text = index(*texts_of(document.id), model="another-model")
        other.replace_text(claim, document.id, text, expected_version=document.version)
    other.tune_search()

    assert len(folders_of(folder)) == 1
    assert find(other, texts_of(documents[8].id)[1])[0] == documents[8].id
    other.close()


@pytest.mark.parametrize("coded_from", [40, 1_000])
def test_a_new_title_leaves_the_vectors_of_all_chunks_where_they_are(
    store: Store, documents: list[Document], monkeypatch: pytest.MonkeyPatch, coded_from: int
) -> None:
    monkeypatch.setattr(building, "CODED_FROM", coded_from)
    store.tune_search()
    chunk_ids = np.array([store.read_document(document.id).chunks[0].id for document in documents])
    store.load_vectors(chunk_ids)

    store.update_document(documents[3].id, DocumentChange(title="Another"), expected_version=None, now=LATER)

    assert store.load_vectors(chunk_ids).chunk_ids.tolist() == chunk_ids.tolist()
    assert find(store, texts_of(3)[2])[0] == documents[3].id


def test_files_that_another_worker_has_just_made_are_left_alone(tuned_store: Store, folder: Path) -> None:
    just_made = folder / "kb.sqlite.vectors-abc"
    just_made.mkdir()
    for number in range(4):
        add(tuned_store, note(f"more {number}"), index(*texts_of(100 + number)))

    tuned_store.tune_search()

    assert just_made in folders_of(folder)
    assert len(folders_of(folder)) == 2


def test_a_restored_base_does_not_take_the_files_of_what_came_after_its_backup(folder: Path) -> None:
    (folder / "data").mkdir()
    backend = SqliteBackend(folder / "data")
    with closing(backend.open()) as store:
        notes = [add(store, note(f"note {n}"), index(*texts_of(n))) for n in range(DOCUMENTS)]
        store.tune_search()
        make_backup(folder)
        store.delete_document(notes[9].id, expected_version=None, now=LATER)
        find(store, "anything")

    restore_backup(folder, "data")

    with closing(backend.open()) as restored:
        assert find(restored, texts_of(9)[0])[0] == notes[9].id
