"""E21: a bundle out of one base and into another."""

import hashlib
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient
from tests.api_calls import MAX_FILE_BYTES, OPEN, V1, AddDocument, Answer, Json, assert_problem
from tests.bundles import NOW, pack, pack_original, portable_file, portable_note, render_portable, repack, unpack
from tests.contract.sqlite.old_bases import build_base, upgrade
from tests.engine_in_process import open_engine_with
from tests.handmade_documents import work_off
from tests.originals import path_in

from kb.engine.api.app import create_routes
from kb.engine.api.guard import MAX_JSON_BYTES, Guard
from kb.engine.bundles.exporting import export_bundle
from kb.engine.bundles.importing import import_bundle
from kb.engine.bundles.writing import begin_bundle, begin_member, end_bundle, end_member
from kb.engine.errors import Unavailable
from kb.engine.model.portable import PortableDocument
from kb.engine.originals import FolderOriginals
from kb.engine.ports import Embedder
from kb.engine.storage import open_store
from kb.engine.wiring import Engine

TAR = {"Content-Type": "application/x-tar"}
NOTHING = {"documents_added": 0, "documents_replaced": 0, "documents_unchanged": 0, "originals_added": 0}


@pytest.fixture
def engine(engine: Engine) -> Engine:
    """One that goes on: an import ends where the program does."""
    return replace(engine, is_stopping=lambda: False)


@pytest.fixture(scope="module")
def other_routes() -> FastAPI:
    return create_routes()


@pytest.fixture
def other_engine(embedder: Embedder) -> Iterator[Engine]:
    with open_engine_with(embedder) as engine:
        yield replace(engine, is_stopping=lambda: False)


