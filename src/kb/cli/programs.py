"""Commands that are programs of their own: `up`, `engine`, `worker`. They run until they are told to stop."""

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.exits import Exit
from kb.version import VERSION

if TYPE_CHECKING:
    from kb.engine.wiring import EngineOptions
    from kb.settings import EngineSettings

log = logging.getLogger(__name__)

Host = Annotated[str | None, typer.Option("--host", help="The address to listen on (KB_HOST).")]
Port = Annotated[int | None, typer.Option("--port", help="The port to listen on (KB_PORT); 0 for any that is free.")]
DataDir = Annotated[Path | None, typer.Option("--data-dir", help="Where documents are kept (KB_DATA_DIR).")]


def up(*, host: Host = None, port: Port = None, data_dir: DataDir = None) -> None:
    """Start everything, for one person on one machine. Ctrl-C stops it."""
    from kb.cli import render

    _serve(host, port, data_dir, on_listening=render.show_running)


def engine(*, host: Host = None, port: Port = None, data_dir: DataDir = None) -> None:
    """Start the engine alone: the HTTP API with its worker."""
    _serve(host, port, data_dir, on_listening=lambda url, settings: None)


def worker(*, data_dir: DataDir = None) -> None:
    """Start one more worker on the engine's data directory."""
    stopping, woken = threading.Event(), threading.Event()

    def stop(*_: object) -> None:
        stopping.set()
        woken.set()

    with ending_plainly():
        settings = _load_settings(None, None, data_dir)
        from kb.engine.processes.worker_process import run_worker

        options = _engine_options(settings)
        for name in (signal.SIGINT, signal.SIGTERM):
            signal.signal(name, stop)
        _log_to_stderr("worker")
        log.info("kb worker %s, data in %s", VERSION, settings.data_dir)
        run_worker(options, stopping, woken)


def _serve(
    host: str | None,
    port: int | None,
    data_dir: Path | None,
    *,
    on_listening: "Callable[[str, EngineSettings], None]",
) -> None:
    with ending_plainly():
        settings = _load_settings(host, port, data_dir)
        settings.refuse_public_without_key()
        from kb.engine.api.guard import Access
        from kb.engine.processes.engine_process import serve_engine

        # As Ctrl-C does, so that a stopped container finishes what is under way too.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        _log_to_stderr("engine")
        access = Access(
            api_key=settings.api_key.get_secret_value(),
            api_key_readonly=settings.api_key_readonly.get_secret_value(),
            hosts=settings.accepted_hosts,
            origins=settings.accepted_origins,
            max_file_bytes=settings.max_file_bytes,
        )
        serve_engine(
            _engine_options(settings),
            access,
            host=settings.host,
            port=settings.port,
            on_listening=lambda url: on_listening(url, settings),
        )


def _load_settings(host: str | None, port: int | None, data_dir: Path | None) -> "EngineSettings":
    from kb.cli import render
    from kb.settings import SettingsError, load_engine_settings, warnings

    for warning in warnings():
        render.complain(warning)
    settings = load_engine_settings({"host": host, "port": port, "data_dir": data_dir})
    try:
        settings.data_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(render.unusable_data_dir(error)) from error
    return settings


def _log_to_stderr(program: str) -> None:
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s {program:<7} %(levelname)s %(message)s")
    # It would say again, in its own words, what the engine says.
    logging.getLogger("uvicorn").setLevel(logging.WARNING)


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
    )


@contextmanager
def ending_plainly() -> Iterator[None]:
    """What a person can put right ends the program with a sentence; Ctrl-C ends it without one."""
    from kb.cli import render
    from kb.engine.errors import KbError
    from kb.settings import SettingsError

    try:
        yield
    except KeyboardInterrupt:
        return
    except (SettingsError, KbError) as error:
        render.complain(str(error))
        raise typer.Exit(Exit.FAILED) from None
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "kb":
            raise
        render.complain(render.ENGINE_NOT_INSTALLED)
        raise typer.Exit(Exit.FAILED) from None
