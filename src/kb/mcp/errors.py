"""What an agent is told when something goes wrong.

A tool that fails is a result that the model reads: a stable code, and a sentence that says what to do next. A
fault of the protocol is a JSON-RPC error that the client's program reads: a number, and the kind in `error_type`.
Neither ever carries the text of an exception.
"""

import difflib
from typing import TYPE_CHECKING, Any

import httpx
from jsonschema.exceptions import ValidationError
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

if TYPE_CHECKING:
    from kb.mcp.tools import Tool

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

# What the model can do next, where the engine cannot know that it speaks to one.
_ADVICE = {
    "document_not_found": "kb_search finds the ids of documents.",
    "job_not_found": "kb_jobs lists the jobs there are.",
    "not_a_note": "Only notes can be updated; upload a changed file anew.",
    "version_conflict": "Read the document again with kb_get, and repeat with its version.",
    "too_many_requests": "Wait a little, then repeat the call.",
    "unavailable": "Wait a little, then repeat the call.",
}
# Hundreds of faults in one request help no model more than the first ones.
MAX_DETAIL_BYTES = 4_000
_PROBLEM_FIELDS = frozenset({"type", "title", "status", "detail", "code"})


class ToolError(Exception):
    """A failure that the model can act on: `code` is stable, the message says what to do."""

    def __init__(self, code: str, message: str, **details: object) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details

    def as_answer(self) -> Json:
        return {"success": False, "error": self.code, "message": self.message, **self.details}


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
    return ToolError(
        "engine_unreachable",
        f"The engine cannot be reached at {engine_url}. Try again shortly; if it stays so, ask whoever runs it to "
        "start it (`kb up`).",
        engine_url=engine_url,
    )


def _explain_answer(response: httpx.Response, engine_url: str) -> ToolError:
    problem = _read_problem(response)
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
    message = " ".join(filter(None, [str(problem.get("detail", "")), _ADVICE.get(code)]))
    details = {name: value for name, value in problem.items() if name not in _PROBLEM_FIELDS}
    return ToolError(code, message, **shorten(details, MAX_DETAIL_BYTES))


def _read_problem(response: httpx.Response) -> Json:
    try:
        problem = response.json()
    except ValueError:
        return {}
    return problem if isinstance(problem, dict) else {}


def find_fault(tool: "Tool", arguments: Json) -> ToolError | None:
    """What is wrong with the arguments, in words; their values are not repeated: they may be a megabyte."""
    missing = [name for name in tool.required if name not in arguments]
    if missing:
        named = ", ".join(f"'{name}'" for name in missing)
        return ToolError(
            "missing_required_parameter",
            f"{tool.name} needs {named}. Call it again with {'it' if len(missing) == 1 else 'them'}.",
            parameter=missing[0],
            missing_parameters=missing,
        )
    fault = min(tool.validator.iter_errors(arguments), key=lambda fault: len(fault.absolute_path), default=None)
    return None if fault is None else _explain_fault(tool, fault)


def _explain_fault(tool: "Tool", fault: ValidationError) -> ToolError:
    place = ".".join(str(part) for part in fault.absolute_path)
    if fault.validator == "additionalProperties":
        known: list[str] = [*fault.schema["properties"]]  # type: ignore[index]  # such a schema is never a boolean
        given: Json = fault.instance  # type: ignore[assignment]  # and only objects have properties
        name = next(name for name in given if name not in known)
        nearest = difflib.get_close_matches(name, known, n=1)
        advice = f"Did you mean '{nearest[0]}'?" if nearest else f"Known are: {', '.join(known) or 'none'}."
        full_name = f"{place}.{name}" if place else name
        return ToolError(
            "invalid_parameter", f"{tool.name} has no parameter '{full_name}'. {advice}", parameter=full_name
        )
    return ToolError("invalid_parameter", f"'{place}' {_demand(fault)}.", parameter=place)


def _demand(fault: ValidationError) -> str:
    wanted: Any = fault.validator_value  # Any: whatever the schema's keyword takes
    given: Any = fault.instance
    match fault.validator:
        case "type":
            kinds = wanted if isinstance(wanted, list) else [wanted]
            return f"must be of type {' or '.join(kinds)}"
        case "enum":
            return f"must be one of: {', '.join(map(str, wanted))}"
        case "minimum":
            return f"must be {wanted} or more"
        case "maximum":
            return f"must be {wanted} or less"
        case "minLength":
            return "must not be empty" if wanted == 1 else f"must have at least {wanted} characters"
        case "maxLength":
            return f"must have at most {wanted} characters"
        case "minItems":
            return f"must have at least {wanted} items"
        case "maxItems":
            return f"must have at most {wanted} items"
        case "required":
            return f"needs {', '.join(name for name in wanted if name not in given)}"
        case _:
            return "is not what the tool's schema allows"


def error_data(code: int, data: object) -> Json:
    """The `data` of a JSON-RPC error: always an object that names the kind of error."""
    details = data if isinstance(data, dict) else {}
    return {"error_type": ERROR_TYPES.get(code, "server_error"), **details}


def error_message(request_id: str | int | None, code: int, message: str, error_type: str | None = None) -> Json:
    """A whole JSON-RPC error, for what goes wrong outside of any handler."""
    data = error_data(code, {"error_type": error_type} if error_type else None)
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message, "data": data}}