@pytest.fixture
def other(other_routes: FastAPI, other_engine: Engine) -> Iterator[TestClient]:
    """Another base, with nothing in it."""
    other_routes.state.engine = other_engine
    with TestClient(Guard(other_routes, OPEN, max_file_bytes=MAX_FILE_BYTES), raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def bundle(api: TestClient, add_note: AddDocument, add_file: AddDocument) -> bytes:
    """Of notes with a history, files that share an original, tags, metadata and gaps between ids."""
    note = add_note("The walrus rests.", tags=["sea:cold", "動物"], metadata={"z": {"y": [1, 2.5, None]}, "a": "ü"})
    api.patch(f"{V1}/notes/{note['id']}", json={"text": "The walrus dives.\n\n" + "It is deep. " * 150})
    add_file("猫は静かに眠る。", "猫.txt", source_path="/one")
    add_file("猫は静かに眠る。", "猫.txt", source_path="/two")
    gone = add_note("Forgotten.")
    api.delete(f"{V1}/documents/{gone['id']}")
    add_file("# Otters\n\nThey hold hands.\n\n## Why\n\nThey drift.", "otters.md", tags=["sea:cold"])
    return export(api)


def export(api: TestClient) -> bytes:
    response = api.get(f"{V1}/export")
    assert response.status_code == 200
    return response.content


def send(api: TestClient, body: bytes) -> Answer:
    return api.post(f"{V1}/import", content=body, headers=TAR)


def documents(api: TestClient) -> list[Json]:
    found: list[Json] = api.get(f"{V1}/documents", params={"sort": "date_added", "order": "asc"}).json()["documents"]
    return found


def files(engine: Engine) -> list[str]:
    """The originals that are there, and whatever an import has left behind."""
    folder = engine.options.data_dir / "originals"
    return sorted(path.name for path in folder.glob("*/*"))


def search(api: TestClient, query: str) -> list[Json]:
    results: list[Json] = api.post(f"{V1}/search", json={"query": query}).json()["results"]
    return results


def test_e21_an_export_is_a_download(api: TestClient) -> None:
    response = api.get(f"{V1}/export")

    assert response.headers["content-type"] == "application/x-tar"
    assert response.headers["content-disposition"].startswith("attachment;")
    assert unpack(response.content) == []


def test_e21_after_an_import_into_an_empty_base_its_export_is_the_same_byte_for_byte(
    bundle: bytes, api: TestClient, other: TestClient, engine: Engine, other_engine: Engine
) -> None:
    imported = send(other, bundle).json()

    assert imported == {**NOTHING, "documents_added": 4, "originals_added": 2, "reindexing": False}
    assert export(other) == bundle
    assert documents(other) == documents(api)
    assert files(other_engine) == files(engine)
    for query in ("deep walrus", "猫", "who holds hands?"):
        assert [hit["chunk_uuid"] for hit in search(other, query)] == [hit["chunk_uuid"] for hit in search(api, query)]
    assert other.get(f"{V1}/notes/1/revisions").json() == api.get(f"{V1}/notes/1/revisions").json()
    assert other.get(f"{V1}/documents/2/file").content == "猫は静かに眠る。".encode()


def test_e21_importing_twice_changes_nothing(bundle: bytes, api: TestClient, engine: Engine) -> None:
    before = files(engine)

    imported = send(api, bundle).json()

    assert imported == {**NOTHING, "documents_unchanged": 4, "reindexing": False}
    assert export(api) == bundle
    assert files(engine) == before


def test_e21_what_a_base_has_is_joined_by_what_comes(bundle: bytes, other: TestClient) -> None:
    other.post(f"{V1}/jobs", json={"type": "note", "text": "not yet indexed"})
    send(other, pack([portable_note(1, "I was here first.", vector_model="", dimension=0)]))

    imported = send(other, bundle).json()

    assert imported["documents_added"] == 4
    assert [document["id"] for document in documents(other)][-1] == 5
    assert other.get(f"{V1}/documents/1").json()["text"] == "I was here first."


def test_e21_only_newer_versions_replace_what_is_there(bundle: bytes, api: TestClient, other: TestClient) -> None:
    send(other, bundle)
    api.patch(f"{V1}/documents/2", json={"title": "Newer in the bundle"})
    other.patch(f"{V1}/documents/3", json={"title": "Newer in the base"})

    imported = send(other, export(api)).json()

    assert imported == {**NOTHING, "documents_replaced": 1, "documents_unchanged": 3, "reindexing": False}
    assert [document["title"] for document in documents(other)][1:3] == ["Newer in the bundle", "Newer in the base"]


def test_e21_an_original_goes_with_the_last_version_that_needed_it(other: TestClient, other_engine: Engine) -> None:
    send(other, pack([b"old", portable_file(b"old", vector_model="")]))

    send(other, pack([b"new", portable_file(b"new", version=2, vector_model="")]))

    assert files(other_engine) == [hashlib.sha256(b"new").hexdigest()]


def test_e21_an_original_without_a_document_is_not_kept(other: TestClient, other_engine: Engine) -> None:
    imported = send(other, pack([b"nobody's"])).json()

    assert imported["originals_added"] == 0
    assert files(other_engine) == []


def test_e28_vectors_of_another_model_are_made_anew_and_never_mixed_in(
    bundle: bytes, other: TestClient, other_engine: Engine
) -> None:
    foreign = repack(bundle, with_another_model)

    imported = send(other, foreign).json()
    while_stale = other.get(f"{V1}/status").json()
    found_while_stale = search(other, "hands")
    work_off(other_engine.pipeline)

    assert imported["reindexing"] is True
    assert while_stale["vectors"] == 0
    assert [hit["filename"] for hit in found_while_stale] == ["otters.md"]
    status = other.get(f"{V1}/status").json()
    assert status["vectors"] == status["chunks"] > 0
    assert other.post(f"{V1}/search", json={"query": "sea mammals", "mode": "vector"}).json()["results"]


def with_another_model(document: PortableDocument) -> PortableDocument:
    vectors = np.eye(3, dtype=np.float32)[np.zeros(len(document.vectors), dtype=int)]
    return PortableDocument(replace(document.record, vector_model="another"), vectors)


def test_e21_vectors_that_only_claim_to_be_of_the_own_model_are_refused(
    other: TestClient, other_engine: Engine
) -> None:
    own = other_engine.embedder.model.fingerprint

    response = send(other, pack([portable_note(vector_model=own, dimension=3)]))

    assert_problem(response, 422, "invalid_request")
    assert documents(other) == []


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8, 0.99])
def test_e21_what_came_before_the_bundle_broke_off_stays_and_the_whole_one_goes_on(
    bundle: bytes, other: TestClient, other_engine: Engine, share: float
) -> None:
    problem = assert_problem(send(other, bundle[: int(len(bundle) * share)]), 422, "invalid_request")

    there = documents(other)
    assert problem["documents_added"] == len(there)
    assert f"Documents imported before that: {len(there)}." in problem["detail"]
    assert set(files(other_engine)) == {document["content_hash"][7:] for document in there[1:]}
    imported = send(other, bundle).json()
    assert (imported["documents_unchanged"], imported["documents_added"]) == (len(there), 4 - len(there))
    assert export(other) == bundle


