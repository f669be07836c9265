"""Answers that may be large: few are made at a time, and what all of them hold until they are sent is bounded.

The store cuts a page at `MAX_ANSWER_BYTES`. A byte that is stored may become six in JSON, so JSON is cut as well.
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

# More would only take Python's lock from one another, and from the loop that serves.
READINGS_AT_A_TIME = 2
# Forty of the largest.
MAX_HELD_BYTES = 40 * MAX_ANSWER_BYTES
# A smaller answer is never refused.
SMALL_BYTES = 64 * 1024
PIECE_BYTES = 64 * 1024
# An export keeps the document that it sends on the disk, which may be much.
MAX_EXPORTS = 16
# How fast a client takes its answer is not known earlier.
TAKEN_WITHIN_SECONDS = 2.0


@dataclass(eq=False)
class Sending:
    """An answer on its way to its client."""

    size: int
    began: float = field(default_factory=time.monotonic)
    taken_bytes: int = 0
    scope: CancelScope = field(default_factory=CancelScope)


class Sendings:
    """Answers on their way, whose sizes together have a bound. Used by the loop that serves, and by no other thread."""

    def __init__(self, max_size: int, *, never_refused: int) -> None:
        """Answers up to the size `never_refused` find room in any case."""
        self._max_size = max_size
        self._never_refused = never_refused
        self._all: set[Sending] = set()

    @contextmanager
    def hold(self, size: int) -> Iterator[Sending]:
        """The block sends the answer, and ends early if others need its room.

        Raises `TooManyRequests` if clients have too much to take already.
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
        """By ending the answer whose client is the slowest: otherwise slow clients could keep out all others."""
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
    """Those of one engine."""

    def __init__(self) -> None:
        self.turns = CapacityLimiter(READINGS_AT_A_TIME)
        self.in_memory = Sendings(MAX_HELD_BYTES, never_refused=SMALL_BYTES)
        self.exports = Sendings(MAX_EXPORTS, never_refused=0)


class LargeAnswer(Response):
    """Sent in pieces, no faster than its client takes them: as a whole, it would be copied first.

    Raises `TooManyRequests` if clients have too much to take already, and breaks off if its own client is the slowest
    of them.
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
    """Raises `TooManyRequests` if there are too many, and breaks off if its own client is the slowest of them."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answers: LargeAnswers = scope["app"].state.large_answers

        async def send_and_count(message: Message) -> None:
            await send(message)
            sending.taken_bytes += len(message.get("body", b""))

        with answers.exports.hold(1) as sending:
            await super().__call__(scope, receive, send_and_count)


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
