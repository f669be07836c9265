"""What may be stored as metadata, and that it can always be read again."""

import json

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
