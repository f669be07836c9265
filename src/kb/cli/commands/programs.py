"""Commands that are programs of their own: `up`, `engine`, `mcp`, `worker`. They run until they are told to stop."""

import logging
import os
import signal
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.ending import ending_plainly, until_interrupted
from kb.cli.options import EngineUrl
from kb.logs import log_to_stderr
from kb.version import VERSION

if TYPE_CHECKING:
    from kb.engine.wiring import Bucket, EngineOptions
    from kb.mcp.app import McpOptions
    from kb.settings import EngineSettings, McpSettings

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
DataDir = Annotated[Path | None, typer.Option("--data-dir", help="Where documents are kept (KB_DATA_DIR).")]


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

    with until_interrupted(), ending_plainly(), ExitStack() as opened:
        settings = _load_engine_settings({"host": host, "port": port, "data_dir": data_dir, "device": device})
        settings.refuse_public_without_key()
        if find_spec("mcp") is None:

            def tell_that_it_is_alone(url: str) -> None:
                complain(f"{not_installed('mcp')} The engine runs alone.")
                show_running(settings, url, None)
                tell_when_ready(f"{reachable(url)}/health/live")

            _serve_engine(settings, on_listening=tell_that_it_is_alone)
            return
        from kb.listening import listen, url_of
        from kb.mcp.process import start_mcp

        mcp_settings = _load_mcp_settings({"mcp_port": mcp_port})
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
            options = _mcp_options(mcp_settings, reachable(engine_url))
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
    with until_interrupted(), ending_plainly():
        settings = _load_engine_settings({"host": host, "port": port, "data_dir": data_dir, "device": device})
        settings.refuse_public_without_key()
        _serve_engine(settings, has_worker=not no_worker, on_listening=lambda url: None)


def mcp(*, host: McpHost = None, port: McpPort = None, engine_url: EngineUrl = None) -> None:
    """Start the MCP server alone, for an engine that runs elsewhere.

    $ kb mcp --engine-url http://kb.example:8000
    """
    with until_interrupted(), ending_plainly("mcp"):
        _warn()
        settings = _load_mcp_settings({"mcp_host": host, "mcp_port": port, "engine_url": engine_url})
        from kb.listening import listen
        from kb.mcp.process import serve_mcp

        log_to_stderr("mcp", settings.log_format)
        with listen(settings.mcp_host, settings.mcp_port, "KB_MCP_PORT") as listener:
            serve_mcp(_mcp_options(settings, settings.engine_url), listener)


def worker(*, data_dir: DataDir = None, device: Device = None, concurrency: Concurrency = 1) -> None:
    """Start one more worker, beside the engine or on another machine.

    $ kb worker --data-dir /srv/kb
    $ kb worker --concurrency 4

    On another machine it needs the engine's KB_STORE_URL and KB_ORIGINALS_URL.
    """
    with until_interrupted(), ending_plainly():
        settings = _load_engine_settings({"data_dir": data_dir, "device": device})
        from kb.engine.processes.worker_process import Nudges, run_worker

        stopping, nudges = threading.Event(), Nudges()

        def stop(*_: object) -> None:
            stopping.set()
            nudges.wake_all()

        options = replace(_engine_options(settings), concurrency=concurrency)
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
    from kb.engine.api.guard import Access
    from kb.engine.processes.engine_process import serve_engine
    from kb.settings import every_key

    # As Ctrl-C does, so that a stopped container finishes what is under way too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    log_to_stderr("engine", settings.log_format)
    access = Access(
        writing_keys=every_key(settings.api_key),
        reading_keys=every_key(settings.api_key_readonly),
        hosts=(*settings.accepted_hosts, *filter(None, [also_called])),
        origins=settings.accepted_origins,
        max_file_bytes=settings.max_file_bytes,
    )
    serve_engine(
        _engine_options(settings),
        access,
        host=settings.host,
        port=settings.port,
        has_worker=has_worker,
        on_listening=on_listening,
    )


def _load_engine_settings(flags: Mapping[str, object]) -> "EngineSettings":
    from kb.cli.render.programs import unusable_data_dir
    from kb.settings import SettingsError, load_engine_settings

    _warn()
    settings = load_engine_settings(flags)
    # What is kept is nobody else's to read, even in a folder that somebody has made otherwise.
    os.umask(0o077)
    try:
        settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(unusable_data_dir(error)) from error
    return settings


def _load_mcp_settings(flags: Mapping[str, object]) -> "McpSettings":
    from kb.settings import load_mcp_settings

    settings = load_mcp_settings(flags)
    settings.refuse_public_without_key()
    return settings


def _warn() -> None:
    from kb.cli.render.terminal import complain
    from kb.settings import warnings

    for warning in warnings():
        complain(warning)


def _engine_options(settings: "EngineSettings") -> "EngineOptions":
    from kb.engine.wiring import EngineOptions, model_locations
    from kb.settings import cache_dir, model_folder

    cache = cache_dir()
    folder, graphs = model_locations(cache, model_folder(settings.embedding_model, cache))
    return EngineOptions(
        data_dir=settings.data_dir,
        model_folder=folder,
        graph_dir=graphs,
        max_file_bytes=settings.max_file_bytes,
        store_url=settings.store_url.get_secret_value(),
        bucket=_bucket(settings),
        log_format=settings.log_format,
        device=settings.device,
    )


def _bucket(settings: "EngineSettings") -> "Bucket | None":
    from kb.engine.wiring import Bucket

    if not settings.originals_url:
        return None
    return Bucket(
        url=settings.originals_url,
        endpoint=settings.s3_endpoint or None,
        region=settings.s3_region,
        access_key=settings.s3_access_key.get_secret_value(),
        secret_key=settings.s3_secret_key.get_secret_value(),
    )


def _mcp_options(settings: "McpSettings", engine_url: str) -> "McpOptions":
    from kb.access import Access
    from kb.mcp.app import McpOptions
    from kb.settings import every_key, present_key

    access = Access(
        writing_keys=every_key(settings.mcp_api_key),
        reading_keys=every_key(settings.mcp_api_key_readonly),
        hosts=settings.accepted_hosts,
        origins=settings.accepted_origins,
    )
    return McpOptions(
        engine_url=engine_url,
        engine_key=present_key(settings.api_key),
        toolsets=settings.mcp_toolsets,
        collections=settings.mcp_collections,
        upload_ttl_seconds=settings.mcp_upload_ttl_seconds,
        file_roots=settings.mcp_file_roots,
        access=access,
        log_format=settings.log_format,
    )
