"""Documents as resources of the protocol: a list, newest first, and the text of each."""

from mcp.types import ListResourcesResult, ListResourceTemplatesResult, ReadResourceResult

from kb.client import EngineClient


async def list_resources(engine: EngineClient, cursor: str | None) -> ListResourcesResult:
    """A page of documents, most recent first."""
    raise NotImplementedError


def list_templates() -> ListResourceTemplatesResult:
    raise NotImplementedError


async def read_resource(engine: EngineClient, uri: str) -> ReadResourceResult:
    """The text of a document."""
    raise NotImplementedError
