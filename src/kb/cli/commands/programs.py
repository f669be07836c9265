"""Commands that are programs of their own: `up`, `engine`, `mcp`, `worker`. They run until they are told to stop."""

import logging
import signal
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.ending import ending_plainly, until_interrupted
from kb.cli.options import DataDir, EngineUrl
from kb.cli.program_options import load_for_engine, load_for_mcp, make_engine_options, make_mcp_options
from kb.hidden_memory import hide_memory
from kb.logs import log_to_stderr
from kb.version import VERSION

if TYPE_CHECKING:
    from kb.settings import EngineSettings

log = logging.getLogger(__name__)

# The MCP server of a `kb up` that was killed keeps their common port until it has noticed that it is alone.
MCP_SERVER_STOPS_WITHIN_SECONDS = 10.0

Host = Annotated[str | None, typer.Option("--host", help="The address to listen on (KB_HOST).")]
Port = Annotated[int | None, typer.Option("--port", help="The port to listen on (KB_PORT); 0 for any that is free.")]
McpHost = Annotated[str | None, typer.Option("--host", help="The address to listen on (KB_MCP_HOST).")]
McpPort = Annotated[
    int | None, typer.Option("--port", help="The port to listen on (KB_MCP_PORT); 0 for any that is free.")
]
McpPortBesides = Annotated[
    int | None,
    typer.Option("--mcp-port", min=0, max=65_535, help="The port of the MCP server (KB_MCP_PORT); 0 for any."),
]
NoWorker = Annotated[
    bool, typer.Option("--no-worker", help="Do no jobs here: workers do them, on this machine or others.")
]
Concurrency = Annotated[int, typer.Option("--concurrency", min=1, max=64, help="How many files to read at a time.")]
Device = Annotated[
    str | None,
    typer.Option("--device", metavar="auto|cpu|cuda|rocm", help="What the model computes on (KB_DEVICE)."),
]


def up(
    *,
    host: Host = None,
    port: Port = None,
    mcp_port: McpPortBesides = None,
    data_dir: DataDir = None,
    device: Device = None,
) -> None:
    """Start engine and MCP server, for one person on one machine.

    $ kb up
    $ kb up --port 8123 --data-dir /srv/kb

    Ctrl-C stops it.
    """
    from kb.cli.probing import reachable
    from kb.cli.render.programs import not_installed, show_running, waiting_for_port
    from kb.cli.render.terminal import complain
    from kb.cli.service.readiness import tell_when_ready

    hide_memory()
    with until_interrupted(), ending_plainly(), ExitStack() as opened:
        settings = load_for_engine({"host": host, "port": port, "data_dir": data_dir, "device": device})
        settings.refuse_public_without_key()
        if find_spec("mcp") is None:

            def tell_that_it_is_alone(url: str) -> None:
                complain(f"{not_installed('mcp')} The engine runs alone.")
                show_running(settings, url, None)
                tell_when_ready(f"{reachable(url)}/health/live")

            _serve_engine(settings, on_listening=tell_that_it_is_alone)
            return
        from kb.listening import listen, url_of
        from kb.mcp.mcp_process import start_mcp

        mcp_settings = load_for_mcp({"mcp_port": mcp_port})
        listener = opened.enter_context(
            listen(
                mcp_settings.mcp_host,
                mcp_settings.mcp_port,
                "KB_MCP_PORT",
                patience_seconds=MCP_SERVER_STOPS_WITHIN_SECONDS,
                on_wait=lambda: complain(waiting_for_port(mcp_settings.mcp_port)),
            )
        )

        def start_mcp_server(engine_url: str) -> None:
            options = make_mcp_options(mcp_settings, reachable(engine_url), data_dir=settings.data_dir)
            opened.callback(start_mcp(options, listener).stop)
            show_running(settings, engine_url, url_of(listener))
            tell_when_ready(f"{reachable(engine_url)}/health/live", f"{reachable(url_of(listener))}/health")

        _serve_engine(settings, on_listening=start_mcp_server, also_called="127.0.0.1")


def engine(
    *,
    host: Host = None,
    port: Port = None,
    data_dir: DataDir = None,
    device: Device = None,
    no_worker: NoWorker = False,
) -> None:
    """Start the engine alone: the HTTP API with its worker.

    $ kb engine
    $ kb engine --host 0.0.0.0 --port 8000
    $ kb engine --no-worker
    """
    hide_memory()
    with until_interrupted(), ending_plainly():
        settings = load_for_engine({"host": host, "port": port, "data_dir": data_dir, "device": device})
        settings.refuse_public_without_key()
        _serve_engine(settings, has_worker=not no_worker, on_listening=lambda url: None)


def mcp(*, host: McpHost = None, port: McpPort = None, engine_url: EngineUrl = None) -> None:
    """Start the MCP server alone, for an engine that runs elsewhere.

    $ kb mcp --engine-url http://kb.example:8000
    """
    hide_memory()
    with until_interrupted(), ending_plainly("mcp"):
        from kb.cli.unknown_names import warn_once

        warn_once()
        settings = load_for_mcp({"mcp_host": host, "mcp_port": port, "engine_url": engine_url})
        from kb.listening import listen
        from kb.mcp.mcp_process import serve_mcp

        log_to_stderr("mcp", settings.log_format)
        with listen(settings.mcp_host, settings.mcp_port, "KB_MCP_PORT") as listener:
            serve_mcp(make_mcp_options(settings, settings.engine_url), listener)


def worker(*, data_dir: DataDir = None, device: Device = None, concurrency: Concurrency = 1) -> None:
    """Start one more worker, beside the engine or on another machine.

    $ kb worker --data-dir /srv/kb
    $ kb worker --concurrency 4

    On another machine it needs the engine's KB_STORE_URL and KB_ORIGINALS_URL.
    """
    hide_memory()
    with until_interrupted(), ending_plainly():
        settings = load_for_engine({"data_dir": data_dir, "device": device})
        from kb.engine.processes.worker_process import Nudges, run_worker

        stopping, nudges = threading.Event(), Nudges()

        def stop(*_: object) -> None:
            stopping.set()
            nudges.wake_all()

        options = replace(make_engine_options(settings), concurrency=concurrency)
        for name in (signal.SIGINT, signal.SIGTERM):
            signal.signal(name, stop)
        log_to_stderr("worker", settings.log_format)
        log.info("kb worker %s, data in %s", VERSION, options.place)
        run_worker(options, stopping, nudges)


def _serve_engine(
    settings: "EngineSettings",
    *,
    on_listening: Callable[[str], None],
    has_worker: bool = True,
    also_called: str | None = None,
) -> None:
    from kb.access import Access
    from kb.engine.processes.engine_process import serve_engine
    from kb.settings import every_key

    # As Ctrl-C does, so that a stopped container finishes what is under way too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    log_to_stderr("engine", settings.log_format)
    access = Access(
        writing_keys=every_key(settings.api_key),
        reading_keys=every_key(settings.api_key_readonly),
        hosts=(*settings.accepted_hosts, *filter(None, [also_called])),
        origins=settings.allowed_origins,
    )
    serve_engine(
        make_engine_options(settings),
        access,
        host=settings.host,
        port=settings.port,
        has_worker=has_worker,
        on_listening=on_listening,
    )
