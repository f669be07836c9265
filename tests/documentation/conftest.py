import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from tests.documentation.pages import ROOT, Step
from tests.servers.ports import find_free_ports

READY_WITHIN_SECONDS = 120
ENDED = "-- that was step"


class Reader:
    """Somebody with a home of their own who types what a page says: one terminal for kb, and one for all the rest."""

    def __init__(self, home: Path, cache_dir: Path) -> None:
        self._home = home
        engine_port, mcp_port = map(str, find_free_ports(2))
        # The pages name the usual ports, where something else may be listening on the machine of a test.
        self._ports = {"8000": engine_port, "3000": mcp_port}
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("KB_", "XDG_", "MAKE"))}
        self._environment = {
            **inherited,
            "HOME": str(home),
            "XDG_CACHE_HOME": str(self._make_cache(cache_dir)),
            "KB_PORT": engine_port,
            "KB_MCP_PORT": mcp_port,
            "KB_ENGINE_URL": f"http://127.0.0.1:{engine_port}",
        }

    def start(self, command: str, stopping: ExitStack) -> str:
        """Have kb run in the first terminal, and answer what it said; it is stopped with the others."""
        log = self._home / "first-terminal.log"
        with log.open("w") as output:
            process = subprocess.Popen(
                ["sh", "-c", f"exec {command}"],
                cwd=ROOT,
                env=self._environment,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        stopping.callback(process.wait, 30)
        stopping.callback(process.terminate)
        deadline = time.monotonic() + READY_WITHIN_SECONDS
        with httpx.Client(trust_env=False) as http:
            while not self._is_ready(http):
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.1)
        return self._as_on_the_page(log.read_text())

    def run(self, steps: list[Step]) -> list[str]:
        """Type them into the second terminal, one after another, and answer what each has written there."""
        script = "".join(f"{self._with_own_ports(step.commands)}\necho '{ENDED}'\n" for step in steps)
        result = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", f"exec 2>&1\n{script}"],
            # A folder of the reader's own, but with all that the project's has.
            cwd=self._make_folder(),
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        written = self._as_on_the_page(result.stdout)
        assert result.returncode == 0, written
        return written.split(ENDED)[:-1]

    def _make_cache(self, cache_dir: Path) -> Path:
        """With the model in it, and nothing else of whoever runs the tests."""
        cache = self._home / ".cache"
        (cache / "kb").mkdir(parents=True)
        for name in ("models", "graphs"):
            (cache / "kb" / name).symlink_to(cache_dir / name)
        return cache

    def _make_folder(self) -> Path:
        folder = self._home / "kb"
        if not folder.exists():
            folder.mkdir()
            for name in (".venv", "docs", "README.md"):
                (folder / name).symlink_to(ROOT / name)
        return folder

    def _is_ready(self, http: httpx.Client) -> bool:
        urls = [f"{self._environment['KB_ENGINE_URL']}/health/ready", f"http://127.0.0.1:{self._ports['3000']}/health"]
        try:
            return all(http.get(url).is_success for url in urls)
        except httpx.TransportError:
            return False

    def _with_own_ports(self, commands: str) -> str:
        return re.sub(r"(?<=localhost:)(8000|3000)", lambda found: self._ports[found[1]], commands)

    def _as_on_the_page(self, written: str) -> str:
        for usual, own in self._ports.items():
            written = written.replace(f"127.0.0.1:{own}", f"127.0.0.1:{usual}")
        return written


@pytest.fixture
def reader(tmp_path: Path, cache_dir: Path, model_folder: Path) -> Reader:
    return Reader(tmp_path, cache_dir)


@pytest.fixture
def stopping() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened
