"""What the tests of the API share: how they call it, and what they expect of every problem."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

from kb.access import Access
from kb.engine.api.app import create_routes

Json: TypeAlias = dict[str, Any]
AddDocument: TypeAlias = Callable[..., Json]
"""Adds a note (its text first) or a file (its content first), does the job, and returns the document."""

MAX_FILE_BYTES = 2 * 1024 * 1024
OPEN = Access(writing_keys=(), reading_keys=(), hosts=("testserver",), origins=())
V1 = "/api/v1"
EVERY_OPERATION = [
    (method, re.sub(r"\{[^}]*\}", "1", path))
    for path, operations in create_routes().openapi()["paths"].items()
    for method in operations
]
"""Each method and path of the application, with an id that names nothing."""


class Answer(Protocol):
    status_code: int

    @property
    def headers(self) -> Mapping[str, str]: ...

    @property
    def text(self) -> str: ...

    def json(self) -> Any: ...


def assert_problem(response: Answer, status: int, code: str) -> Json:
    """E2: the shape of every error. Returns the body for what else there is to say of it."""
    body: Json = response.json()
    assert (response.status_code, body.get("code")) == (status, code), body
    assert response.headers["content-type"] == "application/problem+json"
    assert body["type"] == f"urn:kb:problem:{code}"
    assert body["status"] == status
    assert body["title"]
    assert body["detail"]
    assert response.headers["x-request-id"]
    for leak in ("Traceback", "apsw", "SELECT ", "site-packages", 'File "'):
        assert leak not in response.text
    return body