def test_e21_a_wrong_document_stops_the_import_and_is_not_there(other: TestClient, other_engine: Engine) -> None:
    right, wrong = portable_note(1, vector_model=""), portable_file(b"abc", 2, size_bytes=99, vector_model="")

    problem = assert_problem(send(other, pack([right, b"abc", wrong])), 422, "invalid_request")

    assert problem["documents_added"] == 1
    assert [document["id"] for document in documents(other)] == [1]
    assert files(other_engine) == []


def test_e21_a_document_needs_its_original(other: TestClient) -> None:
    problem = assert_problem(send(other, pack([portable_file(b"abc", vector_model="")])), 422, "invalid_request")

    assert "does not come before it" in problem["detail"]
    assert documents(other) == []


def test_e21_an_original_that_is_not_what_its_name_says_is_refused(other: TestClient, other_engine: Engine) -> None:
    forged = pack_original(b"evil", name=hashlib.sha256(b"good").hexdigest())
    members = [begin_bundle(), forged, render_portable(portable_file(b"good", vector_model=""))]

    assert_problem(send(other, b"".join([*members, end_bundle(documents=1, originals=1)])), 422, "invalid_request")

    assert documents(other) == []
    assert files(other_engine) == []


def test_e21_a_file_larger_than_the_engine_takes_is_refused(other: TestClient) -> None:
    too_large = bytes(MAX_FILE_BYTES + 1)

    problem = assert_problem(send(other, pack([too_large])), 413, "file_too_large")

    assert problem["max_size_mb"] == 2


@pytest.mark.parametrize("body", [b"", b"{}", b"\0" * 2048])
def test_e21_what_is_not_a_bundle_is_told_so(other: TestClient, body: bytes) -> None:
    assert_problem(send(other, body), 415, "unsupported_format")


def test_e21_a_bundle_is_sent_as_what_it_is(other: TestClient) -> None:
    response = other.post(f"{V1}/import", content=pack([]), headers={"Content-Type": "application/json"})

    assert_problem(response, 415, "unsupported_format")


def test_e21_a_bundle_may_be_larger_than_any_other_body(other: TestClient) -> None:
    padded = pack([]) + bytes(MAX_JSON_BYTES)

    assert send(other, padded).json() == {**NOTHING, "reindexing": False}
    elsewhere = other.post(f"{V1}/reindex", content=padded, headers=TAR)
    assert_problem(elsewhere, 413, "payload_too_large")


def test_e21_a_note_keeps_its_history_whatever_became_of_it(
    api: TestClient, other: TestClient, add_note: AddDocument, add_file: AddDocument
) -> None:
    named = add_note("Walrus")
    api.patch(f"{V1}/notes/{named['id']}", json={"text": "Walrus", "title": named["title"]}).raise_for_status()
    renamed = add_note("Otter")
    api.patch(f"{V1}/documents/{renamed['id']}", json={"title": "Sea otter"}).raise_for_status()
    add_note("A note.", source_path="/a")
    replaced = add_file("A file.", source_path="/a")
    add_note("Another note.", source_path="/b")
    add_file("Another file.", source_path="/b")
    again = add_note("A note again.", source_path="/b")

    imported = send(other, export(api))

    assert imported.status_code == 200, imported.text
    assert export(other) == export(api)
    assert (replaced["version"], again["version"]) == (2, 3)
    history = other.get(f"{V1}/notes/{again['id']}/revisions").json()["revisions"]
    assert [revision["version"] for revision in history] == [3, 1]


