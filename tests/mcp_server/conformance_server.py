"""The server's real transport, with the tools, prompts and resources that the conformance suite asks for.

`python -m tests.mcp_server.conformance_server` prints its address and serves until it is told to stop. It needs
no engine: kb's own tools are listed, but whoever calls one is told that there is none.
"""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress

import uvicorn
from mcp.server.context import HandlerResult
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp.types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    AudioContent,
    BlobResourceContents,
    CallToolRequestParams,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    GetPromptRequestParams,
    GetPromptResult,
    ImageContent,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    PromptMessage,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
    Tool,
)
from starlette.routing import Route, Router, WebSocketRoute

from kb.access import Access
from kb.client import EngineClient, Json
from kb.listening import listen, url_of
from kb.mcp import resources
from kb.mcp.announcements import Announcements
from kb.mcp.app import PATH
from kb.mcp.caller import Caller
from kb.mcp.exchange import Exchange
from kb.mcp.guard import Guard
from kb.mcp.http import HttpEndpoint
from kb.mcp.server import Context, KnowledgeServer, build_server
from kb.mcp.tools import ReportProgress
from kb.mcp.tools import Tool as KbTool
from kb.mcp.toolsets.kb import KB_TOOLS
from kb.mcp.watched_engine import WatchedEngine
from kb.mcp.websocket import WebSocketEndpoint
from kb.serving.held_bodies import Bodies
from kb.settings import LOOPBACK_NAMES

# Nobody listens there.
NO_ENGINE = "http://127.0.0.1:9"
# The smallest there are: one pixel, and a sound of no length.
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="


def text(words: str) -> TextContent:
    return TextContent(type="text", text=words)


def resource(uri: str, mime_type: str, words: str) -> EmbeddedResource:
    return EmbeddedResource(type="resource", resource=TextResourceContents(uri=uri, mime_type=mime_type, text=words))


IMAGE = ImageContent(type="image", data=PNG, mime_type="image/png")

# What the suite's tools answer; it knows them by these names.
TOOL_ANSWERS: Mapping[str, list[ContentBlock]] = {
    "test_simple_text": [text("This is a simple text response for testing.")],
    "test_image_content": [IMAGE],
    "test_audio_content": [AudioContent(type="audio", data=WAV, mime_type="audio/wav")],
    "test_embedded_resource": [resource("test://embedded-resource", "text/plain", "An embedded resource.")],
    "test_multiple_content_types": [
        text("Multiple content types test:"),
        IMAGE,
        resource("test://mixed-content-resource", "application/json", '{"test": "data", "value": 123}'),
    ],
    "test_error_handling": [text("This tool intentionally returns an error for testing")],
    "test_tool_with_progress": [text("Done.")],
    "test_trigger_tool_change": [text("Done.")],
    "test_streaming_elicitation": [text("Done, without an answer.")],
    "test_missing_capability": [],
    "test_custom_headers": [text("The headers agree with the arguments.")],
    "json_schema_2020_12_tool": [text("Done.")],
}

# The suite looks for each of these keywords in the list of tools.
SCHEMA_2020_12 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
INPUT_SCHEMAS: Mapping[str, Json] = {
    **{name: {"type": "object", "additionalProperties": False} for name in TOOL_ANSWERS},
    "json_schema_2020_12_tool": SCHEMA_2020_12,
    "test_custom_headers": {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}},
}


