"""The files of kb itself that agents must not read."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from kb.settings.folders import config_dir
from kb.settings.programs import PROGRAMS, EngineSettings
from kb.settings.reading import CONFIG_FILE, find_given
from kb.settings.sources import list_sources, open_config, secrets_of


def private_paths(environ: Mapping[str, str] = os.environ, config_folder: Path | None = None) -> tuple[Path, ...]:
    """`kb.toml`, the data directory, and each file that a setting names as the file of a secret.

    Raises `SettingsError` if `kb.toml` cannot be read.
    """
    config_file = (config_folder or config_dir(environ)) / CONFIG_FILE
    found = [config_file, *_find_named(environ, config_file)]
    return tuple(dict.fromkeys(Path(os.path.expanduser(path)).absolute() for path in found))


def _find_named(environ: Mapping[str, str], config_file: Path) -> Iterator[Path]:
    in_file = open_config(config_file)
    for program in PROGRAMS:
        # Weaker sources are included: the file that they name may hold the key of another program.
        for source in list_sources(program, {}, environ, in_file):
            given = (source.find(name, program) for name in secrets_of(program))
            yield from (one.file for one in given if one is not None and one.file is not None)
    data_dir = find_given("data_dir", list_sources(EngineSettings, {}, environ, in_file), EngineSettings)
    if data_dir is not None:
        yield Path(str(data_dir.value))
