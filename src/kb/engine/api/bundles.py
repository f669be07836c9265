"""Routes of bundles: the whole base out, and documents in."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from anyio import CapacityLimiter, from_thread, to_thread
from fastapi import APIRouter, Request, Response
from pydantic import NonNegativeInt
from starlette.datastructures import State
from starlette.requests import ClientDisconnect

from kb.engine.api.answers import Answer
from kb.engine.api.guard import media_type_of
from kb.engine.api.large_answers import ExportAnswer
from kb.engine.api.parameters import EngineDep
from kb.engine.bundles import exporting, importing
from kb.engine.bundles.bundle import MEDIA_TYPE
from kb.engine.errors import KbError, TooManyRequests, Unavailable, UnsupportedFormat
from kb.engine.wiring import Engine

router = APIRouter(tags=["bundles"])

# An import that takes no longer is finished, even if the program is told to stop meanwhile.
LOOK_EVERY_SECONDS = 1

BUNDLE = {MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}}}
BUNDLE_ANSWER: dict[int | str, dict[str, Any]] = {200: {"description": "The bundle", "content": BUNDLE}}
BUNDLE_BODY = {"requestBody": {"required": True, "content": BUNDLE}}


class ImportAnswer(Answer):
    documents_added: NonNegativeInt
    documents_replaced: NonNegativeInt
    documents_unchanged: NonNegativeInt
    originals_added: NonNegativeInt
    reindexing: bool


@router.get("/export", response_class=Response, responses=BUNDLE_ANSWER)
def export_bundle(engine: EngineDep) -> ExportAnswer:
    """All documents with their originals, texts, chunks, vectors, tags, metadata and revisions, as one bundle.

    Its format is told in the reference page of bundles. A bundle that lacks its last member was cut off.
    """
    return ExportAnswer(
        exporting.export_bundle(engine.store, engine.originals, engine.options.data_dir),
        media_type=MEDIA_TYPE,
        headers={"Content-Disposition": 'attachment; filename="kb-bundle.tar"'},
    )


@router.post("/import", openapi_extra=BUNDLE_BODY)
async def import_bundle(engine: EngineDep, request: Request) -> ImportAnswer:
    """Add the documents of a bundle, without extracting or embedding them again.

    A document that is already there stays as it is, unless the bundle has a later version of it; so a bundle can be
    imported any number of times. If it turns out to be wrong, the documents before the wrong place stay, and the
    problem tells how many: `documents_added`, `documents_replaced`, `documents_unchanged`, `originals_added`.
    Only one import runs at a time.
    """
    if media_type_of(request.headers) != MEDIA_TYPE:
        raise UnsupportedFormat(f"Send a bundle, as {MEDIA_TYPE}.")
    next_piece = partial(_next_piece, engine, request.stream(), time.monotonic())
    work = partial(
        importing.import_bundle,
        engine.store,
        engine.originals,
        iter(lambda: from_thread.run(next_piece), b""),
        model=engine.embedder.model,
        max_file_bytes=engine.options.max_file_bytes,
        clock=engine.clock,
    )
    try:
        with _alone(request.app.state):
            # A thread of its own: it waits for the sender, and those that all requests share must not.
            imported = await to_thread.run_sync(work, limiter=CapacityLimiter(1))
    except KbError:
        await _read_to_its_end(next_piece)
        raise
    finally:
        # Some may have to be embedded anew.
        engine.wake_worker()
    return ImportAnswer.of(imported)


@contextmanager
def _alone(state: State) -> Iterator[None]:
    """One import at a time, since each may take as much memory as the largest member of a bundle.

    Only the loop that serves looks at the mark, so nobody can come between.
    """
    if getattr(state, "is_importing", False):
        raise TooManyRequests("Another bundle is being imported. Send this one when that is done.")
    state.is_importing = True
    try:
        yield
    finally:
        state.is_importing = False


async def _read_to_its_end(next_piece: Callable[[], Awaitable[bytes]]) -> None:
    """Whoever is still sending would not read the answer."""
    with suppress(Unavailable):
        while await next_piece():
            pass


async def _next_piece(engine: Engine, body: AsyncIterator[bytes], began: float) -> bytes:
    """Empty when there are no more, also because the sender has gone. Raises `Unavailable` if the program stops."""
    # In a task, since a body that was waited for with a timeout could not be read any further.
    arriving = asyncio.ensure_future(anext(body, b""))
    try:
        # A sender who falls silent is sent away by the server.
        while True:
            if engine.is_stopping() and time.monotonic() - began > LOOK_EVERY_SECONDS:
                raise Unavailable("The engine is stopping.")
            if (await asyncio.wait([arriving], timeout=LOOK_EVERY_SECONDS))[0]:
                return arriving.result()
    except ClientDisconnect:
        return b""
    finally:
        arriving.cancel()
        await asyncio.wait([arriving])
