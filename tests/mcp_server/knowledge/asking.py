"""A client of the toolset `knowledge` that holds every answer to what all answers promise."""

import json
from pathlib import Path

from jsonschema import validate
from tests.mcp_clients import RawClient

from kb.client import Json


class Knowledge(RawClient):
    def ask(self, tool: str, arguments: Json | None = None) -> Json:
        """The answer, whether the call succeeds or fails."""
        whole = self.request("tools/call", {"name": tool, "arguments": arguments or {}})
        assert "result" in whole, whole
        result = whole["result"]
        answer: Json = result["structuredContent"]
        assert [(content["type"], json.loads(content["text"])) for content in result["content"]] == [("text", answer)]
        assert answer["success"] in (True, False)
        assert result["isError"] is not answer["success"]
        # Some clients show the model nothing of an answer that does not fit its tool's schema, not even of an error.
        validate(answer, self.output_schemas[tool])
        return answer

    def add(self, path: Path, **options: object) -> Json:
        """A file, in one call that ends when it can be found."""
        return self.ask("knowledge-add", {"file_path": str(path), "async": False, **options})

    def search(self, query: str, **options: object) -> Json:
        return self.ask("knowledge-search", {"query": query, **options})

    def show(self, **options: object) -> Json:
        return self.ask("knowledge-show", options)
