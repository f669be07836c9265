"""What may be stored as metadata, and that it can always be read again."""

import json
from collections.abc import Callable

import pytest
from starlette.testclient import TestClient
from tests.api_calls import V1, AddDocument, assert_problem


def nest(depth: int) -> object:
    value: object = "innermost"
    for _ in range(depth):
        value = [value]
    return value


def test_metadata_as_deep_as_allowed_is_read_again(api: TestClient, add_note: AddDocument) -> None:
    note = add_note("text", metadata={"x": nest(31)})

    assert api.get(f"{V1}/documents/{note['id']}").json()["metadata"] == {"x": nest(31)}


@pytest.mark.parametrize("depth", [33, 260, 900])
def test_deeper_metadata_is_refused_everywhere(api: TestClient, add_note: AddDocument, depth: int) -> None:
    """E2: a reader that gives up at some depth must never meet a document beyond it."""
    note = add_note("text")
    deep = {"x": nest(depth)}

    answers = [
        api.patch(f"{V1}/documents/{note['id']}", json={"metadata": deep}),
        api.post(f"{V1}/jobs", files={"file": ("a.txt", b"text")}, data={"metadata": json.dumps(deep)}),
        api.post(f"{V1}/jobs", json={"type": "note", "text": "text", "metadata": deep}),
    ]

    assert all(answer.status_code in (400, 422) for answer in answers)
    assert_problem(answers[0], 422, "invalid_request")
    assert api.get(f"{V1}/documents").status_code == 200


def test_what_front_matter_says_is_bounded(add_file: AddDocument) -> None:
    """I7"""
    document = add_file("---\ntitle: " + "long " * 1_500 + "\n---\nText.", name="a.md")

    assert len(document["title"]) <= 500


def test_e32_metadata_of_the_file_is_left_out_without_room(add_file: AddDocument) -> None:
    """E32"""
    head = '<meta name="author" content="Ann"><meta name="description" content="' + "long " * 50 + '">'
    given = {"a": "x" * 65_400}

    document = add_file(f"<html><head>{head}</head><body>Text.</body></html>", "a.html", metadata=json.dumps(given))

    assert document["metadata"] == {"author": "Ann", **given}


def test_e32_a_job_with_too_much_metadata_fails_and_can_be_retried(
    api: TestClient, add_note: AddDocument, work_off: Callable[[], None]
) -> None:
    """E32"""
    note = add_note("text", source_path="/one", metadata={"a": "x" * 60_000})
    submission = {"type": "note", "text": "new text", "source_path": "/one", "metadata": {"b": "x" * 60_000}}
    job = api.post(f"{V1}/jobs", json=submission).json()
    work_off()

    failed = api.get(f"{V1}/jobs/{job['id']}").json()
    unchanged = api.get(f"{V1}/documents/{note['id']}").json()
    api.patch(f"{V1}/documents/{note['id']}", json={"metadata": {}}).raise_for_status()
    api.post(f"{V1}/jobs/{job['id']}/retry").raise_for_status()
    work_off()

    assert (failed["status"], failed["error"]["code"]) == ("failed", "invalid_request")
    assert "The most is 65536" in failed["error"]["message"]
    assert unchanged == note
    assert api.get(f"{V1}/documents/{note['id']}").json()["metadata"] == submission["metadata"]
