"""An engine without a program around it, and its API on a socket, both in the process of the tests."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import uvicorn
from tests.api_calls import MAX_FILE_BYTES, OPEN, V1
from tests.folders import open_folder

from kb.engine.api.app import create_app
from kb.engine.api.unread import render_unread
from kb.engine.originals import FolderOriginals
from kb.engine.ports import Embedder
from kb.engine.reserve import Reserve
from kb.engine.storage import open_store
from kb.engine.wiring import Engine, EngineOptions
from kb.listening import listen, url_of
from kb.serving import Limits, configure_server


@contextmanager
def open_engine_with(embedder: Embedder) -> Iterator[Engine]:
    """An engine on a folder of its own, with the model that all tests of the session share."""
    with open_folder() as name:
        folder = Path(name)
        store = open_store(folder, model_fingerprint=embedder.model.fingerprint)
        options = EngineOptions(folder, folder, folder, MAX_FILE_BYTES)
        try:
            engine = Engine(store, FolderOriginals(folder / "originals"), embedder, options, Reserve(folder))
            store.adopt_model(now=engine.clock())
            # A stream of events has to end here, since the test client waits for the whole of an answer.
            yield replace(engine, is_stopping=lambda: True)
        finally:
            store.close()


@contextmanager
def serving(engine: Engine) -> Iterator[tuple[httpx.Client, uvicorn.Server]]:
    """The API on a socket, as the program serves it."""
    with listen("127.0.0.1", 0, "KB_PORT") as listener:
        app = create_app(
            replace(engine, is_stopping=lambda: server.should_exit), replace(OPEN, hosts=(listener.getsockname()[0],))
        )
        config = configure_server(app, render=render_unread, limits=Limits(), shutdown_within_seconds=60)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        limits = httpx.Limits(max_connections=None)
        try:
            with httpx.Client(base_url=url_of(listener) + V1, trust_env=False, timeout=60, limits=limits) as http:
                yield http, server
        finally:
            server.should_exit = True
            thread.join()