def prompt_answers(arguments: Mapping[str, str]) -> Mapping[str, list[ContentBlock]]:
    return {
        "test_simple_prompt": [text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments": [text(f"arg1='{arguments.get('arg1')}', arg2='{arguments.get('arg2')}'")],
        "test_prompt_with_embedded_resource": [
            resource(arguments.get("resourceUri", ""), "text/plain", "Embedded resource content for testing."),
            text("Please process the embedded resource above."),
        ],
        "test_prompt_with_image": [IMAGE, text("Please analyze the image above.")],
    }


# What the suite reads by its URI, and what stands for any other of this shape.
RESOURCES: Mapping[str, TextResourceContents | BlobResourceContents] = {
    "test://static-text": TextResourceContents(
        uri="test://static-text",
        mime_type="text/plain",
        text="This is the content of the static text resource.",
    ),
    "test://static-binary": BlobResourceContents(uri="test://static-binary", mime_type="image/png", blob=PNG),
}
TEMPLATE = ResourceTemplate(uri_template="test://template/{id}/data", name="data")


def find_resource(uri: str) -> TextResourceContents | BlobResourceContents | None:
    of_template = re.fullmatch(r"test://template/(\w+)/data", uri)
    if of_template:
        words = json.dumps({"id": of_template[1], "templateTest": True, "data": f"Data for ID: {of_template[1]}"})
        return TextResourceContents(uri=uri, mime_type="application/json", text=words)
    return RESOURCES.get(uri)


def add_resources(server: KnowledgeServer) -> None:
    """Put the suite's resources where the server has documents, of which there are none without an engine."""
    list_own_templates = handler_of(server, "resources/templates/list")

    async def list_resources(context: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
        return ListResourcesResult(
            resources=[Resource(uri=uri, name=uri, mime_type=content.mime_type) for uri, content in RESOURCES.items()]
        )

    async def list_templates(context: Context, params: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        listed = ListResourceTemplatesResult.model_validate(await list_own_templates(context, params))
        return ListResourceTemplatesResult(resource_templates=[TEMPLATE, *listed.resource_templates])

    async def read_resource(context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        content = find_resource(params.uri)
        if content is None:
            # Not by the server's own method, which would look for the engine first.
            return await resources.read_resource(EngineClient(NO_ENGINE), params.uri)
        return ReadResourceResult(contents=[content])

    server.add_request_handler("resources/list", PaginatedRequestParams, list_resources)
    server.add_request_handler("resources/templates/list", PaginatedRequestParams, list_templates)
    server.add_request_handler("resources/read", ReadResourceRequestParams, read_resource)


def add_tools_and_prompts(server: KnowledgeServer, announcements: Announcements) -> None:
    """Put the suite's before the server's own."""
    list_own_tools, call_own_tool, get_own_prompt = (
        handler_of(server, method) for method in ("tools/list", "tools/call", "prompts/get")
    )
    find_own_schema = server.get_tool_input_schema

    async def list_tools(context: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        listed = ListToolsResult.model_validate(await list_own_tools(context, params))
        added = [Tool(name=name, description=name, input_schema=schema) for name, schema in INPUT_SCHEMAS.items()]
        return ListToolsResult(tools=[*added, *listed.tools])

    async def call_tool(context: Context, params: CallToolRequestParams) -> HandlerResult:
        if params.name not in TOOL_ANSWERS:
            return await call_own_tool(context, params)
        await act(params.name, context, announcements)
        return CallToolResult(content=TOOL_ANSWERS[params.name], is_error=params.name == "test_error_handling")

    async def get_prompt(context: Context, params: GetPromptRequestParams) -> HandlerResult:
        contents = prompt_answers(params.arguments or {}).get(params.name)
        if contents is None:
            return await get_own_prompt(context, params)
        return GetPromptResult(messages=[PromptMessage(role="user", content=content) for content in contents])

    server.add_request_handler("tools/list", PaginatedRequestParams, list_tools)
    server.add_request_handler("tools/call", CallToolRequestParams, call_tool)
    server.add_request_handler("prompts/get", GetPromptRequestParams, get_prompt)
    server.get_tool_input_schema = lambda name: INPUT_SCHEMAS.get(name) or (find_own_schema and find_own_schema(name))


async def act(tool: str, context: Context, announcements: Announcements) -> None:
    """What a tool of the suite does before it answers."""
    match tool:
        case "test_tool_with_progress":
            for done in (0, 50, 100):
                await context.session.report_progress(done, 100)
        case "test_trigger_tool_change":
            await announcements.tools_changed()
        case "test_streaming_elicitation":
            # It may try: no question to the client leaves the server.
            with suppress(NoBackChannelError):
                await context.session.elicit_form("What is your name?", {"type": "object", "properties": {}})
        case "test_missing_capability":
            required: Json = {"requiredCapabilities": {"sampling": {}}}
            raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "This tool needs sampling.", required)


def handler_of(server: KnowledgeServer, method: str) -> Callable[[Context, object], Awaitable[HandlerResult]]:
    entry = server.get_request_handler(method)
    assert entry is not None
    return entry.handler


async def call_without_engine(tool: KbTool, arguments: Json, caller: Caller, report: ReportProgress | None) -> Json:
    return {"content": [{"type": "text", "text": "There is no engine here."}], "isError": True}


async def serve() -> None:
    announcements = Announcements()
    server = build_server(
        KB_TOOLS, WatchedEngine(EngineClient(NO_ENGINE), NO_ENGINE), call_without_engine, announcements.listen
    )
    add_tools_and_prompts(server, announcements)
    add_resources(server)
    exchange = Exchange(server)
    http = HttpEndpoint(server, exchange, announcements, Bodies())
    routes = [Route(PATH, http), WebSocketRoute(PATH, WebSocketEndpoint(exchange, announcements, Bodies()).serve)]
    app = Guard(Router(routes), Access(writing_keys=(), reading_keys=(), hosts=LOOPBACK_NAMES, origins=LOOPBACK_NAMES))
    config = uvicorn.Config(app, log_level="warning", lifespan="off", timeout_graceful_shutdown=1)
    with listen("127.0.0.1", 0, "KB_MCP_PORT") as listener:
        async with http.running():
            print(f"{url_of(listener)}{PATH}", flush=True)  # noqa: T201 - whoever started it reads the address
            await uvicorn.Server(config).serve(sockets=[listener])


if __name__ == "__main__":
    asyncio.run(serve())
