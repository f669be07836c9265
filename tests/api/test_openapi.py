"""E3: the OpenAPI description is exact. Whatever it allows is accepted, and every answer is one it names."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import checks
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)
from starlette.testclient import TestClient
from starlette.types import ASGIApp
from tests.amounts import IS_FULL, Tell, amount
from tests.api_calls import OPEN, V1
from tests.engine_in_process import open_engine_with
from tests.handmade_documents import work_off as work_off_jobs
from tests.keys import bearer

from kb.engine.api.app import create_app, create_routes
from kb.engine.ports import Embedder

KEY, READING_KEY = "sesame", "only-look"
HOSTS = ("testserver", "localhost")
# What can be asked of an answer to a caller who is let in nowhere, or not everywhere.
CHECKS_OF_A_REFUSAL = [
    checks.not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]

schemathesis.serializer.alias("application/x-tar", "application/octet-stream")
schema = schemathesis.openapi.from_asgi("/api/openapi.json", create_routes())
# A well-formed request may still meet another version of a document, or carry a file of an unknown kind.
schema.config.checks.positive_data_acceptance.expected_statuses = ["2xx", "404", "409", "412", "415"]
# Without a case for each boundary of each field. Such cases are thought up anew by each process that collects tests.
short_schema = schemathesis.openapi.from_asgi("/api/openapi.json", create_routes())
short_schema.config.phases.coverage.enabled = IS_FULL


@pytest.fixture(scope="module")
def called() -> Counter[str]:
    """How many requests were answered in which way."""
    return Counter[str]()


@pytest.fixture(scope="module")
def app(embedder: Embedder) -> Iterator[ASGIApp]:
    """An engine with a note, a file and jobs in every state, so that ids name something."""
    with open_engine_with(embedder) as engine:
        access = replace(OPEN, writing_keys=(KEY,), reading_keys=(READING_KEY,), hosts=HOSTS)
        app = create_app(engine, access)
        api = TestClient(app, headers=bearer(KEY))
        for number in range(5):
            api.post(f"{V1}/jobs", json={"type": "note", "text": f"Note {number}.", "tags": ["a"]})
            api.post(f"{V1}/jobs", files={"file": ("a.txt", f"File {number}.".encode())})
        work_off_jobs(engine.pipeline)
        for number in range(5):
            api.post(f"{V1}/jobs", json={"type": "note", "text": f"Waiting {number}."})
        yield app


def examples(number: int) -> settings:
    return settings(max_examples=number, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))


@schema.parametrize()
@examples(amount(selection=20, full=200))
def test_e3_every_operation_is_what_the_description_says(case: Any, app: ASGIApp, called: Counter[str]) -> None:
    if not is_given_up(case):
        # The fields of a form are texts, whatever they were meant to be.
        excluded = [negative_data_rejection] if case.media_type == "multipart/form-data" else []
        answer = case.call_and_validate(app=app, headers=bearer(KEY), excluded_checks=excluded)
        called[f"with the key answered {answer.status_code // 100}xx"] += 1


# Whoever is not let in is refused before anybody looks at what was sent: a few requests tell as much as all.
@short_schema.parametrize()
@examples(amount(selection=3, full=30))
def test_e1_whoever_may_not_is_refused_as_the_description_says(case: Any, app: ASGIApp, called: Counter[str]) -> None:
    """Without a key, and with one that can only read."""
    if is_given_up(case):
        return
    keyless = case.call_and_validate(app=app, headers={}, checks=CHECKS_OF_A_REFUSAL)
    reading = case.call_and_validate(app=app, headers=bearer(READING_KEY), checks=CHECKS_OF_A_REFUSAL)

    called[f"without a key answered {keyless.status_code}"] += 1
    called[f"with the reading key answered {reading.status_code}"] += 1
    if case.path.startswith("/api/"):
        is_reading = case.method == "GET" or case.path.endswith("/search")
        assert keyless.status_code == 401
        assert (reading.status_code != 403) == is_reading


def test_e3_no_answer_was_a_server_error(called: Counter[str], tell: Tell) -> None:
    """Of all that the tests above have seen, as many of them as were run."""
    tell(f"OpenAPI: {', '.join(f'{count} {kind}' for kind, count in sorted(called.items()))}")
    assert [kind for kind in called if "answered 5" in kind] == []


def is_given_up(case: Any) -> bool:
    """Where a text may have a million characters, the tool sometimes finds none, and says 0 for the whole body."""
    return case.meta.generation.mode is schemathesis.GenerationMode.POSITIVE and case.body == 0
