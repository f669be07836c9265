"""From flags, environment and `kb.toml` to the settings of one program, and what the user did not mean."""

import difflib
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import SecretStr, ValidationError

from kb.settings.folders import config_dir, default_data_dir
from kb.settings.options import Option
from kb.settings.programs import PROGRAMS, ProgramSettings, SettingsError

CONFIG_FILE = "kb.toml"
_PREFIX = "KB_"

Program = TypeVar("Program", bound=ProgramSettings)


@dataclass(frozen=True)
class OptionDescription:
    variable: str
    default: str
    allowed: str
    meaning: str
    programs: tuple[str, ...]


def describe_options() -> list[OptionDescription]:
    """Every option once, in the order of the programs and their fields."""
    owners = {name: program for program in PROGRAMS for name in program.model_fields}
    return [_describe(name, program) for name, program in owners.items()]


def _describe(name: str, owner: type[ProgramSettings]) -> OptionDescription:
    field, option = owner.model_fields[name], option_of(owner, name)
    return OptionDescription(
        variable=variable_of(name),
        default=option.default or _render_default(field.default),
        allowed=option.allowed,
        meaning=field.description or "",
        programs=tuple(program.program for program in PROGRAMS if name in program.model_fields),
    )


def _render_default(value: object) -> str:
    text = ",".join(value) if isinstance(value, tuple) else str(value)
    return f"`{text.lower()}`"


def warnings(environ: Mapping[str, str] = os.environ, config_folder: Path | None = None) -> list[str]:
    """A sentence for each name in the environment and in `kb.toml` that no program knows."""
    path = (config_folder or config_dir(environ)) / CONFIG_FILE
    names = list(_known_names())
    variables = [variable_of(name) for name in names]
    given = [name for name in environ if name.startswith(_PREFIX)]
    return [
        *(_complain(name, variables) for name in sorted(given) if name not in variables),
        *(f"{path}: {_complain(name, names)}" for name in read_config(path) if name not in names),
    ]


def _complain(name: str, known: list[str]) -> str:
    nearest = difflib.get_close_matches(name, known, n=1)
    advice = f" Did you mean {nearest[0]}?" if nearest else ""
    return f"{name} is not a setting of kb and has no effect.{advice}"


def _known_names() -> Iterator[str]:
    for program in PROGRAMS:
        yield from program.model_fields
        yield from (f"{name}_file" for name in secrets_of(program))


@dataclass(frozen=True)
class _Given:
    """A value together with the name under which the user gave it, for the sentence if it is wrong."""

    value: object
    name: str


def read_settings(
    program: type[Program], flags: Mapping[str, object], environ: Mapping[str, str], config_folder: Path
) -> Program:
    path = config_folder / CONFIG_FILE
    from_file = {name: _Given(value, f"`{name}` in {path}") for name, value in read_config(path).items()}
    from_environment = {name: _Given(value, variable_of(name)) for name, value in named_variables(environ).items()}
    from_flags = {name: _Given(value, _flag_of(name, program)) for name, value in flags.items() if value is not None}
    given = {"data_dir": _Given(default_data_dir(environ), "data_dir")}
    for source in (from_file, from_environment, from_flags):
        given |= _with_secrets_read(source, secrets_of(program))
    try:
        return program.model_validate({name: one.value for name, one in given.items()})
    except ValidationError as exc:
        # The cause is dropped because it quotes its input, and that may be a secret.
        raise SettingsError(_explain(exc, program, given)) from None


def named_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of kb by the names of their options.

    An empty one counts as not set: that is how compose files pass on what they were not given.
    """
    given = {name.removeprefix(_PREFIX): value for name, value in environ.items() if name.startswith(_PREFIX)}
    return {name.lower(): value for name, value in given.items() if value.strip()}


def read_config(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except OSError as exc:
        raise SettingsError(f"{path} cannot be read: {exc.strerror}.") from exc
    except ValueError as exc:
        raise SettingsError(f"{path} is not a TOML file: {exc}.") from exc


def _with_secrets_read(source: dict[str, _Given], secrets: list[str]) -> dict[str, _Given]:
    read = dict(source)
    for secret in secrets:
        file = read.pop(f"{secret}_file", None)
        if file is None:
            continue
        if secret in read:
            raise SettingsError(f"Both {read[secret].name} and {file.name} are set. Set one of them.")
        read[secret] = _Given(read_secret(file.value, file.name), file.name)
    return read


def read_secret(file: object, named_by: str) -> str:
    path = Path(str(file).strip()).expanduser()
    try:
        secret = path.read_text(encoding="utf-8").strip()
    except OSError as exc:
        raise SettingsError(f"{named_by} names {path}, which cannot be read: {exc.strerror}.") from exc
    except UnicodeDecodeError:
        # Its message and its cause would quote the secret.
        raise SettingsError(f"{named_by} names {path}, which is not text.") from None
    if not secret:
        raise SettingsError(f"{named_by} names {path}, which is empty. Write the key into it.")
    return secret


def _explain(error: ValidationError, program: type[ProgramSettings], given: Mapping[str, _Given]) -> str:
    sentences = []
    for detail in error.errors(include_url=False):
        if not detail["loc"]:
            sentences.append(str(detail["ctx"]["error"]))
            continue
        name = str(detail["loc"][0])
        allowed = option_of(program, name).allowed
        if name in secrets_of(program):
            sentences.append(f"The value of {given[name].name} cannot be used; allowed: {allowed}.")
        else:
            shown = re.sub(r"//[^/]*@", "//***@", str(given[name].value))
            sentences.append(f'{given[name].name} is "{shown}"; allowed: {allowed}.')
    return "\n".join(sentences)


def option_of(program: type[ProgramSettings], name: str) -> Option:
    return next(item for item in program.model_fields[name].metadata if isinstance(item, Option))


def secrets_of(program: type[ProgramSettings]) -> list[str]:
    return [name for name, field in program.model_fields.items() if field.annotation is SecretStr]


def variable_of(name: str) -> str:
    return _PREFIX + name.upper()


def _flag_of(name: str, program: type[ProgramSettings]) -> str:
    return "--" + name.removeprefix(f"{program.program}_").replace("_", "-")
