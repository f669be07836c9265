from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from uuid import UUID

import pytest
from starlette.testclient import TestClient
from tests.api_calls import OPEN, V1, AddDocument, Json, assert_problem

from kb.engine.api.app import create_app
from kb.engine.wiring import Engine

JOB_FIELDS = {
    *("id", "job_id", "uuid", "type", "status", "progress", "current_step", "completed_steps", "total_steps"),
    *("message", "filename", "document_id", "document_uuid", "chunks_created", "duplicate", "error", "attempts"),
    *("replaced", "created_at", "started_at", "finished_at", "elapsed_seconds", "estimated_remaining_seconds"),
}
NOTE = {"type": "note", "text": "A walrus rests on the ice."}


def submit_note(api: TestClient, **headers: str) -> Json:
    response = api.post(f"{V1}/jobs", json=NOTE, headers=headers)
    assert response.status_code == 202
    job: Json = response.json()
    return job


def test_e4_a_note_is_accepted_and_becomes_a_document(api: TestClient, work_off: Callable[[], None]) -> None:
    body = {**NOTE, "title": "On ice", "tags": ["a", "b"], "source_path": "/n.md", "metadata": {"k": [1]}}

    response = api.post(f"{V1}/jobs", json=body)
    job = response.json()
    work_off()

    assert response.status_code == 202
    assert response.headers["location"] == f"{V1}/jobs/{job['id']}"
    assert (job["type"], job["status"], job["job_id"]) == ("note", "queued", job["id"])
    done = api.get(response.headers["location"]).json()
    document = api.get(f"{V1}/documents/{done['document_id']}").json()
    assert (document["title"], document["tags"], document["source_path"]) == ("On ice", ["a", "b"], "/n.md")
    assert (document["metadata"], document["text"]) == ({"k": [1]}, NOTE["text"])


def test_e4_a_file_is_accepted_and_becomes_a_document(api: TestClient, work_off: Callable[[], None]) -> None:
    response = api.post(
        f"{V1}/jobs",
        files={"file": ("Plän.md", b"# Walruses\n\nThey rest.")},
        data={
            "tags": ["a", "b"],
            "source_path": "/p/Plän.md",
            "metadata": '{"k": {"l": null}}',
            "force_ocr": "true",
        },
    )
    work_off()

    job = api.get(response.headers["location"]).json()
    document = api.get(f"{V1}/documents/{job['document_id']}").json()
    assert (job["type"], job["filename"], job["chunks_created"]) == ("file", "Plän.md", 1)
    assert (document["title"], document["filename"], document["format"]) == ("Walruses", "Plän.md", "md")
    assert (document["tags"], document["source_path"]) == (["a", "b"], "/p/Plän.md")
    assert document["metadata"] == {"k": {"l": None}}
    assert "text" not in document


def test_e4_a_given_title_wins_over_the_file_s_own(add_file: AddDocument) -> None:
    document = add_file("# Heading\n\nText.", "a.md", title="Given")

    assert document["title"] == "Given"


def test_e4_what_can_only_be_known_later_is_a_failed_job(api: TestClient, work_off: Callable[[], None]) -> None:
    job_id = api.post(f"{V1}/jobs", files={"file": ("blank.txt", b" \n \n")}).json()["id"]

    work_off()

    job = api.get(f"{V1}/jobs/{job_id}").json()
    assert (job["status"], job["error"]["code"]) == ("failed", "no_text_found")
    assert job["error"]["message"]
    assert api.get(f"{V1}/documents").json()["total"] == 0


def test_e4_repeating_a_request_with_its_key_returns_the_first_job(api: TestClient) -> None:
    first = submit_note(api, **{"Idempotency-Key": "k1"})
    again = submit_note(api, **{"Idempotency-Key": "k1"})
    other = submit_note(api, **{"Idempotency-Key": "k2"})

    conflict = api.post(f"{V1}/jobs", json={**NOTE, "text": "Other."}, headers={"Idempotency-Key": "k1"})

    assert again["id"] == first["id"] != other["id"]
    assert_problem(conflict, 409, "conflict")
    assert api.get(f"{V1}/jobs").json()["total"] == 2


@pytest.mark.parametrize("key", ["", "x" * 256])
def test_e4_an_unusable_idempotency_key_is_refused(api: TestClient, key: str) -> None:
    response = api.post(f"{V1}/jobs", json=NOTE, headers={"Idempotency-Key": key})

    assert_problem(response, 422, "invalid_request")


