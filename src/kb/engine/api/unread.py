"""What the engine says without looking at a request: because it never became one, or is too much to be held."""

import uuid
from contextlib import closing
from http import HTTPStatus

from fastapi import HTTPException
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kb.engine.api.errors import RETRY_AFTER_SECONDS, problem
from kb.engine.api.guard import ANSWER_HEADERS, is_bundle, is_upload
from kb.engine.api.marks import HAS_ANSWER
from kb.serving import RawHeaders
from kb.serving.held_bodies import Bodies, NoRoom, TooManyValues


def render_unread(status: HTTPStatus, detail: str) -> tuple[RawHeaders, bytes]:
    """A problem, for a client whose request did not come so far as to have a route."""
    code = "unavailable" if status is HTTPStatus.SERVICE_UNAVAILABLE else "invalid_request"
    headers = {**ANSWER_HEADERS, "X-Request-ID": uuid.uuid4().hex}
    if code in RETRY_AFTER_SECONDS:
        headers["Retry-After"] = RETRY_AFTER_SECONDS[code]
    answer = problem(code, detail, status=status, headers=headers)
    return answer.raw_headers, bytes(answer.body)


class BoundedBodies:
    """Around the routes: what is read into memory is bounded. Files and bundles are not; they are read in pieces."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._bodies = Bodies()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or _is_read_in_pieces(scope):
            await self._app(scope, receive, send)
            return
        with closing(self._bodies.open()) as body:

            async def receive_counted() -> Message:
                message = await receive()
                if HAS_ANSWER in scope:
                    return message
                try:
                    await body.add(message.get("body", b""), is_last=not message.get("more_body", False))
                # The framework reads a body of JSON by itself, and lets only errors of its own kind through.
                except TooManyValues as error:
                    raise HTTPException(413, str(error)) from error
                except NoRoom as error:
                    raise HTTPException(503, str(error), {"Retry-After": RETRY_AFTER_SECONDS["unavailable"]}) from error
                return message

            async def send_and_let_go(message: Message) -> None:
                # From here on nobody needs it.
                body.close()
                await send(message)

            await self._app(scope, receive_counted, send_and_let_go)


def _is_read_in_pieces(scope: Scope) -> bool:
    headers = Headers(scope=scope)
    return is_upload(scope, headers) or is_bundle(scope, headers)
