"""E2: whatever is sent, the answer is a problem that says what is wrong, and never a 500."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

import pytest
from starlette.testclient import TestClient
from tests.api_calls import (
    EVERY_OPERATION,
    OPEN,
    V1,
    AddDocument,
    Answer,
    Json,
    assert_problem,
)

from kb.engine.api.app import create_app, create_routes
from kb.engine.api.guard import MAX_JSON_BYTES
from kb.engine.wiring import Engine

JSON_TYPE = {"Content-Type": "application/json"}
WITH_A_BODY = [
    ("post", "/jobs", {"type": "note", "text": "x"}),
    ("post", "/search", {"query": "x"}),
    ("patch", "/documents/1", {"title": "x"}),
    ("patch", "/notes/1", {"text": "x"}),
    ("post", "/notes/1/revert", {"version": 1}),
    ("patch", "/documents/1/tags", {"add": ["x"]}),
    ("put", "/documents/1/tags", {"tags": ["x"]}),
    ("post", "/documents/1/tags", {"tags": ["x"]}),
    ("delete", "/documents", {"confirm": False, "confirmation_phrase": ""}),
]
NOT_JSON = {
    "nothing": b"",
    "word": b"nonsense",
    "cut": b'{"query": "x"',
    "single-quotes": b"{'query': 'x'}",
    "trailing": b'{"query": "x"} x',
    "bytes": b"\xff\xfe\x00",
    "bad-utf-8": b'{"query": "\xc3("}',
    "deep-array": b"[" * 100_000,
    "deep-object": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "long-number": b'{"query": ' + b"9" * 5_000 + b"}",
}
SURROGATE = '"\\ud800"'


def send(api: TestClient, method: str, path: str, content: bytes | str) -> Answer:
    return api.request(method, f"{V1}{path}", content=content, headers=JSON_TYPE)


def assert_refused(response: Answer) -> Json:
    """A problem that blames the request: 400 if it cannot be taken apart, 422 if it says something wrong."""
    assert response.status_code in (400, 422), response.text[:500]
    return assert_problem(response, response.status_code, "invalid_request")


def test_e2_the_table_of_bodies_is_whole() -> None:
    paths = create_routes().openapi()["paths"]

    taking = {
        (method, path.removeprefix(V1).replace("{id}", "1"))
        for path, operations in paths.items()
        for method, operation in operations.items()
        if "application/json" in operation.get("requestBody", {}).get("content", {})
    }

    assert taking == {(method, path) for method, path, _ in WITH_A_BODY}


@pytest.mark.parametrize(("method", "path"), EVERY_OPERATION)
def test_e2_no_route_ignores_a_parameter_it_does_not_know(api: TestClient, method: str, path: str) -> None:
    problem = assert_refused(api.request(method, f"{path}?limti=1&%ED%A0%80%00=x", json={}))

    if not any((method, path) == (known, f"{V1}{place}") for known, place, _ in WITH_A_BODY):
        assert "limti" in problem["detail"]


def test_e2_a_parameter_that_is_read_once_is_refused_if_given_twice(api: TestClient) -> None:
    answer = api.get(f"{V1}/documents?offset=0&offset=1&tag=a&tag=b")

    assert answer.status_code == 422
    assert answer.json()["code"] == "invalid_request"
    assert "offset" in answer.json()["detail"]
    assert api.get(f"{V1}/documents?offset=0&tag=a&tag=b").status_code == 200


@pytest.mark.parametrize(
    "path", ["/nothing", "/api", V1, f"{V1}/", f"{V1}/nothing", f"{V1}/documents/", "/docs", "/\u00e9"]
)
def test_e2_unknown_paths_are_not_found(api: TestClient, path: str) -> None:
    assert_problem(api.get(path), 404, "not_found")


@pytest.mark.parametrize("path", sorted({path for _, path in EVERY_OPERATION}))
def test_e2_a_method_that_a_path_does_not_have_is_refused(api: TestClient, path: str) -> None:
    response = api.request("COPY", path)

    assert_problem(response, 405, "method_not_allowed")
    allowed = {method.upper() for method, known in EVERY_OPERATION if known == path}
    assert set(response.headers["allow"].split(", ")) - {"HEAD"} == allowed


@pytest.mark.parametrize(("method", "path", "body"), WITH_A_BODY)
def test_e2_what_is_not_json_is_refused(api: TestClient, method: str, path: str, body: Json) -> None:
    for name, content in NOT_JSON.items():
        problem = assert_refused(send(api, method, path, content))
        if name in ("word", "cut", "single-quotes", "trailing"):
            assert problem["status"] == 400


@pytest.mark.parametrize(("method", "path", "body"), WITH_A_BODY)
def test_e2_wrong_types_and_unknown_fields_are_refused(api: TestClient, method: str, path: str, body: Json) -> None:
    values: list[object] = [7.5, [[]], {"a": 1}, [1]]
    wrong: list[object] = [[], [body], 1, "x", None, True, {**body, "unknown": 1}, {**body, "\0": 1}]
    wrong += [{**body, name: value} for name in body for value in values]

    for sent in wrong:
        problem = assert_refused(send(api, method, path, json.dumps(sent)))
        assert all(set(error) == {"field", "message"} for error in problem["errors"])


@pytest.mark.parametrize(("method", "path", "body"), WITH_A_BODY)
def test_e2_half_a_surrogate_pair_is_refused_wherever_it_stands(
    api: TestClient, method: str, path: str, body: Json
) -> None:
    texts = [json.dumps({**body, "HERE": 1}).replace('"HERE"', SURROGATE)]
    texts += [
        json.dumps({**body, name: "HERE" if isinstance(value, str) else ["HERE"]}).replace('"HERE"', SURROGATE)
        for name, value in body.items()
    ]

    for text in texts:
        response = send(api, method, path, text)
        if path != "/documents":
            assert_refused(response)
        assert response.status_code < 500


@pytest.mark.parametrize(
    "metadata",
    [
        '{"a": NaN}',
        '{"a": Infinity}',
        '{"a": [-Infinity]}',
        '{"a": 1e999}',
        '{"a": "\\ud800"}',
        '{"\\ud800": 1}',
        '{"a": {"b": ["\\udfff"]}}',
        '{"a": ' + "9" * 5_000 + "}",
        '{"a": "' + "x" * 70_000 + '"}',
        "[]",
        '"x"',
        "1",
    ],
)
def test_e2_metadata_that_others_could_not_read_is_refused(
    api: TestClient, add_note: AddDocument, metadata: str
) -> None:
    note = add_note("text")

    patched = send(api, "PATCH", f"/documents/{note['id']}", f'{{"metadata": {metadata}}}')
    submitted = send(api, "POST", "/jobs", f'{{"type": "note", "text": "x", "metadata": {metadata}}}')
    uploaded = api.post(f"{V1}/jobs", files={"file": ("a.txt", b"x")}, data={"metadata": metadata})

    for response in (patched, submitted, uploaded):
        assert_refused(response)
    assert api.get(f"{V1}/documents/{note['id']}").json() == note


@pytest.mark.parametrize(
    "metadata",
    [
        {"\0": "\0"},
        {"": ""},
        {"a": 2**63},
        {"a": -(10**300)},
        {"a": 1e308},
        {"a": "\U0001f9ab\u2028"},
        {"a": [[[[{}]]]]},
        {f"k{n}": n for n in range(2_000)},
    ],
)
def test_any_other_metadata_comes_back_as_it_was(api: TestClient, add_note: AddDocument, metadata: Json) -> None:
    note = add_note("text", metadata=metadata)

    found = api.post(f"{V1}/search", json={"query": "text"}).json()["results"]

    assert note["metadata"] == found[0]["metadata"] == metadata


@pytest.mark.parametrize(
    "filters",
    [
        '{"metadata": {"\\ud800": 1}}',
        '{"metadata": {"a": "\\ud800"}}',
        '{"metadata": {"a": "\\u0000"}}',
        '{"metadata": {"a": NaN}}',
        '{"metadata": {"a": 1e999}}',
        '{"source_path": "\\ud800"}',
        '{"format": "\\u0000"}',
        '{"doc_type": "' + "x" * 100 + '"}',
        '{"date_range": {"start": "\\ud800"}}',
    ],
)
def test_e2_filters_that_cannot_be_asked_are_refused(api: TestClient, filters: str) -> None:
    assert_refused(send(api, "POST", "/search", f'{{"query": "x", "filters": {filters}}}'))


@pytest.mark.parametrize("key", ["", "\\u0000", "'", '\\"', "$.a", "a' OR 1=1 --", "x" * 4096])
def test_any_other_filter_is_answered(api: TestClient, add_note: AddDocument, key: str) -> None:
    add_note("x")

    response = send(api, "POST", "/search", f'{{"query": "x", "filters": {{"metadata": {{"{key}": "a"}}}}}}')

    assert response.status_code == 200
    assert response.json()["results"] == []


@pytest.mark.parametrize("text", [" \n", "a\0b", "\0", "\u0085"])
def test_e2_text_that_is_blank_or_holds_nul_is_refused_in_words(api: TestClient, text: str) -> None:
    told = "must hold some text and no NUL character"

    for method, path, body in (
        ("POST", "/jobs", {"type": "note", "text": text}),
        ("PATCH", "/notes/1", {"text": text}),
        ("POST", "/search", {"query": text}),
    ):
        problem = assert_refused(send(api, method, path, json.dumps(body)))
        assert problem["errors"] == [{"field": f"body.{[*body][-1]}", "message": told}]
    form = assert_refused(api.post(f"{V1}/jobs", files={"file": ("a.txt", b"x")}, data={"title": text}))
    assert form["errors"] == [{"field": "body.title", "message": told}]


def test_e2_a_path_with_nul_is_refused_in_words(api: TestClient) -> None:
    body = assert_refused(send(api, "POST", "/jobs", '{"type": "note", "text": "x", "source_path": "a\\u0000"}'))
    query = assert_refused(api.get(f"{V1}/documents", params={"source_path": "a\0"}))

    for problem in (body, query):
        assert [error["message"] for error in problem["errors"]] == ["must hold no NUL character"]


def chunks_of(size_bytes: int) -> Iterator[bytes]:
    for _ in range(size_bytes // 65_536 + 1):
        yield b" " * 65_536


@pytest.mark.parametrize(("method", "path", "body"), WITH_A_BODY)
def test_e2_a_body_that_is_too_large_is_refused(api: TestClient, method: str, path: str, body: Json) -> None:
    declared = send(api, method, path, b" " * (MAX_JSON_BYTES + 1))
    undeclared = api.request(method, f"{V1}{path}", content=chunks_of(MAX_JSON_BYTES), headers=JSON_TYPE)

    assert_problem(declared, 413, "payload_too_large")
    assert_problem(undeclared, 413, "payload_too_large")


def test_e2_a_form_may_be_large_only_where_files_are_taken(engine: Engine) -> None:
    roomy = replace(engine, options=replace(engine.options, max_file_bytes=4 * MAX_JSON_BYTES))
    headers = {"Content-Type": "multipart/form-data; boundary=x"}

    with TestClient(create_app(roomy, OPEN)) as api:
        response = api.post(f"{V1}/search", content=chunks_of(MAX_JSON_BYTES), headers=headers)

    assert_problem(response, 413, "payload_too_large")


@pytest.mark.parametrize("length", ["9" * 5_000, "-1", "x", "1e3", "\u00b2"])
def test_e2_a_length_that_is_none_is_refused(api: TestClient, length: str) -> None:
    headers = {b"Content-Type": b"application/json", b"Content-Length": length.encode("latin-1")}

    response = api.post(f"{V1}/search", content=b'{"query": "x"}', headers=headers)

    assert_problem(response, 413, "payload_too_large")


def test_e2_the_unexpected_is_a_500_that_tells_nothing_but_the_request_s_id(engine: Engine) -> None:
    def fail() -> datetime:
        raise RuntimeError("secret: SELECT 1 in /secret/path")

    with TestClient(create_app(replace(engine, clock=fail), OPEN), raise_server_exceptions=False) as api:
        response = api.post(f"{V1}/jobs", json={"type": "note", "text": "x"}, headers={"X-Request-ID": "r-1"})

    problem = assert_problem(response, 500, "internal_error")
    assert problem["request_id"] == "r-1" == response.headers["x-request-id"]
    assert "secret" not in response.text
