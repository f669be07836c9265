"""Where a service answers, and whether it does."""

import time
from dataclasses import dataclass
from enum import Enum
from typing import Self

from kb.cli.probing import NoAnswer, address_at, ask
from kb.cli.service.systemd import read_state
from kb.listening import listen
from kb.settings import EngineSettings, McpSettings

# Bringing a large base of an older version up to date may take longer; all else is there within seconds.
ANSWERS_WITHIN_SECONDS = 60.0
LOOK_EVERY_SECONDS = 0.25


class AlreadyRunning(Exception):
    """Somebody else runs a program of kb on a port that the service would need."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.url = url


class Start(Enum):
    """How far a service has come that was started."""

    DONE = "done"
    UNDER_WAY = "under way"
    """It runs, and its engine does not answer yet."""
    FAILED = "failed"


@dataclass(frozen=True)
class Addresses:
    """Without their paths."""

    engine: str
    mcp: str | None
    """None where the MCP server is not installed: `kb up` starts the engine alone."""

    @classmethod
    def of(cls, engine: EngineSettings, mcp: McpSettings | None) -> Self:
        agents = None if mcp is None else address_at(mcp.mcp_host, mcp.mcp_port)
        return cls(address_at(engine.host, engine.port), agents)


def version_of(addresses: Addresses) -> str | None:
    """The version of the engine that answers; None if none does."""
    return _product_at(f"{addresses.engine}/health/live").get("kb")


def require_free_ports(addresses: Addresses, engine: EngineSettings, mcp: McpSettings | None) -> None:
    """Raise `AlreadyRunning`, or `CannotStart` if it is no program of kb that has a port."""
    for url, path in ((addresses.engine, "/health/live"), (addresses.mcp, "/health")):
        if url is not None and _product_at(url + path):
            raise AlreadyRunning(url)
    listen(engine.host, engine.port, "KB_PORT").close()
    if mcp is not None:
        listen(mcp.mcp_host, mcp.mcp_port, "KB_MCP_PORT").close()


def wait_until_it_answers(addresses: Addresses) -> Start:
    """Not for ever, and no longer once the service has ended."""
    give_up_at = time.monotonic() + ANSWERS_WITHIN_SECONDS
    while time.monotonic() < give_up_at:
        if version_of(addresses) is not None:
            return Start.DONE
        if read_state().has_ended:
            return Start.FAILED
        time.sleep(LOOK_EVERY_SECONDS)
    return Start.UNDER_WAY if read_state().is_active else Start.FAILED


def _product_at(url: str) -> dict[str, str]:
    """Of a program of kb its name, `kb` or `kb-mcp`, and its version; of any other nothing."""
    try:
        name, _, version = ask(url).server.partition("/")
    except NoAnswer:
        return {}
    return {name: version} if name in ("kb", "kb-mcp") else {}
