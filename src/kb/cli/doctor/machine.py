"""Checks of this machine: settings, files that others should not read, room on the disk, the MCP server."""

import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from kb.cli.doctor import Check, Verdict
from kb.cli.probing import NoAnswer, address_at, ask
from kb.cli.render.terminal import readable_size
from kb.settings import SettingsError, find_unknown_names, load_mcp_settings

if TYPE_CHECKING:
    from kb.settings.explaining import Explanation

MCP_ANSWERS_WITHIN_SECONDS = 2.0
# The engine warns at 8 MB, which is late: a large file and its vectors need more at once.
LITTLE_BYTES = 1024**3


def check_settings(explanation: "Explanation") -> Iterator[Check]:
    for problem in explanation.problems:
        yield Check("settings", Verdict.WRONG, problem, "Put it right; `kb config` shows all settings.")
    try:
        misspelt = find_unknown_names()
    except SettingsError:
        # The file cannot be read, which is among the problems.
        misspelt = []
    for warning in misspelt:
        yield Check("settings", Verdict.WARNING, warning, "Correct the name, or remove it.")
    if not explanation.problems and not misspelt:
        given = sum(option.given_by is not None for option in explanation.options)
        file = f"; {explanation.config_file} was read" if explanation.config_file.exists() else ""
        told = f"{given} of {len(explanation.options)} are set{file}" if given else f"all have their defaults{file}"
        yield Check("settings", Verdict.OK, told)


def check_secrets(explanation: "Explanation") -> Iterator[Check]:
    """Of files that hold keys; nothing where there are none."""
    files = {option.secret_file for option in explanation.options if option.secret_file}
    has_secrets = any(option.value == "set" and option.origin == "file" for option in explanation.options)
    files |= {explanation.config_file} if has_secrets else set()
    for file in sorted(files):
        if file.is_file() and can_be_read_by_others(file):
            told = f"Every user of this machine can read the key in {file}"
            yield Check("keys", Verdict.WARNING, told, f"chmod 600 {file}")


def check_data_dir(data_dir: Path) -> Iterator[Check]:
    """Where the base is; nothing if that is not on this machine, or this user may not even look."""
    if not data_dir.is_dir():
        return
    free = shutil.disk_usage(data_dir).free
    told = f"{readable_size(free)} free in {data_dir}"
    if free < LITTLE_BYTES:
        yield Check("disk", Verdict.WARNING, told, "Free some space on that disk.")
    else:
        yield Check("disk", Verdict.OK, told)
    if can_be_read_by_others(data_dir):
        told = f"Every user of this machine can look into {data_dir}"
        yield Check("data", Verdict.WARNING, told, f"chmod 700 {data_dir}")
    else:
        yield Check("data", Verdict.OK, f"Other users cannot look into {data_dir}")


def can_be_read_by_others(path: Path) -> bool:
    """Whether its own mode lets them, and every folder on the way to it lets them pass."""
    path = path.resolve()
    if not path.stat().st_mode & stat.S_IROTH:
        return False
    return all(folder.stat().st_mode & stat.S_IXOTH for folder in path.parents)


def check_mcp_server() -> Iterator[Check]:
    try:
        settings = load_mcp_settings()
    except SettingsError:
        # Which the check of the settings tells.
        return
    url = address_at(settings.mcp_host, settings.mcp_port)
    try:
        told = ask(f"{url}/health", within_seconds=MCP_ANSWERS_WITHIN_SECONDS).json
        version = told["version"]
    except NoAnswer:
        advice = "Start it with `kb up` or `kb mcp`, or set KB_MCP_PORT to where it is. Without it agents see nothing."
        yield Check("mcp", Verdict.WARNING, f"No MCP server answers at {url}", advice)
    except (LookupError, TypeError):
        advice = "Set KB_MCP_PORT to another port, where nothing else listens."
        yield Check("mcp", Verdict.WARNING, f"What answers at {url} is not kb's MCP server", advice)
    else:
        yield Check("mcp", Verdict.OK, f"version {version} at {url}/mcp")
