"""A disk that fills up under a running engine: writes are refused, reads go on, and room is all it takes (E2, E20)."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.amounts import Tell
from tests.consistency import assert_base_is_consistent
from tests.engine_program import EngineAlone, EngineProgram
from tests.needs import need_right
from tests.waiting import wait_for_document, wait_for_job, wait_until

DISK_MB = 48
MB = 1_048_576


class SmallDisk:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._filler = folder / "filler"

    @contextmanager
    def filled(self, *, leaving_bytes: int = 0) -> Iterator[None]:
        """Full, or nearly, within the block."""
        state = os.statvfs(self.folder)
        with self._filler.open("wb") as filler:
            os.posix_fallocate(filler.fileno(), 0, state.f_bavail * state.f_frsize - leaving_bytes)
        try:
            yield
        finally:
            self._filler.unlink()


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallDisk]:
    folder = tmp_path_factory.mktemp("disk")
    mounting = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    need_right(mounting.returncode == 0, "no small disk could be mounted, which takes the rights of root")
    yield SmallDisk(folder)
    subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture(scope="module")
def small_engine(
    disk: SmallDisk, model_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EngineProgram]:
    with EngineAlone(tmp_path_factory.mktemp("small"), data_dir=disk.folder / "data").running() as program:
        yield program
    assert_base_is_consistent(program.data_dir / "kb.sqlite")


@pytest.fixture
def http(small_engine: EngineProgram) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"{small_engine.url}/api/v1", trust_env=False, timeout=60) as http:
        yield http


def add_note(http: httpx.Client, text: str) -> httpx.Response:
    return http.post("/jobs", json={"type": "note", "text": text})


def upload(http: httpx.Client, content: bytes) -> httpx.Response:
    return http.post("/jobs", files={"file": ("large.txt", content, "text/plain")})


def health_of(http: httpx.Client) -> dict[str, Any]:
    health: dict[str, Any] = http.get("/status").raise_for_status().json()["health"]
    return health


def fill_with_notes(http: httpx.Client) -> tuple[list[int], httpx.Response]:
    """The jobs that were acknowledged, and the refusal."""
    jobs: list[int] = []
    while True:
        response = add_note(http, f"Note {len(jobs)} on a disk that fills up. " * 50)
        if not response.is_success:
            return jobs, response
        jobs.append(response.json()["id"])
        assert len(jobs) < 10_000


def test_a_file_larger_than_the_disk_is_refused_and_leaves_nothing(http: httpx.Client, disk: SmallDisk) -> None:
    """E2, E4"""
    refusal = upload(http, b"A line of a large file.\n" * (DISK_MB * MB // 24))

    assert (refusal.status_code, refusal.json()["code"]) == (507, "storage_full")
    assert list((disk.folder / "data" / "originals" / "incoming").iterdir()) == []
    wait_for_document(http, add_note(http, "There is room for a note.").json()["id"])
    assert health_of(http)["status"] == "healthy"


def test_on_a_full_disk_writes_are_refused_reads_and_deletions_go_on_and_room_is_all_it_takes(
    http: httpx.Client, disk: SmallDisk, small_engine: EngineProgram, tell: Tell
) -> None:
    """E2, E14, E20, E24"""
    kept = wait_for_document(http, add_note(http, "The word pomegranate is in this note.").json()["id"])
    unwanted = wait_for_document(http, upload(http, b"An unwanted file.").json()["id"])
    search = {"query": "pomegranate"}

    with disk.filled(leaving_bytes=MB // 2):
        jobs, refusal = fill_with_notes(http)

        assert (refusal.status_code, refusal.json()["code"]) == (507, "storage_full")
        assert upload(http, b"Another file. " * 100_000).status_code == 507
        assert http.patch(f"/notes/{kept}", json={"text": "Another text. " * 100}).status_code == 507
        health = health_of(http)
        assert health["status"] == "degraded"
        assert any("disk" in issue for issue in health["issues"])
        assert http.get(f"{small_engine.url}/health/live").is_success
        assert http.get(f"/documents/{kept}").json()["text"].startswith("The word pomegranate")
        assert http.post("/search", json=search).json()["results"][0]["document_id"] == kept
        assert http.delete(f"/documents/{unwanted}").is_success
        assert http.get(f"/documents/{unwanted}").status_code == 404

    for job_id in jobs:
        wait_for_document(http, job_id)
    assert http.patch(f"/notes/{kept}", json={"text": "Another text."}).is_success
    wait_for_document(http, upload(http, b"Another file.").json()["id"])
    assert health_of(http)["status"] == "healthy"
    tell(f"disk full: {len(jobs)} notes acknowledged before the refusal, all there afterwards, without a restart")


def test_a_job_whose_commit_finds_the_disk_full_is_tried_again_until_there_is_room(
    http: httpx.Client, disk: SmallDisk, small_engine: EngineProgram
) -> None:
    """E24"""
    # Each heading begins a chunk, if its section is not tiny: little text to submit and embed, much to commit.
    long_word = "x" * 101
    many_chunks = "".join(f"# Heading {number}\n\n{long_word}\n\n" for number in range(700))
    with disk.filled(leaving_bytes=MB):
        job_id = add_note(http, many_chunks).raise_for_status().json()["id"]
        # Whether that can be noted in the base as well depends on how much room its heartbeats have left.
        told = f"Job {job_id} waits: The disk is full"
        wait_until(lambda: told in small_engine.log.read_text(), told)
        assert http.get(f"/jobs/{job_id}").json()["status"] != "completed"

    job = wait_for_job(http, job_id)
    assert job["status"] == "completed", job
    assert job["attempts"] > 1
    assert http.get(f"/documents/{job['document_id']}").json()["text"] == many_chunks
