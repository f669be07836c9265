"""The base of a kb v2 is taken over, whatever state it is in (E23)."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

import pytest
from tests.backends import MODEL
from tests.bundles import take_portable
from tests.contract.sqlite.old_bases import (
    build_base,
    bytes_of,
    open_base,
    read_content,
    read_schema,
    read_version,
    upgrade,
)
from tests.handmade_documents import NOW, add_note, found_by_text, work_off

from kb.engine.bundles.rules import find_fault
from kb.engine.errors import Unavailable
from kb.engine.model import EVERYWHERE, DocumentId, DocumentQuery, JobError, JobStatus
from kb.engine.originals import FolderOriginals
from kb.engine.ports import Store
from kb.engine.search.hybrid import Mode, SearchRequest, search
from kb.engine.storage import open_store
from kb.engine.storage.sqlite.integrity import check_base
from kb.engine.wiring import EngineOptions, open_engine

FILES = {"2_handbook.md": b"# Invoices\n\nInvoices are due within thirty days.\n", "8_photo.jpeg": b"\xff\xd8photo"}


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def v2(folder: Path) -> Path:
    """The base of a v2 with its files, one of which is missing."""
    (folder / "data" / "files").mkdir(parents=True)
    for name, content in FILES.items():
        (folder / "data" / "files" / name).write_bytes(content)
    (folder / "outside.txt").write_bytes(b"secret")
    base = folder / "data" / "kb.db"
    build_base(base, 2)
    return base


@pytest.fixture
def store(v2: Path) -> Iterator[Store]:
    """What became of it."""
    upgrade(v2.parent)
    store = open_store(v2.parent, model_fingerprint=MODEL)
    yield store
    store.close()


def test_documents_keep_ids_titles_and_times_and_hashes_are_those_of_the_content(store: Store) -> None:
    """E22, E23"""
    note, handbook = store.read_document(1), store.get_document(2)

    assert note.text == "The otter sleeps on its back.\n\nIt holds hands while it sleeps."
    assert note.document.content_hash == f"sha256:{sha256(note.text.encode())}"
    assert note.document.size_bytes == len(note.text)
    assert (note.document.title, note.document.doc_type, note.document.filename) == ("Otters", "note", "Otters.md")
    assert note.document.created_at == datetime(2024, 5, 1, 8, 30, tzinfo=UTC)
    assert (note.document.updated_at, note.document.version) == (None, 1)
    assert [revision.text for revision in store.list_revisions(1, limit=10, offset=0).rows] == [note.text]
    assert handbook.content_hash == f"sha256:{sha256(FILES['2_handbook.md'])}"
    assert (handbook.filename, handbook.source_path) == ("handbook.md", "/home/ann/handbook.md")
    assert handbook.size_bytes == len(FILES["2_handbook.md"])


@pytest.mark.parametrize(
    ("document_id", "doc_type", "format", "title"),
    [
        (2, "md", "md", "Handbook"),
        (3, "pdf", "pdf", "Report"),
        (5, "note", "note", "Remember the milk."),
        (6, "txt", "txt", "Otters"),
        (8, "image", "jpg", "A photo of a lighthouse."),
        (10, "pptx", "pptx", "Slides"),
        (11, "txt", "txt", "Nothing"),
    ],
)
def test_types_and_titles_become_those_of_today(
    store: Store, document_id: int, doc_type: str, format: str, title: str
) -> None:
    """E23"""
    document = store.get_document(document_id)

    assert (document.doc_type, document.format, document.title) == (doc_type, format, title)


def test_chunks_keep_their_ids_and_are_numbered_without_gaps(store: Store) -> None:
    """E23"""
    report = store.read_document(3)

    assert [(chunk.id, chunk.ordinal, chunk.page_num, chunk.heading) for chunk in report.chunks] == [
        (4, 0, 7, None),
        (5, 1, None, None),
    ]
    assert [(chunk.id, chunk.heading) for chunk in store.read_document(1).chunks] == [(2, "Habits"), (1, None)]
    assert store.read_document(11).chunks == []


@pytest.mark.parametrize("has_links", [True, False])
def test_originals_get_their_place_and_stay_where_v2_has_them(
    v2: Path, monkeypatch: pytest.MonkeyPatch, *, has_links: bool
) -> None:
    """E13, E23"""

    def refuse(source: Path, target: Path) -> NoReturn:
        raise PermissionError(1, "Operation not permitted")

    if not has_links:
        monkeypatch.setattr(os, "link", refuse)
    upgrade(v2.parent)

    originals = FolderOriginals(v2.parent / "originals")
    for content in FILES.values():
        assert originals.path_of(sha256(content)).read_bytes() == content
    assert {name: (v2.parent / "files" / name).read_bytes() for name in FILES} == FILES


@pytest.mark.parametrize("document_id", [3, 6, 9, 10])
def test_a_document_whose_file_is_gone_or_lies_elsewhere_keeps_its_text(store: Store, document_id: int) -> None:
    """E23"""
    detail = store.read_document(document_id)

    text = "\n\n".join(chunk.text for chunk in detail.chunks)
    assert detail.document.original is None
    assert detail.document.content_hash == f"sha256:{sha256(text.encode())}"


def test_what_is_odd_gets_the_next_best(store: Store) -> None:
    """E23: a time that is none, and one with an offset."""
    assert store.get_document(6).created_at == NOW
    assert store.get_document(5).created_at == datetime(2024, 5, 4, 8, 30, 0, 250_000, tzinfo=UTC)
    assert store.get_document(6).filename == "otters.txt"


def test_odd_values_are_kept_as_far_as_they_can_be_and_can_be_moved_on(v2: Path) -> None:
    """E21: what is in the base can be exported, and what is exported can be imported."""
    with open_base(v2) as db:
        db.execute("UPDATE documents SET title = CAST('blob title' AS BLOB), source_path = '' WHERE id = 1")
        db.execute(
            "UPDATE documents SET title = ?, created_at = '0001-01-01T00:00:00+05:00' WHERE id = 2", ("t" * 20_000,)
        )
        db.execute("UPDATE documents SET source_path = ? WHERE id = 3", ("/a\nb\0c" + "d" * 5_000,))
        db.execute("UPDATE tags SET name = ? WHERE id = (SELECT min(id) FROM tags)", (b"blob tag" + b"g" * 300,))
    upgrade(v2.parent)

    with closing(open_store(v2.parent, model_fingerprint="none")) as store:
        documents = {int(document.id): document for document in store.list_documents(DocumentQuery(limit=1000)).rows}
        portable = [take_portable(store, after=DocumentId(number - 1)) for number in (1, 2, 3)]

    assert (documents[1].title, documents[1].source_path) == ("blob title", None)
    assert len(documents[2].title) == 10_000
    assert documents[3].source_path is not None
    assert "\0" not in documents[3].source_path
    assert [find_fault(one) for one in portable if one is not None] == [None, None, None]


def test_tags_keep_the_order_of_their_ids_and_unused_ones_are_gone(store: Store) -> None:
    """E16, E23"""
    assert store.get_document(1).tags == ("animals", "sleep")
    assert store.get_document(2).tags == ("work/2024",)
    assert [tag.name for tag in store.list_tags().rows] == ["animals", "sleep", "work/2024", "旅行"]


def test_what_was_done_stays_done_and_what_was_not_is_to_be_submitted_again(store: Store) -> None:
    """E23"""
    jobs = {int(job.id): job for job in store.list_jobs(status=None, limit=10, offset=0).rows}

    assert {job_id: job.status for job_id, job in jobs.items()} == {
        1: JobStatus.COMPLETED,
        2: JobStatus.COMPLETED,
        3: JobStatus.FAILED,
        4: JobStatus.FAILED,
        6: JobStatus.FAILED,
    }
    assert (jobs[1].document_id, jobs[1].document_uuid) == (1, store.get_document(1).uuid)
    assert (jobs[2].document_id, jobs[2].document_uuid) == (None, None)
    assert jobs[3].error == JobError("internal_error", "The file is encrypted.")
    assert jobs[4].error == JobError("internal_error", "It was not finished before the upgrade; submit it again.")


def test_no_id_of_v2_is_given_to_anything_new(store: Store) -> None:
    """E23"""
    document = add_note(store, "new")

    assert document.id == 41
    assert store.read_document(document.id).chunks[0].id == 501
    assert store.list_jobs(status=None, limit=1, offset=0).rows[0].id == 31


def test_everything_is_found_by_its_words_at_once(store: Store) -> None:
    """E23, E28"""
    assert set(found_by_text(store, "otters")) == {1, 6}
    assert found_by_text(store, "revenue") == [3]
    assert found_by_text(store, "寿司") == [7]
    assert found_by_text(store, "築地") == [7]
    assert len(store.find_by_text(["gone"], EVERYWHERE, limit=10).matches) == 0


def test_the_engine_makes_the_vectors_in_the_background(v2: Path, model_folder: Path, cache_dir: Path) -> None:
    """E23, E28"""
    options = EngineOptions(v2.parent, model_folder, cache_dir / "graphs", max_file_bytes=1000)
    request = SearchRequest("when must a bill be paid?", mode=Mode.VECTOR)

    with open_engine(options) as engine:
        engine.embedder.token_spans("waits for the model")
        is_degraded_before = search(engine.store, engine.embedder, SearchRequest("invoices")).is_degraded
        work_off(engine.pipeline)
        found = search(engine.store, engine.embedder, request)

        assert is_degraded_before
        assert found.hits[0].document.id == 2
        assert engine.store.read_statistics().stale_vectors == 0


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_v2_base_of_another_name_stays_as_it_was(v2: Path, mode: str) -> None:
    """E23: it is the backup, and rolling back is to go on with it."""
    with open_base(v2) as db:
        db.pragma("journal_mode", mode)
        db.execute("UPDATE documents SET title = 'Otters!' WHERE id = 1")
    before, content = bytes_of(v2), read_content(v2)

    upgrade(v2.parent)

    assert bytes_of(v2) == before
    assert (read_content(v2), read_version(v2)) == (content, 2)
    assert read_content(v2.with_name("kb.sqlite"))["documents"][0][1] == "Otters!"


def test_a_base_of_today_is_never_replaced_by_one_of_v2(v2: Path, folder: Path) -> None:
    """E23"""
    upgrade(v2.parent)
    store = open_store(v2.parent, model_fingerprint=MODEL)
    added = add_note(store, "new")
    store.close()

    upgrade(v2.parent)

    store = open_store(v2.parent, model_fingerprint=MODEL)
    assert store.get_document(added.id).id == added.id
    store.close()


def test_the_log_of_a_base_that_is_gone_is_not_taken_for_that_of_the_new_one(v2: Path) -> None:
    """E23"""
    gone = v2.with_name("kb.sqlite")
    build_base(gone, 3)
    gone.unlink()

    upgrade(v2.parent)

    assert check_base(gone) == []
    assert len(read_content(gone)["documents"]) == 10


def test_nobody_makes_a_new_base_beside_one_of_v2(v2: Path) -> None:
    """E23: a worker that is started first would hide everything that v2 has."""
    with pytest.raises(Unavailable, match="Start the engine first"):
        open_store(v2.parent, model_fingerprint=MODEL)

    assert not v2.with_name("kb.sqlite").exists()


def test_of_two_v2_bases_none_is_chosen(v2: Path) -> None:
    """E23"""
    build_base(v2.with_name("knowledge.db"), 2)

    with pytest.raises(Unavailable, match=r"kb\.db and knowledge\.db"):
        upgrade(v2.parent)


def test_a_file_of_that_name_that_is_no_base_of_v2_is_left_alone(folder: Path) -> None:
    (folder / "kb.db").write_text("These are not the bytes of a database. " * 100)
    with open_base(folder / "knowledge.db") as db:
        db.execute("CREATE TABLE documents (id, updated_at)")
        db.pragma("user_version", 2)

    upgrade(folder)

    assert not (folder / "kb.sqlite").exists()


@pytest.mark.parametrize(
    "stored_path", ["absolute", "files/link", "files/circle", "files/folder", "x" * 5_000, "a/" * 3_000]
)
def test_no_path_of_v2_leads_out_of_its_folder(v2: Path, folder: Path, stored_path: str) -> None:
    """E31"""
    files = v2.parent / "files"
    (files / "link").symlink_to(folder / "outside.txt")
    (files / "circle").symlink_to(files / "circle")
    (files / "folder").symlink_to(folder)
    given = {"absolute": str(folder / "outside.txt"), "files/folder": "files/folder/outside.txt"}
    with open_base(v2) as db:
        db.execute("UPDATE documents SET stored_path = ? WHERE id = 2", (given.get(stored_path, stored_path),))

    upgrade(v2.parent)

    with closing(open_store(v2.parent, model_fingerprint=MODEL)) as store:
        assert store.get_document(2).original is None
        assert found_by_text(store, "invoices") == [2]
    assert not FolderOriginals(v2.parent / "originals").path_of(sha256(b"secret")).exists()


def test_triggers_and_views_in_a_base_of_v2_do_nothing(v2: Path) -> None:
    """E31"""
    with open_base(v2) as db:
        db.execute("CREATE TRIGGER evil AFTER INSERT ON documents BEGIN DELETE FROM jobs; END")
        db.execute("CREATE TRIGGER evil_too BEFORE UPDATE ON jobs BEGIN DELETE FROM documents; END")
        db.execute("CREATE VIEW places AS SELECT id AS document_id, 0 AS chunk_index, id AS chunk_id FROM jobs")
        db.execute("CREATE VIEW kept AS SELECT load_extension('evil')")
    content = read_content(v2)

    upgrade(v2.parent)

    base = v2.with_name("kb.sqlite")
    assert read_content(v2) == content
    assert check_base(base) == []
    assert [name for _, name, _, _ in read_schema(base) if "evil" in name or name in ("places", "kept")] == []


@pytest.mark.parametrize("table", ["chunks", "tags", "document_tags", "jobs"])
@pytest.mark.parametrize("kind", ["view", "virtual table"])
def test_view_or_virtual_table_instead_of_a_table_of_v2_is_refused(v2: Path, table: str, kind: str) -> None:
    """E31"""
    with open_base(v2) as db:
        db.execute(f"DROP TABLE {table}")
        db.execute(
            f"CREATE VIEW {table} AS SELECT 1 AS id, zeroblob(9) AS text"
            if kind == "view"
            else f"CREATE VIRTUAL TABLE {table} USING fts5 (text)"
        )

    with pytest.raises(Unavailable, match=f"{table} is not the table that kb v2 made"):
        upgrade(v2.parent)

    assert not v2.with_name("kb.sqlite").exists()


@pytest.mark.parametrize("kind", ["VIEW documents AS SELECT 1 AS id", "VIRTUAL TABLE documents USING fts5 (id)"])
def test_a_base_without_a_plain_table_of_documents_is_not_v2(folder: Path, kind: str) -> None:
    """E31"""
    with open_base(folder / "kb.sqlite") as db:
        db.execute(f"CREATE {kind}; PRAGMA user_version = 2")

    with pytest.raises(Unavailable, match="cannot take over"):
        upgrade(folder)
