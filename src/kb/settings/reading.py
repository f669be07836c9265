"""From flags, environment and `kb.toml` to the settings of one program, and what the user did not mean."""

import difflib
import ipaddress
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from kb.settings.folders import config_dir
from kb.settings.kinds import Option
from kb.settings.programs import PROGRAMS, EngineSettings, ProgramSettings, SettingsError
from kb.settings.sources import (
    PREFIX,
    Given,
    Origin,
    Source,
    list_sources,
    open_config,
    read_config,
    secrets_of,
    variable_of,
)

CONFIG_FILE = "kb.toml"

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
    field, option = owner.model_fields[name], _option_of(owner, name)
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


def find_unknown_names(environ: Mapping[str, str] = os.environ, config_folder: Path | None = None) -> list[str]:
    """A sentence for each name in the environment and in `kb.toml` that no program knows."""
    path = (config_folder or config_dir(environ)) / CONFIG_FILE
    names = list(known_names())
    variables = [variable_of(name) for name in names]
    given = [name for name in environ if name.startswith(PREFIX)]
    return [
        *(_complain(name, variables) for name in sorted(given) if name not in variables),
        *(f"{path}: {_complain(name, names)}" for name in read_config(path) if name not in names),
    ]


def _complain(name: str, known: list[str]) -> str:
    nearest = difflib.get_close_matches(name, known, n=1)
    advice = f" Did you mean {nearest[0]}?" if nearest else ""
    return f"{name} is not a setting of kb and has no effect.{advice}"


def known_names() -> Iterator[str]:
    for program in PROGRAMS:
        yield from program.model_fields
        yield from (f"{name}_file" for name in secrets_of(program))


def read_settings(
    program: type[Program], flags: Mapping[str, object], environ: Mapping[str, str], config_folder: Path
) -> Program:
    given: dict[str, Given] = {}
    values: dict[str, object] = {}
    in_file = open_config(config_folder / CONFIG_FILE)
    for source in list_sources(program, flags, environ, in_file):
        found = {name: one for name in program.model_fields if (one := source.find(name, program))}
        given |= found
        values |= {name: one.read() for name, one in found.items()}
    if "engine_url" in program.model_fields and "engine_url" not in given:
        given["engine_url"] = derive_engine_url(environ, in_file)
        values["engine_url"] = given["engine_url"].read()
    try:
        return program.model_validate(values)
    except ValidationError as error:
        # The cause is dropped because it quotes its input, and that may be a secret.
        # In a list, each of its parts may be wrong; that is one sentence.
        raise SettingsError(*dict.fromkeys(_explain(error, program, given))) from None


def find_given(name: str, sources: Iterable[Source], owner: type[ProgramSettings]) -> Given | None:
    """The value from the strongest source; `sources` begin with the weakest."""
    found = [one for source in sources if (one := source.find(name, owner))]
    return found[-1] if found else None


def read_option(name: str, given: Given, owner: type[ProgramSettings]) -> Any:  # Any: of whatever kind the option is
    """The value of one option alone. Raises `SettingsError` if it cannot be used."""
    field = owner.model_fields[name]
    kind: Any = field.annotation
    for constraint in field.metadata:
        kind = Annotated[kind, constraint]
    try:
        return TypeAdapter(kind, config=ConfigDict(str_strip_whitespace=True)).validate_python(given.read())
    except ValidationError:
        # The cause is dropped because it quotes its input, and that may be a secret.
        raise SettingsError(complain_of_value(given, name, owner)) from None


def derive_engine_url(environ: Mapping[str, str], in_file: Source) -> Given:
    """The address of an engine with these settings, as its own machine reaches it.

    So if the engine has another port, clients do not send the key to another program on the default port.
    """
    sources = list_sources(EngineSettings, {}, environ, in_file)
    try:
        host, port = (_read_strongest(name, sources) for name in ("host", "port"))
    except SettingsError as error:
        return Given("", "engine_url", "engine_url", Origin.DEFAULT, problem=str(error))
    # For port 0 the system chooses a port when the engine starts, which is not in the settings.
    port = port or EngineSettings.model_fields["port"].default
    return Given(f"http://{_reachable(host)}:{port}", "engine_url", "engine_url", Origin.DEFAULT)


def _read_strongest(name: str, sources: Iterable[Source]) -> Any:  # Any: a text or a number
    given = find_given(name, sources, EngineSettings)
    assert given is not None  # noqa: S101 - both have a default
    return read_option(name, given, EngineSettings)


def _reachable(host: str) -> str:
    """The host as a client writes it in a URL."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if address.is_unspecified:
        return "127.0.0.1"
    return f"[{host}]" if address.version == 6 else host


def _explain(error: ValidationError, program: type[ProgramSettings], given: Mapping[str, Given]) -> Iterator[str]:
    for detail in error.errors(include_url=False):
        if detail["loc"]:
            name = str(detail["loc"][0])
            yield complain_of_value(given[name], name, program)
        else:
            yield str(detail["ctx"]["error"])


def complain_of_value(given: Given, option: str, program: type[ProgramSettings]) -> str:
    """Why it cannot be used. A secret is not quoted."""
    allowed = _option_of(program, option).allowed
    if option in secrets_of(program):
        return f"The value of {given.name} cannot be used; allowed: {allowed}."
    return f'{given.name} is "{without_password(given.value)}"; allowed: {allowed}.'


def without_password(value: object) -> str:
    """The value. Of an address without user and password, and without what follows `?` or `#`: a key may be in any of
    these."""
    # In an invalid address the password may contain any character.
    without_user = re.sub(r"^(\s*[a-z][a-z0-9+]*:/+)?.*@", r"\1***@", str(value), flags=re.DOTALL | re.IGNORECASE)
    return re.sub(r"(/[^?#]*[?#]).*", r"\1***", without_user, flags=re.DOTALL)


def _option_of(program: type[ProgramSettings], name: str) -> Option:
    return next(item for item in program.model_fields[name].metadata if isinstance(item, Option))
