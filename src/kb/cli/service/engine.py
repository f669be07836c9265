"""Where a service answers, and whether it does."""

import time
from dataclasses import dataclass
from typing import Self

from kb.cli.probing import NoAnswer, ask, mcp_server_url
from kb.cli.service.systemd import read_state
from kb.listening import listen
from kb.settings import EngineSettings, McpSettings

# Bringing an old base up to date takes its time; all else is there within seconds.
ANSWERS_WITHIN_SECONDS = 60.0
LOOK_EVERY_SECONDS = 0.25


class AlreadyRunning(Exception):
    """Somebody else runs a program of kb on a port that the service would need."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.url = url


@dataclass(frozen=True)
class Addresses:
    """Without their paths."""

    engine: str
    mcp: str

    @classmethod
    def of(cls, engine: EngineSettings, mcp: McpSettings) -> Self:
        return cls(mcp_server_url(engine.host, engine.port), mcp_server_url(mcp.mcp_host, mcp.mcp_port))


def version_of(addresses: Addresses) -> str | None:
    """The version of the engine that answers; None if none does."""
    return _product_at(f"{addresses.engine}/health/live").get("kb")


def require_free_ports(addresses: Addresses, engine: EngineSettings, mcp: McpSettings) -> None:
    """Raise `AlreadyRunning`, or `CannotStart` if it is no program of kb that has a port."""
    for url, path in ((addresses.engine, "/health/live"), (addresses.mcp, "/health")):
        if _product_at(url + path):
            raise AlreadyRunning(url)
    listen(engine.host, engine.port, "KB_PORT").close()
    listen(mcp.mcp_host, mcp.mcp_port, "KB_MCP_PORT").close()


def wait_until_it_answers(addresses: Addresses) -> bool:
    """False as soon as the service has ended, and when it takes too long."""
    give_up_at = time.monotonic() + ANSWERS_WITHIN_SECONDS
    while time.monotonic() < give_up_at:
        if version_of(addresses) is not None:
            return True
        if read_state().has_ended:
            return False
        time.sleep(LOOK_EVERY_SECONDS)
    return False


def _product_at(url: str) -> dict[str, str]:
    """Of a program of kb its name, `kb` or `kb-mcp`, and its version; of any other nothing."""
    try:
        name, _, version = ask(url).server.partition("/")
    except NoAnswer:
        return {}
    return {name: version} if name in ("kb", "kb-mcp") else {}
