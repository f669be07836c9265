"""Where a service answers, and who has its ports."""

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Self
from urllib.parse import urlsplit

from kb.cli.probing import NoAnswer, address_at, ask
from kb.listening import listen
from kb.settings import CONFIG_FILE, EngineSettings, McpSettings, config_dir, is_loopback

# A program of kb that is busy is not to be taken for somebody else's.
ANSWERS_WITHIN_SECONDS = 3.0


class AlreadyRunning(Exception):
    """Somebody else runs a program of kb on a port that the service would need."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.url = url


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


def require_free_ports(engine: EngineSettings, mcp: McpSettings | None, *, service_is_active: bool) -> None:
    """Raise `AlreadyRunning`, or `CannotStart` if it is no program of kb that has a port.

    What of kb answers may be the active service, and is let pass then.
    """
    addresses, file = Addresses.of(engine, mcp), config_dir() / CONFIG_FILE
    wanted = [(f"{addresses.engine}/health/live", engine.host, engine.port, "port")]
    if mcp is not None:
        wanted.append((f"{addresses.mcp}/health", mcp.mcp_host, mcp.mcp_port, "mcp_port"))
    # Both at a time: they may be the same.
    with ExitStack() as opened:
        for url, host, port, setting in wanted:
            if not _product_at(url):
                opened.enter_context(listen(host, port, f"`{setting}` in {file}"))
            elif not service_is_active:
                raise AlreadyRunning(address_at(host, port))


def is_same_place(one: str, other: str) -> bool:
    """Whether two URLs name the same; `localhost` is every address of this machine that no other reaches."""
    first, second = urlsplit(one), urlsplit(other)
    hosts = {first.hostname or "", second.hostname or ""}
    is_same_host = len(hosts) == 1 or ("localhost" in hosts and all(map(is_loopback, hosts)))
    rest = [(parts.scheme, parts.port, parts.path.rstrip("/")) for parts in (first, second)]
    return is_same_host and rest[0] == rest[1]


def _product_at(url: str) -> dict[str, str]:
    """Of a program of kb its name, `kb` or `kb-mcp`, and its version; of any other nothing."""
    try:
        name, _, version = ask(url, within_seconds=ANSWERS_WITHIN_SECONDS).server.partition("/")
    except NoAnswer:
        return {}
    return {name: version} if name in ("kb", "kb-mcp") else {}
