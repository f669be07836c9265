"""The toolset `knowledge`."""

from kb.mcp.tools import Tool

KNOWLEDGE_TOOLS: tuple[Tool, ...] = ()
