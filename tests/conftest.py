import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.engine_program import EngineProgram

from kb.engine.embedding import fetch_bundled_model, open_embedder
from kb.engine.ports import Embedder


def pytest_configure() -> None:
    # A shell has what it runs in the background ignore Ctrl-C, and the programs that the tests start would too.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def cache_dir() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "kb"


@pytest.fixture(scope="session")
def model_folder(cache_dir: Path) -> Path:
    return fetch_bundled_model(cache_dir)


@pytest.fixture(scope="session")
def embedder(model_folder: Path, cache_dir: Path) -> Embedder:
    return open_embedder(model_folder, cache_dir / "graphs", threads=2)


@pytest.fixture(scope="session")
def running_engine(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineProgram]:
    """`kb up`, started once for all tests that need a process; whoever kills it starts it again."""
    program = EngineProgram(tmp_path_factory.mktemp("engine"))
    program.start()
    yield program
    program.stop()
