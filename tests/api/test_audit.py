"""The audit log: who changed what, and nothing of what it said."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from starlette.testclient import TestClient
from tests.api_calls import OPEN, V1, Json

from kb.access import Access

KEY, READING_KEY = "the full key", "the reading key"


@pytest.fixture
def api(open_api: Callable[[Access], TestClient]) -> TestClient:
    api = open_api(replace(OPEN, writing_keys=(KEY,), reading_keys=(READING_KEY,)))
    api.headers["Authorization"] = f"Bearer {KEY}"
    return api


def entries(api: TestClient, **parameters: int) -> list[Json]:
    answer = api.get(f"{V1}/audit", params=parameters)
    assert answer.status_code == 200, answer.text
    found: list[Json] = answer.json()["entries"]
    return found


def test_every_write_is_in_the_audit_log_with_time_key_and_request(
    api: TestClient, work_off: Callable[[], None]
) -> None:
    submitted = api.post(f"{V1}/jobs", json={"type": "note", "text": "walrus"}, headers={"X-Request-ID": "r1"}).json()
    work_off()
    api.patch(f"{V1}/notes/1", json={"text": "otter"}, headers={"X-Request-ID": "r2"})
    api.put(f"{V1}/documents/1/tags", json={"tags": ["t"]}, headers={"X-Request-ID": "r3"})
    api.delete(f"{V1}/documents/1", headers={"X-Request-ID": "r4"})
    confirmation = {"confirm": True, "confirmation_phrase": "DELETE ALL"}
    api.request("DELETE", f"{V1}/documents", json=confirmation, headers={"X-Request-ID": "r5"})

    log = entries(api)

    told = [(one["action"], one["document_id"], one["job_id"], one["request_id"]) for one in reversed(log)]
    assert told == [
        ("job_submitted", None, submitted["id"], "r1"),
        ("document_added", 1, submitted["id"], None),
        ("note_rewritten", 1, None, "r2"),
        ("tags_changed", 1, None, "r3"),
        ("document_deleted", 1, None, "r4"),
        ("everything_deleted", None, None, "r5"),
    ]
    assert {one["key_name"] for one in log} == {"KB_API_KEY"}
    assert log[-1]["at"] == submitted["created_at"]


def test_the_audit_log_holds_neither_keys_nor_texts(api: TestClient, work_off: Callable[[], None]) -> None:
    api.post(f"{V1}/jobs", json={"type": "note", "text": "walrus", "title": "Tusks", "tags": ["ivory"]})
    work_off()

    answer = api.get(f"{V1}/audit", headers={"Authorization": f"Bearer {READING_KEY}"}).text

    assert not [word for word in (KEY, READING_KEY, "walrus", "Tusks", "ivory") if word in answer]


def test_what_is_refused_or_changes_nothing_is_not_in_the_audit_log(api: TestClient) -> None:
    api.post(f"{V1}/jobs", json={"type": "note", "text": "x"}, headers={"Authorization": f"Bearer {READING_KEY}"})
    api.post(f"{V1}/jobs", json={"type": "note", "text": ""})
    api.delete(f"{V1}/documents/9")
    api.post(f"{V1}/search", json={"query": "x"})

    assert entries(api) == []


def test_the_audit_log_of_one_document_comes_in_pages(api: TestClient, work_off: Callable[[], None]) -> None:
    for text in ("walrus", "otter"):
        api.post(f"{V1}/jobs", json={"type": "note", "text": text})
    work_off()
    for tag in ("a", "b", "c"):
        api.post(f"{V1}/documents/2/tags", json={"tags": [tag]})

    answer = api.get(f"{V1}/audit", params={"document_id": 2, "limit": 2, "offset": 2}).json()

    assert answer["total"] == 4
    assert [one["action"] for one in answer["entries"]] == ["tags_changed", "document_added"]
    assert entries(api, document_id=99) == []


def test_an_engine_without_a_key_says_so_in_its_audit_log(open_api: Callable[[Access], TestClient]) -> None:
    api = open_api(OPEN)
    api.post(f"{V1}/jobs", json={"type": "note", "text": "walrus"})

    assert [one["key_name"] for one in entries(api)] == ["none"]
