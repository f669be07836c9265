"""A forged row that names an original by a path opens no file (E31)."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.api_calls import MAX_FILE_BYTES, OPEN, V1, assert_problem
from tests.handmade_documents import NOW, add, digest, file, work_off

from kb.engine.api.app import create_app
from kb.engine.bundles.exporting import export_bundle
from kb.engine.errors import Unavailable
from kb.engine.model import Document, FileSubmission
from kb.engine.originals import FolderOriginals
from kb.engine.ports import Embedder, Store
from kb.engine.reserve import Reserve
from kb.engine.wiring import Engine, EngineOptions

FOREIGN = "of another program"


@pytest.fixture
def originals(folder: Path) -> FolderOriginals:
    return FolderOriginals(folder / "kept" / "here" / "originals")


@pytest.fixture
def outside(folder: Path, originals: FolderOriginals) -> Path:
    path = folder / "kept" / "outside.pdf"
    path.write_text(FOREIGN)
    return path


@pytest.fixture
def documents(store: Store, outside: Path) -> list[Document]:
    names = [str(outside), "../outside.pdf", digest("x").upper(), f"{digest('x')}/../outside.pdf", ""]
    return [
        add(store, replace(file(f"content {number}", format="pdf"), original=name)) for number, name in enumerate(names)
    ]


@pytest.fixture
def engine(store: Store, originals: FolderOriginals, folder: Path, embedder: Embedder) -> Engine:
    options = EngineOptions(folder, folder, folder, MAX_FILE_BYTES)
    return Engine(store, originals, embedder, options, Reserve(folder), clock=lambda: NOW)


@pytest.fixture
def api(engine: Engine) -> Iterator[TestClient]:
    with TestClient(create_app(engine, OPEN), raise_server_exceptions=False) as client:
        yield client


def test_such_a_document_is_refused_and_deleted_without_its_file(
    api: TestClient, documents: list[Document], outside: Path
) -> None:
    """E31: the rest of the base still works."""
    problems = api.get(f"{V1}/integrity").json()["problems"]
    assert {(p["kind"], p["document_id"]) for p in problems} >= {("original", one.id) for one in documents}
    for document in documents:
        for path in ("file", "pages/1.png"):
            detail = assert_problem(api.get(f"{V1}/documents/{document.id}/{path}"), 404, "not_found")["detail"]
            assert "Delete the document" in detail
    assert len(api.get(f"{V1}/documents").json()["documents"]) == len(documents)

    for document in documents:
        assert api.delete(f"{V1}/documents/{document.id}").status_code == 200

    assert api.get(f"{V1}/integrity").json()["problems"] == []
    assert outside.read_text() == FOREIGN


def test_clearing_the_base_removes_no_such_file(api: TestClient, documents: list[Document], outside: Path) -> None:
    """E31"""
    confirmation = {"confirm": True, "confirmation_phrase": "DELETE ALL"}

    cleared = api.request("DELETE", f"{V1}/documents", json=confirmation)

    assert cleared.json()["documents_removed"] == len(documents)
    assert outside.read_text() == FOREIGN


def test_an_export_stops_at_such_a_document(
    store: Store, documents: list[Document], originals: FolderOriginals, tmp_path: Path
) -> None:
    """E31"""
    with pytest.raises(Unavailable, match=f"document {documents[0].id} .* is not a SHA-256"):
        list(export_bundle(store, originals, tmp_path))


def test_a_job_does_not_read_such_a_file(api: TestClient, engine: Engine, outside: Path) -> None:
    """E31: a waiting job may be forged as well."""
    forged = FileSubmission(str(outside), "a.txt", "txt", len(FOREIGN))
    job = engine.store.add_job(forged, idempotency_key=None, max_queued=9, now=NOW)

    work_off(engine.pipeline)

    assert api.post(f"{V1}/search", json={"query": FOREIGN}).json()["results"] == []
    assert api.get(f"{V1}/jobs/{job.id}").json()["error"]["code"] == "corrupt_file"
    assert api.post(f"{V1}/jobs/{job.id}/cancel?forget=true").status_code == 200
    assert outside.read_text() == FOREIGN
