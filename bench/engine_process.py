"""The engine as users run it, `kb engine` in a process of its own, on a base that is already there."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil
from tests.engine_program import EngineAlone

# Of a large base, much is read first.
READY_WITHIN_SECONDS = 120
ANSWER_WITHIN_SECONDS = 60


@contextmanager
def start_engine(data_dir: Path, *, store_url: str = "") -> Iterator[tuple[httpx.Client, psutil.Process]]:
    """Once it is ready; it stops afterwards. Whatever the user has configured does not reach it."""
    with tempfile.TemporaryDirectory() as folder:
        engine = EngineAlone(Path(folder), {"KB_STORE_URL": store_url}, data_dir=data_dir)
        engine.ready_within_seconds = READY_WITHIN_SECONDS
        with (
            engine.running(),
            httpx.Client(base_url=engine.url, trust_env=False, timeout=ANSWER_WITHIN_SECONDS) as client,
        ):
            yield client, psutil.Process(engine.process.pid)
