"""Where kb keeps its things when nobody says otherwise."""

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

# Each platform's variable and, below the user's home, the folder it stands for when it is not set.
_MAC_SUPPORT = "Library/Application Support"
_CONFIG_HOMES = {"win32": ("APPDATA", "AppData/Roaming"), "darwin": ("XDG_CONFIG_HOME", _MAC_SUPPORT)}
_DATA_HOMES = {"win32": ("LOCALAPPDATA", "AppData/Local"), "darwin": ("XDG_DATA_HOME", _MAC_SUPPORT)}


def home_dir() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        # Not every user has one, as in some containers; there the folders that matter are named in the settings.
        return Path(os.sep)


def config_dir(environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    return _own_folder(environ, *_CONFIG_HOMES.get(platform, ("XDG_CONFIG_HOME", ".config")))


def config_home(environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    """Where other programs with a window keep their configuration; on a Mac they look at no variable."""
    return home_dir() / _MAC_SUPPORT if platform == "darwin" else config_dir(environ, platform).parent


def default_data_dir(environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    return _own_folder(environ, *_DATA_HOMES.get(platform, ("XDG_DATA_HOME", ".local/share")))


def cache_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """Where fetched models are kept: the same place on every platform."""
    return _own_folder(environ, "XDG_CACHE_HOME", ".cache")


def default_file_roots() -> tuple[Path, ...]:
    """The user's home and the working directory.

    Where a service is started it may stand at the top of the disk, or in a hidden folder; nobody meant to show those.
    """
    roots = [home_dir()]
    # Somebody may have deleted it.
    with suppress(FileNotFoundError):
        roots += [folder for folder in (Path.cwd(),) if not any(part.startswith(".") for part in folder.parts)]
    return tuple(dict.fromkeys(root for root in roots if root != Path(root.anchor)))


def _own_folder(environ: Mapping[str, str], variable: str, fallback: str) -> Path:
    # The XDG specification has a relative path ignored: it would depend on where the program was started.
    given = Path(environ.get(variable, ""))
    return (given if given.is_absolute() else home_dir() / fallback) / "kb"


def model_folder(embedding_model: str, cache: Path) -> Path | None:
    """The folder of a model named in the settings; None is the bundled one. It need not exist."""
    if not embedding_model:
        return None
    given = Path(embedding_model).expanduser()
    is_path = given.is_absolute() or embedding_model.startswith(".") or given.is_dir()
    return given.absolute() if is_path else cache / "models" / embedding_model
