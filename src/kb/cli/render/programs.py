"""What is told by and of the programs that run until they are stopped."""

import shutil
import sys
from typing import TYPE_CHECKING

from kb.cli.probing import reachable
from kb.version import VERSION

if TYPE_CHECKING:
    from kb.settings import EngineSettings

NO_BROWSER = "There is no browser here. Open this address in one."


def not_installed(extra: str) -> str:
    program = {"engine": "The engine", "mcp": "The MCP server"}[extra]
    return f"{program} is not installed here. Install it: pip install 'kb-local[{extra}]'."


def waiting_for_port(port: int) -> str:
    return f"Port {port} is still in use. Waiting a moment for it ..."


def unusable_data_dir(error: OSError) -> str:
    return f"The data directory {error.filename} cannot be used: {error.strerror}. Choose another KB_DATA_DIR."


def show_running(settings: "EngineSettings", engine_url: str, mcp_url: str | None) -> None:
    """What a person needs who has just started everything."""
    engine_url = reachable(engine_url)
    told = [f"export KB_ENGINE_URL={engine_url}"] if engine_url != "http://127.0.0.1:8000" else []
    if settings.api_key.get_secret_value():
        told.append("export KB_API_KEY=...   (the same key)")
    # Started from a project's own environment, it is not found by its bare name.
    kb = "kb" if shutil.which("kb") else sys.argv[0]
    commands = [
        f"{kb} demo",
        f'{kb} addnote "The spare key is under the flower pot"',
        f'{kb} search "where is the key"',
    ]
    lines = [
        f"kb {VERSION} is running. Ctrl-C stops it.",
        "",
        f"  Web page    {engine_url}/",
        f"  Engine API  {engine_url}/api/v1",
        *([f"  MCP server  {reachable(mcp_url)}/mcp"] if mcp_url else []),
        f"  Data        {settings.data_dir}",
        "",
        "In another terminal:",
        *(f"  {command}" for command in (*told, *commands)),
        "",
    ]
    print("\n".join(lines), flush=True)


def no_page(url: str) -> str:
    return f"The engine at {url.rstrip('/')} has no page. Use `kb search`, or an engine that has one."
