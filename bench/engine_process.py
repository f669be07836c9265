"""The engine as users run it, `kb engine` in a process of its own, on a base that is already there."""

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil

SOURCES = Path(__file__).parents[1] / "src"
READY_WITHIN_SECONDS = 120
ANSWER_WITHIN_SECONDS = 60


@contextmanager
def start_engine(data_dir: Path, *, store_url: str = "") -> Iterator[tuple[httpx.Client, psutil.Process]]:
    """Once it is ready; it stops afterwards. Whatever the user has configured does not reach it."""
    with tempfile.TemporaryDirectory() as folder:
        port, log_file = _find_free_port(), Path(folder, "log")
        command = [sys.executable, "-m", "kb.cli.main", "engine", "--data-dir", str(data_dir), "--port", str(port)]
        url = f"http://127.0.0.1:{port}"
        with (
            log_file.open("w") as log,
            subprocess.Popen(command, env=_unconfigured_environment(folder, store_url), stderr=log) as process,
            httpx.Client(base_url=url, trust_env=False, timeout=ANSWER_WITHIN_SECONDS) as client,
        ):
            try:
                deadline = time.monotonic() + READY_WITHIN_SECONDS
                while not is_ready(client):
                    is_hopeless = process.poll() is not None or time.monotonic() > deadline
                    assert not is_hopeless, f"The engine is not ready:\n{log_file.read_text()}"
                    time.sleep(0.02)
                yield client, psutil.Process(process.pid)
            finally:
                process.terminate()


def is_ready(client: httpx.Client) -> bool:
    try:
        return client.get("/health/ready").is_success
    except httpx.TransportError:
        return False


def _unconfigured_environment(config_home: str, store_url: str) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("KB_")}
    # The code beside this file, also where another copy of it is installed.
    path = os.pathsep.join([str(SOURCES), *filter(None, [inherited.get("PYTHONPATH")])])
    return {**inherited, "PYTHONPATH": path, "XDG_CONFIG_HOME": config_home, "KB_STORE_URL": store_url}


def _find_free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
