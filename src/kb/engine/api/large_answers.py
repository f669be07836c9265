"""Answers that may be large: few are made at a time, and what all of them hold until they are sent is bounded.

The store cuts a page at `MAX_ANSWER_BYTES`. A byte that is stored may become six in JSON, so JSON is cut as well.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import Request, Response
from pydantic_core import to_json
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from kb.engine.errors import TooManyRequests
from kb.engine.model import Page
from kb.engine.model.limits import MAX_ANSWER_BYTES

Row = TypeVar("Row")

# More would only take Python's lock from one another, and from the loop that serves.
READINGS_AT_A_TIME = 2
# Forty of the largest.
MAX_HELD_BYTES = 40 * MAX_ANSWER_BYTES
# A smaller answer is never refused.
SMALL_BYTES = 64 * 1024
PIECE_BYTES = 64 * 1024


class LargeAnswers:
    """Those of one engine. Used by the loop that serves, and by no other thread."""

    def __init__(self) -> None:
        self.turns = CapacityLimiter(READINGS_AT_A_TIME)
        self.held_bytes = 0


class LargeAnswer(Response):
    """Sent in pieces, no faster than its client takes them: as a whole, it would be copied first.

    Raises `TooManyRequests` if clients have too much to take already.
    """

    media_type = "application/json"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answers: LargeAnswers = scope["app"].state.large_answers
        size = len(self.body)
        if size > SMALL_BYTES and answers.held_bytes and answers.held_bytes + size > MAX_HELD_BYTES:
            raise TooManyRequests(
                "Too many large answers are being sent. Try again shortly, or ask for a smaller page."
            )
        answers.held_bytes += size
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            for begin in range(0, size, PIECE_BYTES):
                piece = self.body[begin : begin + PIECE_BYTES]
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body"})
        finally:
            answers.held_bytes -= size


async def read_in_turn(request: Request, read: Callable[[], Response]) -> Response:
    """What `read` returns, called in a thread when it is its turn."""
    answers: LargeAnswers = request.app.state.large_answers
    async with answers.turns:
        # A client that has waited for too long may have gone.
        if await request.is_disconnected():
            raise ClientDisconnect
        return await to_thread.run_sync(read)


def render_page(name: str, page: Page[Row], render: Callable[[Row], bytes], *, limit: int, offset: int) -> LargeAnswer:
    """A page of a list, or the beginning of it."""
    rows = b",".join(take_fitting(map(render, page.rows)))
    about = to_json({"total": page.total, "limit": limit, "offset": offset})
    return LargeAnswer(b'{"%b":[%b],%b' % (name.encode(), rows, about[1:]))


def take_fitting(rows: Iterable[bytes], *, max_bytes: int = MAX_ANSWER_BYTES) -> Iterator[bytes]:
    """As many of the first as have room; at least one, or its reader could not go on."""
    taken_bytes = 0
    for row in rows:
        if taken_bytes and taken_bytes + len(row) > max_bytes:
            return
        taken_bytes += len(row)
        yield row
