"""What the transports refuse by themselves, before any method is asked."""

from collections.abc import Mapping

from mcp.types import INVALID_REQUEST
from pydantic_core import to_json
from starlette.responses import Response

from kb.mcp.errors import SERVER_ERROR, error_message

# Of what never became a request that the application could have answered.
TYPE_OF_STATUS = {408: "request_timeout", 431: "headers_too_large", 503: "too_many_connections"}


def refuse(
    status: int,
    error_type: str,
    message: str,
    *,
    request_id: str | int | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """A JSON-RPC error that says why."""
    code = INVALID_REQUEST if status in (400, 405, 415) else SERVER_ERROR
    told = error_message(request_id, code, message, error_type)
    return Response(to_json(told), status_code=status, headers=headers, media_type="application/json")
