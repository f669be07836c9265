"""What a program sees that no shell has started: `kb.toml` and the folders, but none of kb's variables."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from kb.settings.folders import config_dir
from kb.settings.programs import EngineSettings, McpSettings, ProgramSettings
from kb.settings.reading import read_settings
from kb.settings.sources import PREFIX, secrets_of, variable_of

FOLDER_VARIABLES = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")


@dataclass(frozen=True)
class LeftBehind:
    """A variable that makes a difference here, and none there."""

    variable: str
    line: str
    """What says the same in `kb.toml`; of a secret it names a file that holds it."""
    file_to_write: Path | None = None
    """The file that the line names, if nobody has made it yet."""


def load_unattended_settings(environ: Mapping[str, str] = os.environ) -> tuple[EngineSettings, McpSettings]:
    """Raise `SettingsError` for values that cannot be used."""
    there, folder = without_variables(environ), config_dir(environ)
    return read_settings(EngineSettings, {}, there, folder), read_settings(McpSettings, {}, there, folder)


def without_variables(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if not name.startswith(PREFIX)}


def find_left_behind(environ: Mapping[str, str] = os.environ) -> list[LeftBehind]:
    """Of the settings of `kb up`, in the order of the reference. Raises `SettingsError` if they cannot be used."""
    folder = config_dir(environ)
    found: dict[str, LeftBehind] = {}
    for program in (EngineSettings, McpSettings):
        here = read_settings(program, {}, environ, folder)
        there = read_settings(program, {}, without_variables(environ), folder)
        # `kb up` tells its MCP server itself where the engine is.
        differing = [
            name
            for name in program.model_fields
            if getattr(here, name) != getattr(there, name) and name != "engine_url"
        ]
        found |= {name: _leave_behind(name, program, getattr(here, name), environ, folder) for name in differing}
    return list(found.values())


def folders_named(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables that say where kb keeps its things; a relative one counts for nobody."""
    return {name: environ[name] for name in FOLDER_VARIABLES if Path(environ.get(name, "")).is_absolute()}


def _leave_behind(
    name: str, program: type[ProgramSettings], value: object, environ: Mapping[str, str], folder: Path
) -> LeftBehind:
    variable = variable_of(name)
    if name not in secrets_of(program):
        return LeftBehind(variable, f"{name} = {_render_toml(value)}")
    if given := environ.get(f"{variable}_FILE", "").strip():
        return LeftBehind(f"{variable}_FILE", f"{name}_file = {_render_toml(Path(given).expanduser().absolute())}")
    file = folder / name.replace("_", "-")
    return LeftBehind(variable, f"{name}_file = {_render_toml(file)}", file)


def _render_toml(value: object) -> str:
    if isinstance(value, SecretStr):
        raise TypeError("A secret is not to be shown.")
    if isinstance(value, bool | int):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(map(_render_toml, value))}]"
    # A service starts elsewhere than the shell, where a relative path would be another.
    is_folder = not isinstance(value, Path) and os.sep in str(value) and Path(str(value)).expanduser().is_dir()
    # A string of JSON is one of TOML.
    return json.dumps(str(Path(str(value)).expanduser().absolute() if is_folder else value), ensure_ascii=False)
