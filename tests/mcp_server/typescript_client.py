"""The client of the TypeScript SDK, line 1, in a process of Node.js."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any, Self

from tests.engine_program import COMMAND_WITHIN_SECONDS
from tests.node_tools import PACKAGES, node_command

from kb.client import Json

SCRIPT = Path(__file__).parent / "node" / "client.mjs"


class TypeScriptClient:
    """Each step is a method of the SDK's client."""

    def __init__(self, address: str, key: str = "") -> None:
        self._process = subprocess.Popen(
            node_command(SCRIPT, address, key),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "NODE_PATH": str(PACKAGES)},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        # The script ends with its input.
        self._process.communicate(timeout=COMMAND_WITHIN_SECONDS)

    def answer(self, step: str, *given: str | Json) -> Any:  # Any: a value of JSON
        outcome = self._take(step, given)
        assert "thrown" not in outcome, outcome
        return outcome["answer"]

    def thrown(self, step: str, *given: str | Json) -> Json:
        """The exception that the step throws."""
        outcome = self._take(step, given)
        assert "answer" not in outcome, outcome
        thrown: Json = outcome["thrown"]
        return thrown

    def call(self, tool: str, **arguments: object) -> Json:
        result: Json = self.answer("callTool", {"name": tool, "arguments": arguments})
        return result

    def _take(self, step: str, given: tuple[str | Json, ...]) -> Json:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([step, *given]) + "\n")
        self._process.stdin.flush()
        outcome: Json = json.loads(self._process.stdout.readline())
        return outcome
