"""What each option is now and who says so, also where some of them cannot be used."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, SecretStr, TypeAdapter, ValidationError

from kb.settings.folders import config_dir, default_data_dir
from kb.settings.programs import PROGRAMS, ProgramSettings, SettingsError
from kb.settings.reading import (
    CONFIG_FILE,
    named_variables,
    option_of,
    read_config,
    read_secret,
    read_settings,
    secrets_of,
    variable_of,
)


class Origin(StrEnum):
    ENVIRONMENT = "environment"
    FILE = "file"
    DEFAULT = "default"


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


@dataclass(frozen=True)
class _Source:
    """Somebody who gives values: the environment, or the file."""

    origin: Origin
    values: Mapping[str, object]
    file: Path | None = None

    def call(self, name: str) -> str:
        """How the user knows what gave the value."""
        return variable_of(name) if self.file is None else f"{name} in {self.file}"


def explain_settings(environ: Mapping[str, str] = os.environ, config_folder: Path | None = None) -> Explanation:
    config_folder = config_folder or config_dir(environ)
    path = config_folder / CONFIG_FILE
    problems: list[str] = []
    try:
        in_file = read_config(path)
    except SettingsError as error:
        in_file, problems = {}, [str(error)]
    sources = (_Source(Origin.ENVIRONMENT, named_variables(environ)), _Source(Origin.FILE, in_file, path))
    owners = {name: program for program in PROGRAMS for name in program.model_fields}
    options = [_explain(name, owner, sources, environ) for name, owner in owners.items()]
    problems += [option.problem for option in options if option.problem]
    if not problems:
        problems = list(dict.fromkeys(_find_problems_of_programs(environ, config_folder)))
    return Explanation(path, options, problems)


def _find_problems_of_programs(environ: Mapping[str, str], config_folder: Path) -> Iterator[str]:
    for program in PROGRAMS:
        try:
            read_settings(program, {}, environ, config_folder)
        except SettingsError as error:
            yield from str(error).split("\n")


def _explain(
    name: str, owner: type[ProgramSettings], sources: Iterable[_Source], environ: Mapping[str, str]
) -> Explained:
    is_secret = name in secrets_of(owner)
    for source in sources:
        if is_secret and f"{name}_file" in source.values:
            return _explain_secret(name, owner, source, f"{name}_file")
        if name in source.values:
            return (_explain_secret if is_secret else _explain_value)(name, owner, source, name)
    return _explain_default(name, owner, environ)


def _explain_value(name: str, owner: type[ProgramSettings], source: _Source, given_as: str) -> Explained:
    given, by = source.values[given_as], source.call(given_as)
    try:
        value = render_value(_adapter(name, owner).validate_python(given))
    except ValidationError:
        shown = re.sub(r"//[^/]*@", "//***@", str(given))
        problem = f'{by} is "{shown}"; allowed: {option_of(owner, name).allowed}.'
        return Explained(name, variable_of(name), shown, source.origin, by, problem)
    return Explained(name, variable_of(name), value, source.origin, by)


def _explain_secret(name: str, owner: type[ProgramSettings], source: _Source, given_as: str) -> Explained:
    given, by = source.values[given_as], source.call(given_as)
    file = None if given_as == name else Path(str(given).strip()).expanduser()
    value, problem = "set", None
    try:
        secret = given if file is None else read_secret(given, by)
        value = render_value(_adapter(name, owner).validate_python(secret))
        if file is not None and name in source.values:
            problem = f"Both {source.call(name)} and {by} are set. Set one of them."
    except SettingsError as error:
        problem = str(error)
    except ValidationError:
        # Its message would quote the secret.
        problem = f"The value of {by} cannot be used; allowed: {option_of(owner, name).allowed}."
    return Explained(name, variable_of(name), value, source.origin, by, problem, file)


def _explain_default(name: str, owner: type[ProgramSettings], environ: Mapping[str, str]) -> Explained:
    if name == "data_dir":
        value: object = default_data_dir(environ)
    else:
        value = owner.model_fields[name].get_default(call_default_factory=True)
    return Explained(name, variable_of(name), render_value(value), Origin.DEFAULT, None)


def _adapter(name: str, owner: type[ProgramSettings]) -> TypeAdapter[Any]:  # Any: of whatever kind the option is
    field = owner.model_fields[name]
    kind: Any = field.annotation
    for constraint in field.metadata:
        kind = Annotated[kind, constraint]
    return TypeAdapter(kind, config=ConfigDict(str_strip_whitespace=True))


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