def test_e4_an_upload_that_is_refused_leaves_no_file(api: TestClient, engine: Engine) -> None:
    api.post(f"{V1}/jobs", files={"file": ("a.txt", b"first")}, headers={"Idempotency-Key": "k"})

    api.post(f"{V1}/jobs", files={"file": ("a.txt", b"second")}, headers={"Idempotency-Key": "k"})
    api.post(f"{V1}/jobs", files={"file": ("a.exe", b"MZ\x90\x00")})
    api.post(f"{V1}/jobs", files={"file": ("a.txt", b"third")}, data={"unknown": "x"})

    originals = engine.options.data_dir / "originals"
    assert len([*originals.glob("??/*"), *originals.glob("incoming/*")]) == 1


def test_e25_the_same_file_again_is_a_duplicate(api: TestClient, add_file: AddDocument) -> None:
    first = add_file("The same bytes.", tags=["a"])
    again = add_file("The same bytes.", "b.txt", tags=["b"])

    job = api.get(f"{V1}/jobs").json()["jobs"][0]

    assert again["id"] == first["id"]
    assert again["tags"] == ["a", "b"]
    assert (job["duplicate"], job["chunks_created"], job["document_id"]) == (True, 0, first["id"])


def test_e25_a_job_tells_whether_it_added_or_replaced(api: TestClient, add_file: AddDocument) -> None:
    for content in ("First.", "First.", "Second."):
        add_file(content, source_path="/a.txt")

    jobs = api.get(f"{V1}/jobs").json()["jobs"]

    assert [(job["duplicate"], job["replaced"]) for job in reversed(jobs)] == [
        (False, False),
        (True, False),
        (False, True),
    ]


def test_e5_jobs_are_listed_newest_first(api: TestClient, work_off: Callable[[], None]) -> None:
    first, second = submit_note(api), submit_note(api)
    work_off()
    third = submit_note(api)

    listed = api.get(f"{V1}/jobs").json()
    page = api.get(f"{V1}/jobs", params={"limit": 1, "offset": 1}).json()
    queued = api.get(f"{V1}/jobs", params={"status": "queued"}).json()

    assert [job["id"] for job in listed["jobs"]] == [third["id"], second["id"], first["id"]]
    assert (listed["total"], listed["limit"], listed["offset"]) == (3, 100, 0)
    assert ([job["id"] for job in page["jobs"]], page["total"]) == ([second["id"]], 3)
    assert [job["id"] for job in queued["jobs"]] == [third["id"]]


def test_e5_an_unknown_status_is_refused(api: TestClient) -> None:
    assert_problem(api.get(f"{V1}/jobs", params={"status": "done"}), 422, "invalid_request")


def test_e6_a_job_tells_how_far_it_is(api: TestClient, work_off: Callable[[], None]) -> None:
    queued = submit_note(api)
    work_off()

    done = api.get(f"{V1}/jobs/{queued['id']}").json()

    assert set(queued) == set(done) == JOB_FIELDS
    assert (queued["progress"], queued["started_at"], queued["elapsed_seconds"]) == (0.0, None, None)
    assert (done["progress"], done["attempts"], done["error"]) == (1.0, 1, None)
    assert done["elapsed_seconds"] >= 0
    assert done["estimated_remaining_seconds"] is None
    assert UUID(done["document_uuid"])
    assert api.get(f"{V1}/jobs/{queued['uuid']}").json()["id"] == queued["id"]


def test_e3_times_are_utc_in_rfc_3339(api: TestClient) -> None:
    created = submit_note(api)["created_at"]

    assert created.endswith("Z")
    assert datetime.fromisoformat(created).tzinfo is not None


def test_e6_an_unknown_job_is_not_found(api: TestClient) -> None:
    for path in ("jobs/1", "jobs/9223372036854775808", "jobs/5b1f7cf8-6f0e-4d43-a9d7-0d6c9a4c0c11"):
        assert_problem(api.get(f"{V1}/{path}"), 404, "job_not_found")


def test_e7_a_queued_job_is_cancelled_and_comes_to_nothing(api: TestClient, work_off: Callable[[], None]) -> None:
    job = submit_note(api)

    cancelled = api.post(f"{V1}/jobs/{job['id']}/cancel").json()
    work_off()

    assert cancelled["status"] == "cancelled"
    assert api.get(f"{V1}/documents").json()["total"] == 0
    assert api.post(f"{V1}/search", json={"query": "walrus"}).json()["results"] == []
    assert_problem(api.post(f"{V1}/jobs/{job['id']}/cancel"), 409, "job_finished")


