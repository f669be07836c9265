"""What a request of the newest protocol, which has no handshake, carries with it."""

from typing import Any

from kb.client import Json

NEWEST_VERSION = "2026-07-28"
CLIENT = {"name": "a test", "version": "1"}


def newest_params(**params: Any) -> Json:
    meta = {
        "io.modelcontextprotocol/protocolVersion": NEWEST_VERSION,
        "io.modelcontextprotocol/clientInfo": CLIENT,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    return {"_meta": meta, **params}


def newest_headers(method: str, name: str | None = None) -> dict[str, str]:
    named = {"Mcp-Name": name} if name else {}
    return {"MCP-Protocol-Version": NEWEST_VERSION, "Mcp-Method": method, **named}
