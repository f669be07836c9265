"""Answers that may be large: only a few are made at a time, and their total size until they are sent is bounded.

The store ends a page at `MAX_ANSWER_BYTES`. A stored byte may become six in JSON, so the JSON has the same bound.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from anyio import CancelScope, CapacityLimiter, to_thread
from fastapi import Request, Response
from pydantic_core import to_json
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

from kb.engine.api.pieces import PiecesResponse
from kb.engine.errors import TooManyRequests
from kb.engine.model import Page
from kb.engine.model.limits import MAX_ANSWER_BYTES

Row = TypeVar("Row")

# More threads would only compete for Python's lock, also with the event loop.
READINGS_AT_A_TIME = 2
# Enough for forty answers of the largest size.
MAX_HELD_BYTES = 40 * MAX_ANSWER_BYTES
# A smaller answer is never refused.
SMALL_BYTES = 64 * 1024
PIECE_BYTES = 64 * 1024
# An export keeps the document that it is sending in a file, which may be large.
MAX_EXPORTS = 16
# An answer is not ended before this time: it is too early to know how fast its client reads.
TAKEN_WITHIN_SECONDS = 2.0


@dataclass(eq=False)
class Sending:
    """An answer on its way to its client."""

    size: int
    began: float = field(default_factory=time.monotonic)
    taken_bytes: int = 0
    scope: CancelScope = field(default_factory=CancelScope)


class Sendings:
    """Answers that are being sent; their total size is bounded. Only the event loop's thread uses it."""

    def __init__(self, max_size: int, *, never_refused: int) -> None:
        """Answers up to the size `never_refused` are always accepted."""
        self._max_size = max_size
        self._never_refused = never_refused
        self._all: set[Sending] = set()

    @contextmanager
    def hold(self, size: int) -> Iterator[Sending]:
        """The `with` block sends the answer. It is cancelled if another answer needs its room.

        Raises `TooManyRequests` if too much is being sent already.
        """
        if size > self._never_refused:
            self._make_room(size)
        sending = Sending(size)
        self._all.add(sending)
        try:
            with sending.scope:
                yield sending
        finally:
            self._all.discard(sending)

    def _make_room(self, size: int) -> None:
        """End the answers whose clients are the slowest. Otherwise slow clients could keep out all others."""
        now = time.monotonic()
        while self._all and sum(one.size for one in self._all) + size > self._max_size:
            large = [one for one in self._all if one.size > self._never_refused]
            slow = [one for one in large if now - one.began > TAKEN_WITHIN_SECONDS]
            if not slow:
                raise TooManyRequests(
                    "Too many large answers are being sent. Try again shortly, or ask for a smaller page."
                )
            slowest = min(slow, key=lambda one: one.taken_bytes / (now - one.began))
            slowest.scope.cancel()
            self._all.discard(slowest)


class LargeAnswers:
    """The large answers of one engine."""

    def __init__(self) -> None:
        self.turns = CapacityLimiter(READINGS_AT_A_TIME)
        self.in_memory = Sendings(MAX_HELD_BYTES, never_refused=SMALL_BYTES)
        self.exports = Sendings(MAX_EXPORTS, never_refused=0)


class LargeAnswer(Response):
    """An answer that is sent in pieces, as fast as its client reads. Sent as a whole, it would be copied first.

    Raises `TooManyRequests` if too much is being sent already. Breaks off if its own client is the slowest and another
    answer needs its room.
    """

    media_type = "application/json"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answers: LargeAnswers = scope["app"].state.large_answers
        size = len(self.body)
        with answers.in_memory.hold(size) as sending:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            for begin in range(0, size, PIECE_BYTES):
                piece = self.body[begin : begin + PIECE_BYTES]
                await send({"type": "http.response.body", "body": piece, "more_body": True})
                sending.taken_bytes += len(piece)
            await send({"type": "http.response.body"})


class ExportAnswer(PiecesResponse):
    """An export. Raises `TooManyRequests` if there are too many. Breaks off if its client is the slowest of them."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answers: LargeAnswers = scope["app"].state.large_answers

        async def send_and_count(message: Message) -> None:
            await send(message)
            sending.taken_bytes += len(message.get("body", b""))

        with answers.exports.hold(1) as sending:
            await super().__call__(scope, receive, send_and_count)


async def read_in_turn(request: Request, read: Callable[[], Response]) -> Response:
    """Call `read` in a thread when it is this request's turn, and return its answer."""
    answers: LargeAnswers = request.app.state.large_answers
    async with answers.turns:
        # The client may have gone while it waited.
        if await request.is_disconnected():
            raise ClientDisconnect
        return await to_thread.run_sync(read)


def render_page(name: str, page: Page[Row], render: Callable[[Row], bytes], *, limit: int, offset: int) -> LargeAnswer:
    """The answer with a page of a list, or with the first rows of the page if it is too large."""
    rows = b",".join(take_fitting(map(render, page.rows)))
    about = to_json({"total": page.total, "limit": limit, "offset": offset})
    return LargeAnswer(b'{"%b":[%b],%b' % (name.encode(), rows, about[1:]))


def take_fitting(rows: Iterable[bytes], *, max_bytes: int = MAX_ANSWER_BYTES) -> Iterator[bytes]:
    """The first rows, as many as there is room for. At least one, or the reader could not go on."""
    taken_bytes = 0
    for row in rows:
        if taken_bytes and taken_bytes + len(row) > max_bytes:
            return
        taken_bytes += len(row)
        yield row