def test_e7_a_cancelled_job_can_be_retried(api: TestClient, work_off: Callable[[], None]) -> None:
    job = submit_note(api)
    api.post(f"{V1}/jobs/{job['id']}/cancel")

    retried = api.post(f"{V1}/jobs/{job['id']}/retry").json()
    work_off()

    assert retried["status"] == "queued"
    assert api.get(f"{V1}/jobs/{job['id']}").json()["status"] == "completed"
    assert_problem(api.post(f"{V1}/jobs/{job['id']}/retry"), 409, "conflict")


def test_e7_a_cancelled_job_can_be_told_to_forget_what_it_was_given(
    api: TestClient, engine: Engine, work_off: Callable[[], None]
) -> None:
    job = api.post(f"{V1}/jobs", files={"file": ("a.txt", b"A walrus rests.")}).json()

    cancelled = api.post(f"{V1}/jobs/{job['id']}/cancel", params={"forget": "true"})
    again = api.post(f"{V1}/jobs/{job['uuid']}/cancel", params={"forget": "true"})
    work_off()

    assert (cancelled.status_code, cancelled.json()["status"]) == (200, "cancelled")
    assert again.json() == cancelled.json() == api.get(f"{V1}/jobs").json()["jobs"][0]
    assert cancelled.json()["filename"] == "a.txt"
    assert api.get(f"{V1}/documents").json()["total"] == 0
    assert [*(engine.options.data_dir / "originals").glob("??/*")] == []
    refused = assert_problem(api.post(f"{V1}/jobs/{job['id']}/retry"), 409, "job_finished")
    assert "has been forgotten. Add it again." in refused["detail"]


@pytest.mark.parametrize("forget", ["false", None])
def test_e7_a_cancelled_job_keeps_its_file_unless_it_is_to_forget_it(
    api: TestClient, engine: Engine, forget: str | None
) -> None:
    job = api.post(f"{V1}/jobs", files={"file": ("a.txt", b"A walrus rests.")}).json()

    api.post(f"{V1}/jobs/{job['id']}/cancel", params={"forget": forget} if forget else {})

    assert len([*(engine.options.data_dir / "originals").glob("??/*")]) == 1


def test_e7_a_completed_job_is_neither_cancelled_nor_forgotten(api: TestClient, work_off: Callable[[], None]) -> None:
    job = submit_note(api)
    work_off()

    refused = api.post(f"{V1}/jobs/{job['id']}/cancel", params={"forget": "true"})

    assert_problem(refused, 409, "job_finished")
    assert api.get(f"{V1}/documents").json()["total"] == 1


@pytest.mark.parametrize("action", ["cancel", "retry"])
def test_e7_an_unknown_job_can_be_neither_cancelled_nor_retried(api: TestClient, action: str) -> None:
    assert_problem(api.post(f"{V1}/jobs/17/{action}"), 404, "job_not_found")


def test_e4_beyond_its_bound_the_queue_takes_nothing_more_and_says_when_to_come_again(engine: Engine) -> None:
    small = replace(engine, options=replace(engine.options, max_queued_jobs=2))
    with TestClient(create_app(small, OPEN)) as api:
        for number in range(2):
            api.post(f"{V1}/jobs", files={"file": ("a.txt", f"File {number}".encode())})

        refused = api.post(f"{V1}/jobs", files={"file": ("a.txt", b"One too many")})
        note = api.post(f"{V1}/jobs", json=NOTE)

    assert_problem(refused, 429, "too_many_requests")
    assert int(refused.headers["retry-after"]) > 0
    assert note.status_code == 202
    kept = {path.name for path in (engine.options.data_dir / "originals").glob("??/*")}
    assert len(kept) == 2


def test_e21_a_reindex_is_a_job(api: TestClient, add_note: AddDocument, work_off: Callable[[], None]) -> None:
    note = add_note("The walrus rests.")

    response = api.post(f"{V1}/reindex")
    work_off()

    job = response.json()
    assert (response.status_code, job["type"], job["status"]) == (202, "reindex", "queued")
    assert response.headers["location"] == f"{V1}/jobs/{job['id']}"
    finished = api.get(f"{V1}/jobs/{job['id']}").json()
    assert (finished["status"], finished["progress"], finished["document_id"]) == ("completed", 1.0, None)
    found = api.post(f"{V1}/search", json={"query": "walrus"}).json()
    assert found["degraded"] is False
    assert [result["document_id"] for result in found["results"]] == [note["id"]]
