"""What an agent is told when something goes wrong.

A tool that fails is a result that the model reads: a stable code, and a sentence that says what to do next. A
fault of the protocol is a JSON-RPC error that the client's program reads: a number, and the kind in `error_type`.
Neither ever carries the text of an exception.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import httpx
from mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
)

from kb.client import EngineTooOld, Json, NotAnEngine
from kb.mcp.answers import shorten
from kb.version import MIN_ENGINE_VERSION

# Ours, among those that the protocol leaves to servers.
SERVER_ERROR = -32000

ERROR_TYPES = {
    PARSE_ERROR: "parse_error",
    INVALID_REQUEST: "invalid_request",
    METHOD_NOT_FOUND: "method_not_found",
    INVALID_PARAMS: "invalid_params",
    INTERNAL_ERROR: "internal_error",
    -32020: "header_mismatch",
    -32021: "missing_client_capability",
    -32022: "unsupported_protocol_version",
}

# What a method of the protocol was asked for and cannot give, where a tool would answer with this code.
PARAMETER_ERRORS = frozenset({"task_not_found", "resource_not_found", "invalid_cursor"})

# What the model can do next, where the engine cannot know that it speaks to one.
_ADVICE = {
    "document_not_found": "kb_search finds the ids of documents.",
    "job_not_found": "kb_jobs lists the jobs there are.",
    "not_a_note": "Only notes can be updated; upload a changed file anew.",
    "version_conflict": "kb_get shows its version now.",
    "too_many_requests": "Wait a little, then repeat the call.",
    "unavailable": "Wait a little, then repeat the call.",
}
# Hundreds of faults in one request help no model more than the first ones.
MAX_DETAIL_BYTES = 4_000
# The ids are in the message too, and some clients hold even an error to the schema, where an id is a number.
_PROBLEM_FIELDS = frozenset({"type", "title", "status", "detail", "code", "document_id", "job_id"})


class ToolError(Exception):
    """A failure that the model can act on: `code` is stable, the message says what to do."""

    def __init__(self, code: str, message: str, /, **details: object) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details

    def as_answer(self) -> Json:
        failure = {"success": False, "error": self.code, "message": self.message}
        # Whatever the engine calls its details, these three are ours.
        return {**failure, **self.details, **failure}


EngineTrouble = (httpx.HTTPError, EngineTooOld, NotAnEngine)


def explain_engine_trouble(error: Exception, engine_url: str) -> ToolError:
    """What any of `EngineTrouble` means to an agent."""
    if isinstance(error, httpx.HTTPStatusError):
        return _explain_answer(error.response, engine_url)
    if isinstance(error, EngineTooOld):
        return ToolError(
            "engine_too_old",
            f"The engine at {engine_url} is version {error.engine_version}, and {MIN_ENGINE_VERSION} or newer is "
            "needed. Ask whoever runs it to update it.",
            engine_url=engine_url,
        )
    if isinstance(error, NotAnEngine):
        return ToolError(
            "not_an_engine",
            f"What answers at {engine_url} is not a kb engine. Ask whoever runs this server to mend KB_ENGINE_URL.",
            engine_url=engine_url,
        )
    if isinstance(error, httpx.TimeoutException) and not isinstance(error, httpx.ConnectTimeout):
        return ToolError(
            "engine_timeout",
            f"The engine at {engine_url} did not answer in time. If the call was to change something, look whether it "
            "did before you repeat it.",
            engine_url=engine_url,
        )
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        advice = "Try again shortly; if it stays so, ask whoever runs it to start it (`kb up`)."
    else:
        advice = "If the call was to change something, look whether it did before you repeat it."
    return ToolError(
        "engine_unreachable", f"The engine cannot be reached at {engine_url}. {advice}", engine_url=engine_url
    )


def _explain_answer(response: httpx.Response, engine_url: str) -> ToolError:
    problem = read_problem(response)
    if response.status_code == httpx.codes.FORBIDDEN and problem.get("access") == "read":
        return ToolError(
            "engine_refused",
            f"The engine at {engine_url} lets this MCP server only read: its key is the engine's KB_API_KEY_READONLY. "
            "It can search and read; for all else, ask whoever runs it to give it the engine's KB_API_KEY.",
            engine_url=engine_url,
            access="read",
        )
    if response.status_code in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
        # The agent's own key was right, or it would not have come so far.
        told = problem.get("detail", "")
        return ToolError(
            "engine_refused",
            f"The engine at {engine_url} refuses this MCP server. Ask whoever runs it to look at KB_API_KEY and "
            f"KB_ALLOWED_HOSTS. {told}".strip(),
            engine_url=engine_url,
        )
    if "code" not in problem:
        return ToolError(
            "engine_error",
            f"The engine at {engine_url} answered with status {response.status_code}. Try again shortly.",
            engine_url=engine_url,
        )
    code = str(problem["code"])
    if code == "invalid_request":
        return _explain_invalid_request(problem)
    message = " ".join(filter(None, [str(problem.get("detail", "")), _ADVICE.get(code)]))
    details = {name: value for name, value in problem.items() if name not in _PROBLEM_FIELDS}
    return ToolError(code, message, **shorten(details, MAX_DETAIL_BYTES))


def _explain_invalid_request(problem: Json) -> ToolError:
    """What the tool's schema let pass and the engine did not: its fields are our parameters."""
    faults = [fault for fault in problem.get("errors", []) if isinstance(fault, dict)]
    named = [(str(fault.get("field", "")).removeprefix("body."), fault.get("message", "")) for fault in faults[:5]]
    told = "; ".join(f"'{name}': {message}" for name, message in named) or str(problem.get("detail", ""))
    return ToolError("invalid_parameter", told, **({"parameter": named[0][0]} if named else {}))


@contextmanager
def absence_told(code: str, message: str, /, **details: object) -> Iterator[None]:
    """A `ToolError` for what the engine does not know, and for a name that cannot be anything's (`ValueError`)."""
    try:
        yield
    except ValueError as error:
        raise ToolError(code, message, **details) from error
    except httpx.HTTPStatusError as error:
        if error.response.status_code != httpx.codes.NOT_FOUND:
            raise
        raise ToolError(code, message, **details) from error


def read_problem(response: httpx.Response) -> Json:
    """What the engine says of it; nothing if it is not the engine that answers."""
    try:
        problem = response.json()
    # Nothing but brackets is too deep for the parser.
    except (ValueError, RecursionError):
        return {}
    return problem if isinstance(problem, dict) else {}


def error_data(code: int, data: object) -> Json:
    """The `data` of a JSON-RPC error: always an object that names the kind of error."""
    details = data if isinstance(data, dict) else {}
    return {"error_type": ERROR_TYPES.get(code, "server_error"), **details}


def error_message(request_id: str | int | None, code: int, message: str, error_type: str | None = None) -> Json:
    """A whole JSON-RPC error, for what goes wrong outside of any handler."""
    data = error_data(code, {"error_type": error_type} if error_type else None)
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message, "data": data}}
