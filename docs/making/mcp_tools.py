"""The reference page of the MCP server: every tool of every toolset, as agents are told of it."""

import json
from collections.abc import Iterator, Mapping

from kb.mcp.prompts import PROMPTS
from kb.mcp.tools import Effect, Schema, Tool
from kb.mcp.toolsets.collections import collection_tools
from kb.mcp.toolsets.kb import KB_TOOLS
from kb.mcp.toolsets.knowledge.tools import KNOWLEDGE_TOOLS
from kb.settings import McpSettings

_HEAD = """\
# MCP tools

<!-- Made by `make docs` from src/kb/mcp/toolsets: change it there. -->

`KB_MCP_TOOLSETS` says which toolsets are offered. All of them are at `/mcp`, by Streamable HTTP and by WebSocket;
those of one toolset are at `/mcp/<toolset>`. The protocol's revisions 2025-06-18, 2025-11-25 and 2026-07-28 are
spoken, and a plain `tools/call` by POST needs neither handshake nor session.

An answer is a JSON object, as structured content and as text. One that would be long is cut at about 10,000 tokens and
says so: `truncated`, `next_offset` and, in words, `continue_with`. A tool that fails answers with `isError` and
`{"success": false, "error": "<code>", "message": "<what to do>"}`. A fault of the protocol is a JSON-RPC error with
`data.error_type`.

While the engine's key lets this server only read, tools that change something are not listed; clients are told when
that changes (`notifications/tools/list_changed`).

## Progress and cancellation

A call that waits for a document (`kb_addnote` with `wait`, `knowledge-add` with `async` false, `knowledge-task-status`
with `wait`) tells how far it is if the request carries a `progressToken`: `progress` rises to a `total` of 1.0, and
`message` names the page it is at. It then waits as long as it takes; without a token it waits 50 seconds at most, and
answers with the id to ask for later.

A `knowledge-add` that is cancelled before its document is there leaves neither document nor file: by
`notifications/cancelled`, in the newest protocol by closing the response's stream, or by the end of the session or the
WebSocket. A lost HTTP connection alone cancels nothing in the protocols of 2025. Whoever knows a task's id ends it by
the method `tools/cancel` with `{"taskId": "<task_id>"}`, which answers `{"taskId", "status"}`, or nothing if it is sent
without an id; a task that has ended stays as it is, and an unknown one is -32602.
"""
_RESOURCES = """
## Resources

Every document is a resource, `kb://documents/{id}`; the list has the most recent first. What is read is its text, a
long one in parts: the last line of each names the address of the next.
"""
# A bound that exists only because numbers in a database have one.
HUGE = 2**53
_EFFECTS = {Effect.READS: "Reads.", Effect.ADDS: "Adds.", Effect.CHANGES: "Changes or deletes."}


def render_mcp_tools() -> str:
    return _HEAD + "".join(_render_toolsets())


def _render_toolsets() -> Iterator[str]:
    yield "\n## Toolset `kb`\n"
    for tool in KB_TOOLS:
        yield from _render_tool(tool)
    yield "\n## Toolset `kb-collections`\n\n"
    yield "The same tools, in which every document is in at most one collection. What differs:\n"
    same = {tool.name: tool for tool in KB_TOOLS}
    for tool in collection_tools(McpSettings.model_fields["mcp_collections"].default):
        if tool.name not in same or tool.description != same[tool.name].description:
            yield from _render_tool(tool, same.get(tool.name))
    yield "\n## Toolset `knowledge`\n\n"
    yield "Documents, chunks and tasks are named by their UUIDs, and every answer has `success`. A task is a job.\n"
    for tool in KNOWLEDGE_TOOLS:
        yield from _render_tool(tool)
    yield _RESOURCES
    yield "\n## Prompts\n\n"
    for prompt in PROMPTS:
        yield f"- `{prompt.name}`: {prompt.description}\n"


def _render_tool(tool: Tool, same: Tool | None = None) -> Iterator[str]:
    known = same.parameters if same else {}
    told = tool.description.removeprefix(same.description).strip() if same else tool.description
    effect = "" if same else f" *{_EFFECTS[tool.effect]}*"
    yield f"\n### `{tool.name}`\n\n{told}{effect}\n"
    rows = {name: schema for name, schema in tool.parameters.items() if known.get(name) != schema}
    if rows:
        yield "\n| parameter | type | meaning |\n|---|---|---|\n"
        yield from _render_rows(rows, tool.required)
    if same is None:
        fields = ", ".join(f"`{name}`" for name in tool.answers)
        yield f"\nAn answer may hold {fields}.\n"


def _render_rows(schemas: Mapping[str, Schema], required: tuple[str, ...], place: str = "") -> Iterator[str]:
    for name, schema in schemas.items():
        needed = " (needed)" if name in required else ""
        yield f"| `{place}{name}`{needed} | {_render_type(schema)} | {schema.get('description', '')} |\n"
        yield from _render_rows(schema.get("properties", {}), (), f"{place}{name}.")


def _render_type(schema: Schema) -> str:
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    limits = [f"{word} {schema[key]:,}" for key, word in _LIMITS.items() if schema.get(key, HUGE) < HUGE]
    values = [", ".join(f"`{value}`" for value in schema["enum"])] if "enum" in schema else []
    default = [f"default `{json.dumps(schema['default'])}`"] if "default" in schema else []
    return "; ".join([" or ".join(kinds), *values, *limits, *default])


_LIMITS = {"minimum": "from", "maximum": "to", "maxLength": "characters up to", "maxItems": "items up to"}
