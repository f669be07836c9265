"""What a program sees that no shell has started: `kb.toml` and the folders, but none of kb's variables."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path

from pydantic import SecretStr

from kb.settings.folders import cache_dir, config_dir, default_data_dir, model_folder
from kb.settings.programs import EngineSettings, McpSettings, ProgramSettings
from kb.settings.reading import CONFIG_FILE, known_names, read_settings
from kb.settings.sources import PREFIX, read_config, secrets_of, variable_of

# Without them the service would answer to others, or on other documents, than somebody has just asked for. So it would
# without a secret.
_VITAL = ("host", "mcp_host", "insecure", "mcp_file_roots", "data_dir", "store_url", "originals_url", "s3_endpoint")
FOLDER_VARIABLES = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")


@dataclass(frozen=True)
class LeftBehind:
    """A variable that makes a difference here, and none there."""

    variable: str
    line: str
    """What says the same in `kb.toml`; of a secret it names a file that holds it."""
    instead_of: str | None
    """The key of `kb.toml` that says otherwise by now; its line has to go."""
    file_to_write: Path | None = None
    """The file that the line names, if nobody has made it yet."""
    is_vital: bool = False
    """Whether a service without it would answer to others, or have other documents."""


def load_unattended_settings(environ: Mapping[str, str] = os.environ) -> tuple[EngineSettings, McpSettings]:
    """Raise `SettingsError` for values that cannot be used."""
    there, folder = without_variables(environ), config_dir(environ)
    return read_settings(EngineSettings, {}, there, folder), read_settings(McpSettings, {}, there, folder)


def as_installed(folders: Mapping[str, str], environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """This environment, but with the folders that a service was given when it was installed."""
    return {name: value for name, value in environ.items() if name not in FOLDER_VARIABLES} | dict(folders)


def places(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Where kb keeps its things if no setting says otherwise."""
    return config_dir(environ), default_data_dir(environ), cache_dir(environ)


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


def every_variable() -> list[str]:
    """All that could make a difference to a program of kb."""
    return [*map(variable_of, known_names()), *FOLDER_VARIABLES]


def notify_socket(environ: Mapping[str, str] = os.environ) -> str:
    """Where systemd waits to be told that the service has started; nothing where nobody does."""
    return environ.get("NOTIFY_SOCKET", "")


def _leave_behind(
    name: str, program: type[ProgramSettings], value: object, environ: Mapping[str, str], folder: Path
) -> LeftBehind:
    variable, is_vital = variable_of(name), name in (*_VITAL, *secrets_of(program))
    there = read_config(folder / CONFIG_FILE)
    instead_of = next((key for key in (name, f"{name}_file") if key in there), None)
    if name not in secrets_of(program):
        if name == "embedding_model":
            value = _model_from_anywhere(str(value), cache_dir(environ))
        return LeftBehind(variable, f"{name} = {_render_toml(value)}", instead_of, is_vital=is_vital)
    if given := environ.get(f"{variable}_FILE", "").strip():
        line = f"{name}_file = {_render_toml(Path(given).expanduser().absolute())}"
        return LeftBehind(f"{variable}_FILE", line, instead_of, is_vital=is_vital)
    file = _unused(folder / name.replace("_", "-"))
    return LeftBehind(variable, f"{name}_file = {_render_toml(file)}", instead_of, file, is_vital)


def _unused(file: Path) -> Path:
    """This name, or the first of its kind that no file has: what is there may be a key that somebody uses."""
    others = (file.with_name(f"{file.name}-{number}") for number in count(2))
    return next(one for one in chain([file], others) if not os.path.lexists(one))


def _model_from_anywhere(model: str, cache: Path) -> str | Path:
    """A service starts elsewhere than the shell, where a relative path would be another."""
    place = model_folder(model, cache)
    return model if place is None or place == cache / "models" / model else place


def _render_toml(value: object) -> str:
    if isinstance(value, SecretStr):
        raise TypeError("A secret is not to be shown.")
    if isinstance(value, bool | int):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(map(_render_toml, value))}]"
    # A string of JSON is one of TOML.
    return json.dumps(str(value), ensure_ascii=False)
