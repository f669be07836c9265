import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings
from tests.amounts import SEED, Tell
from tests.engine_program import EngineProgram
from tests.needs import need_installed, need_right
from tests.servers.seaweedfs import SeaweedFs, running_seaweedfs

from kb.engine.embedding import fetch_bundled_model, open_embedder
from kb.engine.originals import Bucket
from kb.engine.ports import Embedder

# What is in there has an environment of its own: `make test-gpu`.
collect_ignore = [] if find_spec("torch") else ["gpu"]

COUNTED = "counted"
"""The property under which a test records a line about what it has counted."""


def pytest_configure() -> None:
    # A shell has what it runs in the background ignore Ctrl-C, and the programs that the tests start would too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # An example may take any time: other tests run beside it.
    settings.register_profile("patient", settings(), deadline=None)
    settings.load_profile("patient")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What tests have counted. They cannot print it: what is printed by tests that run side by side is lost."""
    reports = [*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")]
    for line in [value for report in reports for name, value in report.user_properties if name == COUNTED]:
        terminalreporter.write_line(f"  {line}")


@pytest.fixture
def tell(record_property: Callable[[str, object], None]) -> Tell:
    """Say in one line what a test has counted; it is shown after all tests."""
    return lambda counted: record_property(COUNTED, f"{counted}; seed {SEED}")


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
    # Set by `tests/scale/test_scenarios.py`, which has some of them run on another store.
    settings = {"KB_STORE_URL": os.environ.get("TEST_STORE_URL", "")}
    with EngineProgram(tmp_path_factory.mktemp("engine"), settings).running() as program:
        yield program


@pytest.fixture(scope="session")
def strace() -> None:
    need_installed("strace", is_there=shutil.which("strace") is not None)
    tracing = subprocess.run(["strace", "-o", os.devnull, "true"], capture_output=True, check=False)
    need_right(tracing.returncode == 0, "no process may be traced here")


@pytest.fixture(scope="session")
def seaweedfs() -> Iterator[SeaweedFs]:
    """An S3 server, started once for all tests that need one; whoever stops it starts it again."""
    with running_seaweedfs() as server:
        yield server


@pytest.fixture
def bucket(seaweedfs: SeaweedFs) -> Bucket:
    return seaweedfs.new_place()
