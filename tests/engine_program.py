"""The engine as users run it: `kb up` in a process of its own, and `kb` commands beside it."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Self

import httpx

SOURCES = Path(__file__).parents[1] / "src"
READY_WITHIN_SECONDS = 60
STOP_WITHIN_SECONDS = 30
COMMAND_WITHIN_SECONDS = 120


def kb_command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "kb.cli.main", *arguments]


def own_environment(folder: Path, settings: Mapping[str, str] = {}) -> dict[str, str]:
    """The environment less whatever of kb's the developer has set; the fetched model stays where it is."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("KB_")}
    path = os.pathsep.join([str(SOURCES), *filter(None, [inherited.get("PYTHONPATH")])])
    return {**inherited, "PYTHONPATH": path, "XDG_CONFIG_HOME": str(folder / "config"), **settings}


def run_kb(folder: Path, *arguments: str, settings: Mapping[str, str] = {}) -> subprocess.CompletedProcess[str]:
    """A command beside no engine, in an environment of its own."""
    return _run_to_its_end(arguments, own_environment(folder, settings))


class EngineProgram:
    """Keeps its ports and its data directory over restarts. Its log is in the file `log`. The benchmarks use it too."""

    process: subprocess.Popen[str]
    url: str
    mcp_url: str
    """Without the path."""
    ready_after_seconds: float
    """The engine, from the start of the process."""
    ready_within_seconds = READY_WITHIN_SECONDS

    def __init__(self, folder: Path, settings: Mapping[str, str] = {}, *, data_dir: Path | None = None) -> None:
        self.data_dir = data_dir or folder / "data"
        self.log = folder / "engine.log"
        self._environment = own_environment(folder, settings)
        self._port = "0"
        self._mcp_port = "0"

    @property
    def client_settings(self) -> dict[str, str]:
        """What the commands beside it are to be told; its ports are known once it was started."""
        port = self.mcp_url.rpartition(":")[2]
        return {"KB_ENGINE_URL": self.url, "KB_MCP_PORT": port, "KB_DATA_DIR": str(self.data_dir)}

    def start(self) -> None:
        started_at = time.monotonic()
        self._start()
        self._port, self._mcp_port = (url.rpartition(":")[2] for url in (self.url, self.mcp_url))
        self._wait_until_it_answers(f"{self.url}/health/ready")
        self.ready_after_seconds = time.monotonic() - started_at
        self._wait_for_mcp_server()

    @contextmanager
    def running(self) -> Iterator[Self]:
        """Stopped in the end, if it has not ended by then."""
        try:
            self.start()
            yield self
        finally:
            self.stop()

    def stop(self) -> int:
        """As Ctrl-C or a container's end does it; answers the exit code."""
        self.process.terminate()
        return self.wait()

    def kill(self) -> None:
        self.process.kill()
        self.wait()

    def restart(self) -> None:
        self.stop()
        self.start()

    def wait(self) -> int:
        code = self.process.wait(STOP_WITHIN_SECONDS)
        if self.process.stdout is not None:
            self.process.stdout.close()
        return code

    def run_kb(
        self, *arguments: str, stdin: int | IO[str] = subprocess.DEVNULL, settings: Mapping[str, str] = {}
    ) -> subprocess.CompletedProcess[str]:
        return _run_to_its_end(arguments, {**self._environment, **self.client_settings, **settings}, stdin)

    def _start(self) -> None:
        self._run("up", "--port", self._port, "--mcp-port", self._mcp_port)
        self.url = self._read_url(r"(http://\S+)/api/v1")
        self.mcp_url = self._read_url(r"(http://\S+)/mcp")

    def _run(self, *arguments: str) -> None:
        command = kb_command(*arguments, "--data-dir", str(self.data_dir))
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                command, env=self._environment, stdout=subprocess.PIPE, stderr=log, text=True
            )

    def _read_url(self, pattern: str) -> str:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if found := re.search(pattern, line):
                return found[1]
        self.wait()
        raise AssertionError(f"The engine did not start:\n{self.log.read_text()}")

    def _wait_for_mcp_server(self) -> None:
        self._wait_until_it_answers(f"{self.mcp_url}/health")

    def _wait_until_it_answers(self, url: str) -> None:
        deadline = time.monotonic() + self.ready_within_seconds
        with httpx.Client(trust_env=False) as http:
            while not _is_success(http, url):
                assert time.monotonic() < deadline, f"Nothing good from {url}:\n{self.log.read_text()}"
                time.sleep(0.02)


class EngineAlone(EngineProgram):
    """`kb engine`, for tests that need no MCP server: it takes as long to start as all the rest."""

    mcp_url = "http://127.0.0.1:9"
    """Nobody is there."""

    def _start(self) -> None:
        self.log.touch()
        with self.log.open() as log:
            log.seek(0, os.SEEK_END)
            self._run("engine", "--port", self._port)
            while self.process.poll() is None:
                if found := re.search(r" on (http://\S+), data in ", log.readline()):
                    self.url = found[1]
                    return
        raise AssertionError(f"The engine did not start:\n{self.log.read_text()}")

    def _wait_for_mcp_server(self) -> None:
        """There is none."""


def _run_to_its_end(
    arguments: Sequence[str], environment: Mapping[str, str], stdin: int | IO[str] = subprocess.DEVNULL
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        kb_command(*arguments),
        env=environment,
        stdin=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=COMMAND_WITHIN_SECONDS,
    )


def _is_success(http: httpx.Client, url: str) -> bool:
    try:
        return http.get(url).is_success
    except httpx.TransportError:
        return False
