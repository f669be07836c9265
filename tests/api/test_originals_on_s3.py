"""The life of a file whose original is kept on an S3 server, by one engine and seen by another."""

import io
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from fastapi import FastAPI
from PIL import Image
from starlette.testclient import TestClient
from tests.api_calls import MAX_FILE_BYTES, OPEN, V1, Json, assert_problem
from tests.bundles import unpack
from tests.handmade_documents import work_off
from tests.originals import Clock, is_kept, nothing
from tests.pdf_files import make_text_pdf

from kb.engine.api.guard import Guard
from kb.engine.ingestion.worker import WAIT_FOR_ROOM
from kb.engine.integrity import check_integrity
from kb.engine.originals import Bucket, open_originals
from kb.engine.originals.bucket import GRACE, open_bucket
from kb.engine.ports import Embedder
from kb.engine.reserve import Reserve
from kb.engine.storage import open_store
from kb.engine.upkeep.forgetting import keep_forgetting
from kb.engine.wiring import Engine, EngineOptions

PDF = make_text_pdf(["The walrus rests on the ice.", "The otter swims in the river."])


class Stopped:
    """A round of upkeep, and no second."""

    def wait(self, timeout: float) -> bool:
        return True


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def engine(embedder: Embedder, bucket: Bucket, clock: Clock, tmp_path: Path) -> Iterator[Engine]:
    options = EngineOptions(tmp_path, tmp_path, tmp_path, MAX_FILE_BYTES, bucket=bucket)
    with (
        closing(open_store(tmp_path, model_fingerprint=embedder.model.fingerprint)) as store,
        open_bucket(bucket, tmp_path / "transit", clock=clock) as originals,
    ):
        engine = Engine(store, originals, embedder, options, Reserve(tmp_path), clock=clock)
        store.adopt_model(now=clock())
        yield engine


@pytest.fixture
def api(routes: FastAPI, engine: Engine) -> Iterator[TestClient]:
    routes.state.engine = engine
    with TestClient(Guard(routes, OPEN, max_file_bytes=MAX_FILE_BYTES), raise_server_exceptions=False) as client:
        yield client


def submit(api: TestClient, content: bytes = PDF) -> Json:
    submitted = api.post(f"{V1}/jobs", files={"file": ("animals.pdf", content)})
    assert submitted.status_code == 202, submitted.text
    job: Json = submitted.json()
    return job


@pytest.fixture
def document(api: TestClient, engine: Engine) -> Json:
    job = submit(api)
    work_off(engine.pipeline)
    job = api.get(f"{V1}/jobs/{job['id']}").json()
    assert job["status"] == "completed", job
    document: Json = api.get(f"{V1}/documents/{job['document_id']}").json()
    return document


def test_a_file_is_read_shown_downloaded_and_checked(
    api: TestClient, engine: Engine, document: Json, bucket: Bucket, tmp_path: Path
) -> None:
    found = api.post(f"{V1}/search", json={"query": "otter"}).json()["results"]
    download = api.get(f"{V1}/documents/{document['id']}/file")
    page = api.get(f"{V1}/documents/{document['id']}/pages/2.png")
    report = check_integrity(engine.store, engine.originals)

    assert found[0]["document_id"] == document["id"]
    assert download.content == PDF
    assert download.headers["content-length"] == str(len(PDF))
    assert Image.open(io.BytesIO(page.content)).width == 1000
    assert (report.checked.originals, report.damages) == (1, [])
    assert api.get(f"{V1}/status").json()["storage"]["originals"] == bucket.url
    # Nothing of it stays on this host.
    assert not (tmp_path / "originals").exists()
    assert [path.name for path in tmp_path.glob("transit/*/*")] == ["lock"]


def test_a_bundle_holds_it_and_brings_it_back(api: TestClient, engine: Engine, document: Json, clock: Clock) -> None:
    bundle = api.get(f"{V1}/export").content
    assert PDF in unpack(bundle)

    api.delete(f"{V1}/documents/{document['id']}")
    imported = api.post(f"{V1}/import", content=bundle, headers={"Content-Type": "application/x-tar"})

    assert imported.json()["documents_added"] == 1, imported.text
    clock.ahead = GRACE * 2
    keep_forgetting(engine.store, engine.originals, clock, Stopped())  # type: ignore[arg-type]  # as much of an event as it uses
    (there,) = api.get(f"{V1}/documents").json()["documents"]
    assert api.get(f"{V1}/documents/{there['id']}/file").content == PDF


@pytest.mark.parametrize("is_old", [False, True])
def test_what_is_deleted_is_removed_at_once_or_after_the_grace(
    api: TestClient, engine: Engine, document: Json, clock: Clock, *, is_old: bool
) -> None:
    name = document["content_hash"].removeprefix("sha256:")
    clock.ahead = GRACE * 2 if is_old else timedelta()

    assert api.delete(f"{V1}/documents/{document['id']}").status_code == 200

    assert is_kept(engine.originals, name) is not is_old
    clock.ahead = GRACE * 2
    keep_forgetting(engine.store, engine.originals, clock, Stopped())  # type: ignore[arg-type]  # as much of an event as it uses
    assert not is_kept(engine.originals, name)


def test_a_lost_original_is_told_and_comes_back_by_adding_the_file_again(
    api: TestClient, engine: Engine, document: Json, clock: Clock
) -> None:
    clock.ahead = GRACE * 2
    engine.originals.release_all(nothing)
    clock.ahead = timedelta()
    for path in ("file", "pages/1.png"):
        assert_problem(api.get(f"{V1}/documents/{document['id']}/{path}"), 404, "not_found")

    submit(api)

    assert api.get(f"{V1}/documents/{document['id']}/file").content == PDF


@pytest.fixture
def cut_off(engine: Engine, bucket: Bucket, tmp_path: Path) -> Iterator[Engine]:
    """The same engine where nobody answers at the server's address."""
    with open_originals(tmp_path, replace(bucket, endpoint="http://127.0.0.1:1")) as originals:
        yield replace(engine, originals=originals)


def test_without_the_server_requests_are_told_to_wait_and_searches_go_on(
    routes: FastAPI, api: TestClient, document: Json, cut_off: Engine
) -> None:
    routes.state.engine = cut_off

    for response in (
        api.post(f"{V1}/jobs", files={"file": ("a.txt", b"text")}),
        api.get(f"{V1}/documents/{document['id']}/file"),
        api.get(f"{V1}/documents/{document['id']}/pages/1.png"),
    ):
        assert "KB_S3_ENDPOINT" in assert_problem(response, 503, "unavailable")["detail"]
    assert api.post(f"{V1}/search", json={"query": "walrus"}).json()["results"]
    assert api.delete(f"{V1}/documents/{document['id']}").status_code == 200


def test_a_job_waits_for_the_server(api: TestClient, engine: Engine, cut_off: Engine, clock: Clock) -> None:
    job = submit(api)

    for _ in range(5):
        work_off(cut_off.pipeline)
        clock.ahead += 2 * WAIT_FOR_ROOM
    assert api.get(f"{V1}/jobs/{job['id']}").json()["status"] == "queued"
    work_off(engine.pipeline)

    assert api.get(f"{V1}/jobs/{job['id']}").json()["status"] == "completed"
