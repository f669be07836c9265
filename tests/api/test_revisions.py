"""E18 over HTTP: what a note said, and bringing it back."""

import pytest
from starlette.testclient import TestClient
from tests.api_calls import V1, AddDocument, Json, assert_problem


@pytest.fixture
def note(api: TestClient, add_note: AddDocument) -> Json:
    """A note that has been rewritten twice."""
    note = add_note("The walrus rests.", tags=["t"])
    for text in ("The otter swims.", "The seal dives."):
        api.patch(f"{V1}/notes/{note['id']}", json={"text": text})
    return note


def found(api: TestClient, query: str, mode: str) -> list[str]:
    results = api.post(f"{V1}/search", json={"query": query, "mode": mode, "top": 1}).json()["results"]
    return [result["text"] for result in results]


def test_e18_revisions_tell_text_title_and_time(api: TestClient, note: Json) -> None:
    answer = api.get(f"{V1}/notes/{note['uuid']}/revisions").json()

    assert (answer["total"], answer["limit"], answer["offset"]) == (3, 100, 0)
    assert [one["version"] for one in answer["revisions"]] == [3, 2, 1]
    first = answer["revisions"][-1]
    assert (first["text"], first["title"]) == ("The walrus rests.", "The walrus rests.")
    assert first["created_at"] == note["created_at"]
    assert [one["is_current"] for one in answer["revisions"]] == [True, False, False]


def test_e18_a_revert_brings_text_and_title_back_as_a_new_version(api: TestClient, note: Json) -> None:
    response = api.post(f"{V1}/notes/{note['id']}/revert", json={"version": 1})

    reverted = response.json()
    assert response.headers["etag"] == '"4"'
    assert (reverted["text"], reverted["title"], reverted["version"]) == ("The walrus rests.", "The walrus rests.", 4)
    assert reverted["tags"] == ["t"]
    assert reverted["content_hash"] == note["content_hash"]
    for mode in ("fts", "vector"):
        assert found(api, "walrus", mode) == ["The walrus rests."]
    assert api.get(f"{V1}/notes/{note['id']}/revisions").json()["total"] == 4


def test_e18_a_title_that_was_given_later_goes_with_a_revert_and_comes_back_with_another(
    api: TestClient, add_note: AddDocument
) -> None:
    note = add_note("The walrus rests.")
    path = f"{V1}/notes/{note['id']}"
    api.patch(path, json={"text": "The otter swims.", "title": "Given"})

    back = api.post(f"{path}/revert", json={"version": 1}).json()
    forth = api.post(f"{path}/revert", json={"version": 2}).json()

    assert (back["title"], forth["title"]) == ("The walrus rests.", "Given")
    assert api.patch(path, json={"text": "Another text."}).json()["title"] == "Given"


def test_e18_a_revert_is_guarded_like_any_change(api: TestClient, note: Json) -> None:
    path = f"{V1}/notes/{note['id']}/revert"

    stale = api.post(path, json={"version": 1}, headers={"If-Match": '"2"'})
    unknown = api.post(path, json={"version": 9})
    zero = api.post(path, json={"version": 0})

    assert_problem(stale, 412, "version_conflict")
    assert_problem(unknown, 404, "not_found")
    assert_problem(zero, 422, "invalid_request")
    assert api.get(f"{V1}/documents/{note['id']}").json()["version"] == 3


def test_e18_a_file_has_no_revisions(api: TestClient, add_file: AddDocument) -> None:
    document = add_file("A file.", "a.txt")

    assert_problem(api.get(f"{V1}/notes/{document['id']}/revisions"), 409, "not_a_note")
    assert_problem(api.post(f"{V1}/notes/{document['id']}/revert", json={"version": 1}), 409, "not_a_note")
    assert_problem(api.get(f"{V1}/notes/99/revisions"), 404, "document_not_found")
