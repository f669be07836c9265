"""The MCP server as users run it, `kb mcp` in a process of its own."""

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from tests.engine_program import STOP_WITHIN_SECONDS, kb_command, own_environment


class McpProgram:
    """Keeps its port over restarts. Its log is in the file `log`."""

    process: subprocess.Popen[str]
    url: str

    def __init__(self, folder: Path, engine_url: str, settings: Mapping[str, str] = {}) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / "mcp.log"
        self._environment = {**own_environment(folder, settings), "KB_ENGINE_URL": engine_url}
        self._port = "0"

    def start(self) -> None:
        with self.log.open("w") as log:
            command = kb_command("mcp", "--port", self._port)
            self.process = subprocess.Popen(command, env=self._environment, stderr=log, text=True)
        self.url = self._read_url()
        self._port = self.url.rpartition(":")[2]

    def stop(self) -> int:
        self.process.terminate()
        return self.process.wait(STOP_WITHIN_SECONDS)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(STOP_WITHIN_SECONDS)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self.process.poll() is None:
            self.stop()

    def _read_url(self) -> str:
        # Its first line; from then on clients are let in.
        with self.log.open() as log:
            while self.process.poll() is None:
                if found := re.search(r"on (http://\S+)/mcp,", log.readline()):
                    return found[1]
        raise AssertionError(f"The MCP server did not start:\n{self.log.read_text()}")
