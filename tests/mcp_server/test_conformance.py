from collections.abc import Iterator

import pytest
from tests.engine_program import EngineProgram
from tests.mcp_server.conformance import REVISIONS, conformance_server, run_suite


@pytest.fixture(scope="module")
def server_url() -> Iterator[str]:
    with conformance_server() as url:
        yield url


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_suite_finds_no_fault_beyond_what_is_not_offered(server_url: str, revision: str) -> None:
    """M1"""
    report = run_suite(server_url, revision)

    assert report.is_good, f"{report.complaint}\nwithout checks: {report.without_checks}"


@pytest.mark.parametrize(
    ("scenario", "revision"),
    [
        ("server-initialize", "2025-06-18"),
        ("ping", "2025-11-25"),
        ("tools-list", "2025-11-25"),
        ("tools-list", "2026-07-28"),
        ("prompts-list", "2026-07-28"),
    ],
)
def test_the_suite_finds_no_fault_in_the_server_that_users_run(
    running_engine: EngineProgram, scenario: str, revision: str
) -> None:
    """M1"""
    report = run_suite(f"{running_engine.mcp_url}/mcp", revision, scenario=scenario)

    assert report.is_good, report.complaint
    assert report.failed == 0
