"""What each option is now and who says so, also where some of them cannot be used."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from kb.settings.folders import config_dir
from kb.settings.programs import PROGRAMS, ProgramSettings, SettingsError
from kb.settings.reading import (
    CONFIG_FILE,
    derive_engine_url,
    find_given,
    read_option,
    read_settings,
    without_password,
)
from kb.settings.sources import Given, Origin, Source, list_sources, open_config, secrets_of, variable_of


@dataclass(frozen=True)
class Explained:
    """A value as it may be shown: of a secret only whether it is set."""

    name: str
    variable: str
    value: str
    origin: Origin
    given_by: str | None
    """The variable or the file; the file of its own, if a secret has one."""
    problem: str | None = None
    """Why it cannot be used."""
    secret_file: Path | None = None


@dataclass(frozen=True)
class Explanation:
    config_file: Path
    options: list[Explained]
    problems: list[str]
    """What keeps the programs from starting: of single options, and of the file and of options together."""

    def find(self, name: str) -> Explained | None:
        """By the name of the option, of its variable or of its flag."""
        wanted = name.strip().lower().lstrip("-").replace("-", "_").removeprefix("kb_")
        return next((option for option in self.options if option.name == wanted), None)


def explain_settings(environ: Mapping[str, str] = os.environ, config_folder: Path | None = None) -> Explanation:
    config_folder = config_folder or config_dir(environ)
    path = config_folder / CONFIG_FILE
    problems: list[str] = []
    try:
        in_file = open_config(path)
    except SettingsError as error:
        in_file, problems = Source(Origin.FILE, {}, str), [str(error)]
    owners = {name: program for program in PROGRAMS for name in program.model_fields}
    sources = {program: list_sources(program, {}, environ, in_file) for program in PROGRAMS}
    derived = derive_engine_url(environ, in_file)
    options = [
        _explain(name, find_given(name, sources[owner], owner) or derived, owner, path)
        for name, owner in owners.items()
    ]
    problems += [option.problem for option in options if option.problem]
    problems += _find_problems_of_programs(environ, config_folder)
    return Explanation(path, options, list(dict.fromkeys(problems)))


def _find_problems_of_programs(environ: Mapping[str, str], config_folder: Path) -> Iterator[str]:
    for program in PROGRAMS:
        try:
            read_settings(program, {}, environ, config_folder)
        except SettingsError as error:
            yield from error.sentences


def _explain(name: str, given: Given, owner: type[ProgramSettings], config_file: Path) -> Explained:
    value, problem = "set" if name in secrets_of(owner) else without_password(given.value), None
    try:
        value = render_value(read_option(name, given, owner))
    except SettingsError as error:
        problem = str(error)
    given_by = {Origin.DEFAULT: None, Origin.FILE: f"{given.key} in {config_file}"}.get(given.origin, given.name)
    return Explained(name, variable_of(name), value, given.origin, given_by, problem, given.file)


def render_value(value: object) -> str:
    """As it would be written into the environment."""
    if isinstance(value, SecretStr):
        return "set" if value.get_secret_value() else "not set"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        separator = os.pathsep if any(isinstance(part, Path) for part in value) else ","
        return separator.join(map(str, value))
    return str(value)
