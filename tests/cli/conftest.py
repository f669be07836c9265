from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.cli.scripted_engine import Answer, scripted_engine
from tests.engine_program import EngineAlone, EngineProgram
from typer.testing import CliRunner, Result

from kb.cli import probing
from kb.cli.main import app
from kb.cli.unknown_names import warn_once

Kb = Callable[..., Result]
Sync = Callable[..., Result]
Pretend = Callable[[int, bytes], str]


@pytest.fixture
def kb(running_engine: EngineProgram, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kb:
    """Runs a command in this process, against the engine in its own: `kb("get", "7")`."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("KB_API_KEY", raising=False)
    # A person would not wait so long; a busy machine may need it.
    monkeypatch.setattr(probing, "ANSWER_WITHIN_SECONDS", 60.0)

    def run(*arguments: str, stdin: str | bytes | None = None, **settings: str) -> Result:
        environment = {"KB_ENGINE_URL": running_engine.url, **settings}
        # As in a process of its own.
        warn_once.cache_clear()
        return CliRunner().invoke(app, arguments, input=stdin, env=environment, catch_exceptions=False)

    return run


@pytest.fixture(scope="session")
def locked_engine(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineProgram]:
    """An engine that wants a key."""
    keys = {"KB_API_KEY": "secret", "KB_API_KEY_READONLY": "reader"}
    with EngineAlone(tmp_path_factory.mktemp("locked"), keys).running() as program:
        yield program


@pytest.fixture(scope="session")
def spare_engine(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineProgram]:
    """An engine that may be emptied, damaged and stopped; whoever stops it starts it again.

    No file of tests may count on what another has left in it.
    """
    with EngineAlone(tmp_path_factory.mktemp("spare")).running() as program:
        yield program


@pytest.fixture
def pretend() -> Iterator[Pretend]:
    """Starts a server that does not call itself an engine and always gives the same answer; answers its URL."""
    with ExitStack() as servers:

        def start(status: int, body: bytes) -> str:
            return servers.enter_context(scripted_engine(lambda *request: (status, body, {"Server": "unknown"})))

        yield start


@pytest.fixture
def busy_engine() -> Iterator[str]:
    """A server that says twice that its queue is full before it takes each of two jobs: its URL."""
    full: Answer = (429, {"code": "too_many_requests", "detail": "Full."}, {"Retry-After": "0"})
    taken: list[Answer] = [(202, {"id": job_id, "status": "queued", "document_id": None}) for job_id in (7, 8)]
    answers = [full, full, taken[0], full, full, taken[1]]

    def answer(method: str, path: str, headers: Mapping[str, str]) -> Answer:
        return (200, {}) if method == "GET" else answers.pop(0)

    with scripted_engine(answer) as url:
        yield url


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty one, beside nothing."""
    made = tmp_path / "folder"
    made.mkdir()
    return made


@pytest.fixture
def sync(kb: Kb, folder: Path, tmp_path: Path) -> Sync:
    """Runs `kb sync` on the folder, with a cache of its own."""

    def run(*arguments: str) -> Result:
        return kb("sync", str(folder), *arguments, XDG_CACHE_HOME=str(tmp_path / "cache"))

    return run
