"""Puts `error_type` on the errors that the SDK's transport raises by itself, before any handler is asked."""

import json
from http import HTTPStatus

from pydantic_core import to_json
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kb.mcp.errors import SERVER_ERROR, error_data, error_message


def with_named_errors(app: ASGIApp) -> ASGIApp:
    async def app_with_named_errors(scope: Scope, receive: Receive, send: Send) -> None:
        held_back: list[Message] = []

        async def send_named(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] >= 400:
                held_back.append(message)
            elif held_back:
                start = held_back.pop()
                body = _name_error(message.get("body", b""), start["status"])
                headers = MutableHeaders(scope=start)
                headers["content-type"] = "application/json"
                headers["content-length"] = str(len(body))
                await send(start)
                # The SDK's refusals are all of one piece.
                await send({"type": "http.response.body", "body": body})
            else:
                await send(message)

        await app(scope, receive, send_named)

    return app_with_named_errors


def _name_error(body: bytes, status: int) -> bytes:
    try:
        answer = json.loads(body)
        error = answer["error"]
        error["data"] = error_data(error["code"], error.get("data"))
    except (ValueError, LookupError, TypeError):
        # Not an error of the protocol at all, but a bare status with at most a line of text.
        phrase = HTTPStatus(status).phrase
        answer = error_message(None, SERVER_ERROR, f"{phrase}.", phrase.lower().replace(" ", "_"))
    return to_json(answer)
