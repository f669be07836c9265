"""The ways to say something to the MCP server: over both transports, in both generations of the protocol."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal, get_args

from tests.keys import bearer
from tests.mcp_clients import RawClient
from tests.newest_protocol import newest_headers, newest_params
from websockets.sync.client import connect

from kb.client import Json

ANSWER_WITHIN_SECONDS = 30

Transport = Literal["http", "websocket"]
Generation = Literal["handshake", "newest"]
Way = tuple[Transport, Generation]
WAYS: list[Way] = [(transport, generation) for transport in get_args(Transport) for generation in get_args(Generation)]
Speak = Callable[[str, Json], Json]
"""A method and its parameters; the whole JSON-RPC answer."""


@contextmanager
def open_speech(url: str, key: str, way: Way, *, path: str = "/mcp") -> Iterator[Speak]:
    transport, generation = way
    is_newest = generation == "newest"

    def prepared(params: Json) -> Json:
        return newest_params(**params) if is_newest else params

    if transport == "http":
        with RawClient(url, path=path, headers=bearer(key)) as client:

            def post(method: str, params: Json) -> Json:
                named = newest_headers(method, params.get("name") or params.get("uri")) if is_newest else {}
                answer: Json = client.post(method, prepared(params), named).json()
                return answer

            yield post
    else:
        address = url.replace("http", "ws") + path
        with connect(address, additional_headers=bearer(key), proxy=None, max_size=None) as websocket:

            def send(method: str, params: Json) -> Json:
                websocket.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": prepared(params)}))
                while True:
                    answer: Json = json.loads(websocket.recv(ANSWER_WITHIN_SECONDS))
                    # Announcements have none.
                    if "id" in answer:
                        return answer

            yield send


def use(speak: Speak, tool: str, arguments: Json) -> Json:
    """What the tool answers, be it an error."""
    answer = speak("tools/call", {"name": tool, "arguments": arguments})
    content: Json = answer["result"]["structuredContent"]
    return {"is_error": answer["result"]["isError"], **content}
