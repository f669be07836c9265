"""The engine as a process: one socket, the HTTP API on it, and a worker beside it."""

import logging
import socket
from collections.abc import Callable
from dataclasses import replace

import uvicorn

from kb.engine.api.app import create_app
from kb.engine.api.guard import Access
from kb.engine.errors import Unavailable
from kb.engine.processes.worker_process import WorkerProcess
from kb.engine.wiring import EngineOptions, open_engine
from kb.version import VERSION

log = logging.getLogger(__name__)

SHUTDOWN_WITHIN_SECONDS = 10
BACKLOG = 2048


def serve_engine(
    options: EngineOptions, access: Access, *, host: str, port: int, on_listening: Callable[[str], None]
) -> None:
    """Serve until told to stop (SIGINT, SIGTERM), then finish what is under way. `on_listening` gets the URL.

    Raises `Unavailable`, before anything is changed, if the port or the data directory is taken.
    """
    with _listen(host, port) as listener, open_engine(options) as engine:
        url = _url_of(listener)
        log.info("kb engine %s on %s, data in %s", VERSION, url, options.data_dir)
        worker = WorkerProcess(options)
        try:
            app = create_app(
                replace(
                    engine,
                    wake_worker=worker.wake,
                    list_issues=lambda: [] if worker.is_alive else ["The worker is not running."],
                ),
                access,
            )
            server = uvicorn.Server(
                uvicorn.Config(
                    app,
                    log_config=None,
                    access_log=False,
                    log_level="warning",
                    server_header=False,
                    lifespan="off",
                    timeout_graceful_shutdown=SHUTDOWN_WITHIN_SECONDS,
                )
            )
            on_listening(url)
            server.run(sockets=[listener])
        finally:
            worker.stop()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        # From here on clients can connect; they are answered as soon as the routes are there.
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise Unavailable(
            f"Cannot listen on {host} port {port}: {error.strerror}. Stop what uses it, or choose another KB_PORT."
        ) from error
    return listener


def _url_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
