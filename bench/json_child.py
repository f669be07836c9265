"""A child process that is asked by lines of JSON, and answers each by one."""

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


class JsonChild:
    def __init__(self, module: str, process: "subprocess.Popen[str]") -> None:
        self._module = module
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, question: object) -> Any:  # Any: a value of JSON
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"{self._module} has ended; what it said stands above."
        return json.loads(line)


@contextmanager
def start_json_child(python: Path, module: str, *arguments: str, environment: Mapping[str, str]) -> Iterator[JsonChild]:
    with subprocess.Popen(
        [str(python), "-m", module, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=environment,
    ) as process:
        try:
            yield JsonChild(module, process)
        finally:
            assert process.stdin is not None
            # It closes what it has open and ends when nothing more can come.
            process.stdin.close()
