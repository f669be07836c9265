"""Server-sent events: what happens, told while it happens, whichever process does it.

The store writes each event down in the transaction that it tells of; here it is only read. One task looks for new
ones, while somebody listens, and hands each to all. A listener is never ahead of the store and misses nothing:

1. It is registered before its past is read. What happens meanwhile waits in its stream, and what it has then been
   told already is left out.
2. Who reads too slowly, and everybody when the program stops, finds the stream ended. Whoever comes back with the
   number of the last event goes on behind it.

Tried and dropped: a look at the store by each listener, which costs as much as a hundred of them are.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from contextvars import Context
from typing import Annotated, Any, NamedTuple

import anyio
from fastapi import APIRouter, Depends, Header, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from kb.engine.api.answers import DocumentAnswer, JobAnswer
from kb.engine.api.parameters import EngineDep
from kb.engine.errors import NotFound, TooManyRequests
from kb.engine.model import Event, EventKind
from kb.engine.wiring import Engine

log = logging.getLogger(__name__)
router = APIRouter(tags=["events"])

LOOK_EVERY_SECONDS = 0.25
# Proxies close a connection on which nothing is said for a minute or so.
KEEP_ALIVE_SECONDS = 15.0
KEEP_ALIVE = b": nothing new\n\n"
MAX_LISTENERS = 100
# 2,000 a second are more than the store can write, and leave those who listen time to read.
EVENTS_AT_ONCE = 500
MAX_WAITING_EVENTS = 1_000
# The event of a document contains its metadata and tags, which can take hundreds of kilobytes.
MAX_BYTES_AT_ONCE = 512 * 1024
MAX_WAITING_BYTES = 2 * 1024 * 1024
RECONNECT_AFTER_MS = 1_000

MISSED = "missed"
MEDIA_TYPE = "text/event-stream"
# The shape of each event; OpenAPI has no words for the stream of them.
EVENT_SHAPE = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "event": {"enum": [*(kind.value for kind in EventKind), MISSED]},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
    "required": ["id", "event", "data"],
}
EVENT_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"description": "Events, as they happen", "content": {MEDIA_TYPE: {"schema": EVENT_SHAPE}}}
}


class Message(NamedTuple):
    event_id: int
    text: bytes


class Listener:
    """The messages that one client has still to receive."""

    def __init__(self) -> None:
        self._sender, self._receiver = anyio.create_memory_object_stream[Message](MAX_WAITING_EVENTS)
        self._waiting_bytes = 0

    def put(self, message: Message) -> None:
        """Add a message. Ends the stream of a client that reads too slowly."""
        try:
            if self._waiting_bytes and self._waiting_bytes + len(message.text) > MAX_WAITING_BYTES:
                self.end()
            else:
                self._sender.send_nowait(message)
                self._waiting_bytes += len(message.text)
        except anyio.WouldBlock:
            self.end()
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            # The stream has ended, but its client has not noticed yet or is about to leave.
            return

    async def get(self) -> Message:
        """Wait for the next message. Raises `anyio.EndOfStream` after the last one of a stream that has ended."""
        message = await self._receiver.receive()
        self._waiting_bytes -= len(message.text)
        return message

    def end(self) -> None:
        self._sender.close()

    def leave(self) -> None:
        self._sender.close()
        self._receiver.close()


class Feed:
    """Hands what happens in an engine to those who listen. Used by the loop that serves, and by no other thread."""

    def __init__(self) -> None:
        self._listeners: set[Listener] = set()
        self._newest = 0
        self._task: asyncio.Task[None] | None = None

    @property
    def listeners(self) -> int:
        return len(self._listeners)

    @asynccontextmanager
    async def listen(self, engine: Engine, last_event_id: int | None) -> AsyncIterator[AsyncIterator[bytes]]:
        """What happens after that event, or from now on. Raises `TooManyRequests` if too many listen already."""
        newest = await run_in_threadpool(engine.store.newest_event)
        if len(self._listeners) >= MAX_LISTENERS:
            raise TooManyRequests(f"{MAX_LISTENERS} clients are listening already.")
        listener = Listener()
        self._listeners.add(listener)
        if self._task is None:
            self._newest = newest
            # In a new context: the task does not belong to the request that happens to be the first.
            self._task = asyncio.create_task(self._watch(engine), context=Context())
            self._task.add_done_callback(_log_failure)
        try:
            yield _follow(engine, last_event_id, max(newest, self._newest), listener)
        finally:
            self._listeners.discard(listener)
            listener.leave()

    async def _watch(self, engine: Engine) -> None:
        """Until nobody listens, the program stops or something fails; then every stream ends."""
        try:
            while self._listeners and not engine.is_stopping():
                self._newest, messages = await run_in_threadpool(_read, engine, self._newest)
                for message in messages:
                    for listener in self._listeners:
                        listener.put(message)
                await asyncio.sleep(LOOK_EVERY_SECONDS)
        finally:
            self._task = None
            for listener in self._listeners:
                listener.end()


def _log_failure(watching: asyncio.Task[None]) -> None:
    error = None if watching.cancelled() else watching.exception()
    if error is not None:
        log.error("The events cannot be read; whoever listens has to come back.", exc_info=error)


async def _follow(engine: Engine, last_event_id: int | None, newest: int, live: Listener) -> AsyncIterator[bytes]:
    """The past behind `last_event_id`, then what comes. `newest` is the event before the first that `live` has."""
    position = newest if last_event_id is None else last_event_id
    if last_event_id is not None and await run_in_threadpool(_is_forgotten, engine, last_event_id):
        position = newest
        yield _render(position, MISSED, {})
    # Known before anything happens, so that a connection lost at once is taken up at the right place.
    yield f"id: {position}\nretry: {RECONNECT_AFTER_MS}\n\n".encode()
    while position < newest:
        position, messages = await run_in_threadpool(_read, engine, position)
        for message in messages:
            yield message.text
    with suppress(anyio.EndOfStream):
        while True:
            heard: Message | None = None
            with anyio.move_on_after(KEEP_ALIVE_SECONDS):
                heard = await live.get()
            if heard is None:
                yield KEEP_ALIVE
            elif heard.event_id > position:
                yield heard.text


def _is_forgotten(engine: Engine, event_id: int) -> bool:
    """Whether what came after that event is no longer known, or the event is of another base."""
    following = engine.store.list_events(after=event_id, limit=1)
    return following[0].seq > event_id + 1 if following else engine.store.newest_event() != event_id


def _read(engine: Engine, after: int) -> tuple[int, list[Message]]:
    """The number of the last event, and the messages of the next events, as many as there is room for; blocks."""
    events = engine.store.list_events(after=after, limit=EVENTS_AT_ONCE)
    messages, total_bytes = list[Message](), 0
    for message in _describe(engine, events):
        messages.append(message)
        total_bytes += len(message.text)
        if total_bytes > MAX_BYTES_AT_ONCE:
            return message.event_id, messages
    return events[-1].seq if events else after, messages


def _describe(engine: Engine, events: Sequence[Event]) -> Iterator[Message]:
    """Things are told as they are now, so that of several changes to one of them only the last is worth telling."""
    latest = {(event.kind, event.document_id, event.job_id): event for event in events}
    for event in sorted(latest.values(), key=lambda event: event.seq):
        try:
            answer = _look_at(engine, event)
        except NotFound:
            # Gone by now, and somebody will be told so: by a later event, or when finished jobs are forgotten.
            continue
        yield Message(event.seq, _render(event.seq, event.kind.value, answer))


def _look_at(engine: Engine, event: Event) -> dict[str, Any]:
    if event.job_id is not None:
        return JobAnswer.of(engine.store.get_job(event.job_id), engine.clock()).model_dump(mode="json")
    if event.document_id is None:
        return {}
    if event.kind is EventKind.DOCUMENT_DELETED:
        return {"document_id": event.document_id, "document_uuid": str(event.document_uuid)}
    return DocumentAnswer.of(engine.store.get_document(event.document_id)).model_dump(mode="json")


def _render(event_id: int, kind: str, answer: dict[str, Any]) -> bytes:
    # In ASCII, with all else escaped: some clients take U+2028 and its like for the end of a line.
    return f"id: {event_id}\nevent: {kind}\ndata: {json.dumps(answer)}\n\n".encode()


async def _listen(
    request: Request,
    engine: EngineDep,
    last_event_id: Annotated[
        int | None, Header(ge=0, le=2**63 - 1, description="The event behind which to go on; else from now on.")
    ] = None,
) -> AsyncIterator[AsyncIterator[bytes]]:
    feed: Feed = request.app.state.feed
    async with feed.listen(engine, last_event_id) as messages:
        yield messages


@router.get("/events", name="events", response_class=Response, responses=EVENT_ANSWERS)
async def stream_events(messages: Annotated[AsyncIterator[bytes], Depends(_listen)]) -> StreamingResponse:
    """Server-sent events, without an end: what happens to jobs and documents.

    `job` carries the job, `document_added` and `document_changed` the document, `document_deleted` its `document_id`
    and `document_uuid`; after `everything_deleted` there is none left. `map_changed` says that documents have got
    places on the map, or other ones. `missed` says that events were lost, since the base keeps only the newest 10,000:
    look at everything anew.
    """
    # Told to a proxy, it passes each event on at once.
    return StreamingResponse(messages, media_type=MEDIA_TYPE, headers={"X-Accel-Buffering": "no"})