@pytest.mark.parametrize(("version", "name", "without_original"), [(2, "kb.db", []), (3, "kb.sqlite", [2])])
def test_e21_what_was_taken_over_from_an_older_base_can_be_imported(
    other: TestClient, tmp_path: Path, version: int, name: str, without_original: list[int]
) -> None:
    build_base(tmp_path / name, version)
    upgrade(tmp_path)
    with closing(open_store(tmp_path, model_fingerprint="tiny-1")) as store:
        for document_id in without_original:
            store.delete_document(document_id, expected_version=None, now=NOW)
        bundle = b"".join(export_bundle(store, FolderOriginals(tmp_path / "originals"), tmp_path))

    imported = send(other, bundle)

    assert imported.status_code == 200, imported.text
    assert imported.json()["documents_added"] == len(unpack(bundle)) > 0
    assert export(other) == bundle


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(b"x")], ids=["missing", "changed"])
def test_e21_an_import_brings_back_originals_that_were_damaged(
    bundle: bytes, api: TestClient, engine: Engine, damage: Callable[[Path], object]
) -> None:
    original = path_in(engine.originals, hashlib.sha256("猫は静かに眠る。".encode()).hexdigest())
    damage(original)

    imported = send(api, bundle).json()

    assert imported == {**NOTHING, "documents_unchanged": 4, "originals_added": 1, "reindexing": False}
    assert original.read_text() == "猫は静かに眠る。"
    assert export(api) == bundle


def test_e21_a_damaged_original_that_nothing_refers_to_is_no_good_to_what_comes(
    other: TestClient, other_engine: Engine
) -> None:
    place = path_in(other_engine.originals, hashlib.sha256(b"abc").hexdigest())
    place.parent.mkdir()
    place.write_bytes(b"abd")

    imported = send(other, pack([b"abc", portable_file(b"abc", vector_model="")])).json()

    assert imported["originals_added"] == 1
    assert place.read_bytes() == b"abc"


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(b"x")], ids=["missing", "changed"])
def test_e21_a_damaged_original_ends_the_export_rather_than_making_a_bad_bundle(
    add_file: AddDocument, engine: Engine, damage: Callable[[Path], object]
) -> None:
    original = add_file("The otter swims.")["content_hash"][7:]
    damage(path_in(engine.originals, original))

    with pytest.raises(Unavailable, match="document 1"):
        list(export_bundle(engine.store, engine.originals, engine.options.data_dir))


def test_e21_what_is_deleted_or_changed_while_an_export_runs_does_not_break_it(
    api: TestClient, add_file: AddDocument, engine: Engine
) -> None:
    for number in range(3):
        add_file(f"Otter {number}.", f"{number}.txt", source_path=f"/{number}")
    pieces = export_bundle(engine.store, engine.originals, engine.options.data_dir)
    begun = [next(pieces), next(pieces)]

    api.delete(f"{V1}/documents/1")
    api.delete(f"{V1}/documents/2")
    add_file("Another otter.", "2.txt", source_path="/2")

    members = unpack(b"".join([*begun, *pieces]))
    assert [one for one in members if isinstance(one, bytes)] == [b"Otter 0.", b"Another otter."]
    assert [one.record.id for one in members if not isinstance(one, bytes)] == [1, 3]


def test_e21_memory_stays_flat_for_the_largest_files(engine: Engine) -> None:
    size_bytes, piece = 50 * 1024 * 1024, bytes(64 * 1024)
    name = hashlib.sha256(bytes(size_bytes)).hexdigest()
    document = portable_file(b"", original=name, content_hash=f"sha256:{name}", size_bytes=size_bytes, vector_model="")

    def arriving() -> Iterator[bytes]:
        yield begin_bundle() + begin_member(f"originals/{name}", size_bytes)
        yield from (piece for _ in range(size_bytes // len(piece)))
        yield end_member(size_bytes) + render_portable(document) + end_bundle(documents=1, originals=1)

    tracemalloc.start()
    try:
        model = engine.embedder.model
        bring = import_bundle(
            engine.store, engine.originals, arriving(), model=model, max_file_bytes=size_bytes, clock=engine.clock
        )
        sent = sum(len(part) for part in export_bundle(engine.store, engine.originals, engine.options.data_dir))
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert (bring.documents_added, bring.originals_added) == (1, 1)
    assert sent > size_bytes
    assert peak_bytes < 5 * 1024 * 1024
