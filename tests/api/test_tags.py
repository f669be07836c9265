from collections.abc import Callable
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient
from tests.api_calls import V1, AddDocument, assert_problem

STRANGE_TAGS = ["collection:memory", "a/b", "a/b/", "two words", "日本", "100%", "?#&=+;", "x" * 200, "\U0001f9ab"]


def test_e16_tags_are_added_removed_and_replaced(api: TestClient, add_note: AddDocument) -> None:
    note = add_note("text", tags=["a"])
    path = f"{V1}/documents/{note['id']}/tags"

    added = api.post(path, json={"tags": ["b", "a", "c"]})
    changed = api.patch(path, json={"add": ["d"], "remove": ["a", "absent"]})
    removed = api.delete(f"{path}/c")
    replaced = api.put(path, json={"tags": ["z", "y", "z"]})

    answers = [added, changed, removed, replaced]
    assert [answer.json()["tags"] for answer in answers] == [
        ["a", "b", "c"],
        ["b", "c", "d"],
        ["b", "d"],
        ["z", "y"],
    ]
    assert [answer.headers["etag"] for answer in answers] == ['"2"', '"3"', '"4"', '"5"']
    assert set(replaced.json()) == set(note) - {"text", "chunks"}


def test_e16_a_real_change_sets_updated_at_and_no_other_does(api: TestClient, add_note: AddDocument) -> None:
    note = add_note("text", tags=["a"])
    path = f"{V1}/documents/{note['id']}/tags"

    unchanged = [
        api.post(path, json={"tags": ["a"]}).json(),
        api.patch(path, json={}).json(),
        api.delete(f"{path}/absent").json(),
        api.put(path, json={"tags": ["a"]}).json(),
    ]
    changed = api.delete(f"{path}/a").json()

    assert {(answer["version"], answer["updated_at"]) for answer in unchanged} == {(1, None)}
    assert (changed["version"], changed["tags"]) == (2, [])
    assert changed["updated_at"] is not None


@pytest.mark.parametrize("tag", STRANGE_TAGS)
def test_e16_any_tag_can_be_added_found_and_removed(api: TestClient, add_note: AddDocument, tag: str) -> None:
    note = add_note("text")
    path = f"{V1}/documents/{note['id']}/tags"

    added = api.post(path, json={"tags": [tag]}).json()
    listed = api.get(f"{V1}/documents", params={"tag": tag}).json()
    removed = api.delete(f"{path}/{quote(tag, safe='')}").json()

    assert added["tags"] == [tag]
    assert listed["total"] == 1
    assert removed["tags"] == []


@pytest.mark.parametrize("tag", ["", " ", "\u001c", "\u00a0", "x" * 201, "a\u0000", 1, None, ["a"]])
def test_e16_a_tag_that_is_none_is_refused(api: TestClient, add_note: AddDocument, tag: object) -> None:
    note = add_note("text")
    path = f"{V1}/documents/{note['id']}/tags"

    for method, body in (("POST", {"tags": [tag]}), ("PUT", {"tags": [tag]}), ("PATCH", {"add": [tag]})):
        assert_problem(api.request(method, path, json=body), 422, "invalid_request")

    assert api.get(f"{V1}/documents/{note['id']}").json() == note


def test_e16_spaces_around_a_tag_are_not_part_of_it(api: TestClient, add_note: AddDocument) -> None:
    note = add_note("text")

    tagged = api.post(f"{V1}/documents/{note['id']}/tags", json={"tags": [" a ", "a"]}).json()

    assert tagged["tags"] == ["a"]


def test_e16_tags_of_an_unknown_document_are_not_found(api: TestClient) -> None:
    path = f"{V1}/documents/42/tags"

    for response in (
        api.post(path, json={"tags": ["a"]}),
        api.put(path, json={"tags": ["a"]}),
        api.patch(path, json={"add": ["a"]}),
        api.delete(f"{path}/a"),
    ):
        assert_problem(response, 404, "document_not_found")


def test_e19_tags_are_listed_with_their_counts(api: TestClient, add_note: AddDocument) -> None:
    add_note("one", tags=["b", "a"])
    add_note("two", tags=["b"])

    assert api.get(f"{V1}/tags").json()["tags"] == [{"name": "a", "count": 1}, {"name": "b", "count": 2}]


def test_e32_a_job_with_too_many_tags_fails_and_can_be_retried(
    api: TestClient, add_note: AddDocument, work_off: Callable[[], None]
) -> None:
    """E32"""
    note = add_note("text", source_path="/one", tags=[f"t{number}" for number in range(1_000)])
    submission = {"type": "note", "text": "new text", "source_path": "/one", "tags": ["one more"]}
    job = api.post(f"{V1}/jobs", json=submission).json()
    work_off()

    failed = api.get(f"{V1}/jobs/{job['id']}").json()
    unchanged = api.get(f"{V1}/documents/{note['id']}").json()
    refused = api.post(f"{V1}/documents/{note['id']}/tags", json={"tags": ["one more"]})
    api.delete(f"{V1}/documents/{note['id']}/tags/t0").raise_for_status()
    api.post(f"{V1}/jobs/{job['id']}/retry").raise_for_status()
    work_off()

    assert (failed["status"], failed["error"]["code"]) == ("failed", "invalid_request")
    assert "Remove some of its tags" in failed["error"]["message"]
    assert unchanged == note
    assert_problem(refused, 422, "invalid_request")
    retried = api.get(f"{V1}/documents/{note['id']}").json()
    assert (retried["text"], len(retried["tags"]), retried["tags"][-1]) == ("new text", 1_000, "one more")
