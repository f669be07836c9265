import httpx
import pytest

from kb.mcp.errors import ToolError, explain_engine_trouble

URL = "http://engine:8000"


def answered(status: int, **problem: object) -> httpx.HTTPStatusError:
    request = httpx.Request("GET", URL)
    return httpx.HTTPStatusError("", request=request, response=httpx.Response(status, json=problem, request=request))


@pytest.mark.parametrize("error", [httpx.ConnectError(""), httpx.ConnectTimeout("")])
def test_an_engine_that_was_never_reached_may_be_asked_again(error: Exception) -> None:
    """M3."""
    told = explain_engine_trouble(error, URL)

    assert told.code == "engine_unreachable"
    assert URL in told.message
    assert "Try again" in told.message


@pytest.mark.parametrize("error", [httpx.ReadError(""), httpx.RemoteProtocolError(""), httpx.ReadTimeout("")])
def test_an_engine_that_fell_silent_may_have_done_it(error: Exception) -> None:
    """M3."""
    told = explain_engine_trouble(error, URL)

    assert "look whether it did" in told.message
    assert "Try again" not in told.message


def test_details_cannot_change_what_an_error_says() -> None:
    """M6."""
    problem = answered(409, code="conflict", detail="No.", message="Yes.", success=True, error="none")

    told = explain_engine_trouble(problem, URL)

    assert told.as_answer() == {"success": False, "error": "conflict", "message": "No."}


def test_long_details_are_cut() -> None:
    told = explain_engine_trouble(answered(409, code="conflict", detail="No.", faults=["x" * 100] * 1000), URL)

    assert len(str(told.as_answer())) < 6000


def test_a_tool_error_carries_its_details() -> None:
    assert ToolError("a", "b", c=1).as_answer() == {"success": False, "error": "a", "message": "b", "c": 1}
