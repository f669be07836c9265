"""The engine as a process: one socket, the HTTP API on it, and as a rule a worker beside it."""

import logging
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

import uvicorn

from kb.access import Access
from kb.engine.api.app import create_app
from kb.engine.api.unread import render_unread
from kb.engine.processes.memory import share_memory_among_threads
from kb.engine.processes.worker_process import start_worker
from kb.engine.wiring import EngineOptions, open_engine
from kb.listening import listen, url_of
from kb.serving import allow_connections, configure_server
from kb.version import VERSION

log = logging.getLogger(__name__)

SHUTDOWN_WITHIN_SECONDS = 10


def serve_engine(
    options: EngineOptions,
    access: Access,
    *,
    host: str,
    port: int,
    has_worker: bool,
    on_listening: Callable[[str], None],
) -> None:
    """Serve until told to stop (SIGINT, SIGTERM), then finish what is under way. `on_listening` gets the URL.

    Before anything is changed, raises `CannotStart` if the port and `Conflict` if the data directory is taken.
    """
    share_memory_among_threads()
    with ExitStack() as opened:
        listener = opened.enter_context(listen(host, port, "KB_PORT"))
        url = url_of(listener)
        log.info("kb engine %s on %s, data in %s", VERSION, url, options.place)
        engine = opened.enter_context(open_engine(options))
        engine = replace(engine, is_stopping=lambda: server.should_exit)
        if has_worker:
            worker = start_worker(options)
            opened.callback(worker.stop)
            engine = replace(
                engine,
                wake_worker=worker.nudge,
                list_issues=lambda: [] if worker.is_alive else ["The worker is not running."],
            )
        server = uvicorn.Server(
            configure_server(
                create_app(engine, access),
                render=render_unread,
                limits=allow_connections(),
                shutdown_within_seconds=SHUTDOWN_WITHIN_SECONDS,
            )
        )
        on_listening(url)
        server.run(sockets=[listener])
