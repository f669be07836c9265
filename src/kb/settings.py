"""Every option of every program: its name, its default, what it allows and what it means.

A value comes from a flag, else from the environment, else from `kb.toml` in the config directory, else from
the default. The option `max_file_mb` is the flag `--max-file-mb`, the variable `KB_MAX_FILE_MB` and the key
`max_file_mb`. A secret may also stand in a file of its own: `KB_API_KEY_FILE` names it.

This module is the only reader of the environment. The reference page is made from `describe_options`.
"""

import difflib
import ipaddress
import os
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Self, TypeVar
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    model_validator,
)

CONFIG_FILE = "kb.toml"
BYTES_PER_MB = 1_048_576
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
_PREFIX = "KB_"

# Each platform's variable and, below the user's home, the folder it stands for when it is not set.
_MAC_SUPPORT = "Library/Application Support"
_CONFIG_HOMES = {"win32": ("APPDATA", "AppData/Roaming"), "darwin": ("XDG_CONFIG_HOME", _MAC_SUPPORT)}
_DATA_HOMES = {"win32": ("LOCALAPPDATA", "AppData/Local"), "darwin": ("XDG_DATA_HOME", _MAC_SUPPORT)}


class SettingsError(ValueError):
    """A setting that cannot be used. The message says which one and what is allowed, and holds no secret."""


@dataclass(frozen=True)
class Option:
    """What the type of a field cannot say: its values in words, and its default if that is not its text."""

    allowed: str
    default: str | None = None


@dataclass(frozen=True)
class OptionDescription:
    variable: str
    default: str
    allowed: str
    meaning: str
    programs: tuple[str, ...]


def _split_list(value: object) -> object:
    if not isinstance(value, str):
        return value
    return tuple(part.strip() for part in value.split(",") if part.strip())


def _check_host(host: str) -> str:
    bare = host.strip().removeprefix("[").removesuffix("]")
    if ":" in bare:
        ipaddress.IPv6Address(bare)
    elif not re.fullmatch(r"[A-Za-z0-9._-]+", bare):
        raise ValueError("not a host")
    return bare


def _check_url(url: str) -> str:
    parts = urlsplit(url)
    # Reading the port is what makes urlsplit check it.
    is_usable = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    if not is_usable or "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError("not an address of an engine")
    return url.rstrip("/")


def _check_key(key: SecretStr) -> SecretStr:
    # It travels in an HTTP header, which carries nothing else unharmed.
    if not re.fullmatch(r"[!-~]*", key.get_secret_value()):
        raise ValueError("not a key")
    return key


Key = Annotated[
    SecretStr,
    AfterValidator(_check_key),
    Option("letters, digits and punctuation, without spaces", default="empty: no key"),
]
Host = Annotated[str, AfterValidator(_check_host), Option("a host name or an IP address, without a port")]
Names = Annotated[tuple[str, ...], BeforeValidator(_split_list), Option("names separated by commas")]
Port = Annotated[int, Field(ge=0, le=65_535), Option("a number from 1 to 65535, or 0 for any free port")]
Megabytes = Annotated[int, Field(ge=1), Option("a whole number, 1 or more")]
Switch = Annotated[bool, Option("true or false")]
Url = Annotated[
    str, AfterValidator(_check_url), Option("an http:// or https:// address without user, password or query")
]
DataFolder = Annotated[
    Path,
    AfterValidator(lambda folder: folder.expanduser().absolute()),
    Option("a folder", default="the platform's user data directory (`~/.local/share/kb` on Linux)"),
]
Model = Annotated[
    str, Option("a folder, or a name that `kb model fetch` has fetched", default="empty: all-MiniLM-L6-v2")
]

_API_KEY_MEANING = (
    "The key that the engine demands of every request and that its clients send. Without it the engine is "
    "open to every program on the machine."
)


class ProgramSettings(BaseModel):
    model_config = ConfigDict(frozen=True, str_strip_whitespace=True, validate_default=True)
    program: ClassVar[str]


class EngineSettings(ProgramSettings):
    program = "engine"

    host: Host = Field("127.0.0.1", description="The address on which the engine listens.")
    port: Port = Field(8000, description="The port on which the engine listens.")
    data_dir: DataFolder = Field(description="Where the database and the original files are kept.")
    api_key: Key = Field(SecretStr(""), description=_API_KEY_MEANING)
    api_key_readonly: Key = Field(
        SecretStr(""), description="A second key, which can only read. It needs `KB_API_KEY`."
    )
    allowed_hosts: Names = Field(
        LOOPBACK_NAMES,
        description="The names under which the engine may be called (the Host header); the address in "
        "`KB_HOST` is always one of them.",
    )
    allowed_origins: Names = Field(
        LOOPBACK_NAMES,
        description="The hosts whose web pages may call the engine (the Origin header); the address in "
        "`KB_HOST` is always one of them.",
    )
    embedding_model: Model = Field("", description="The model that turns text into vectors.")
    max_file_mb: Megabytes = Field(100, description="The largest file that is accepted, in MB of 1,048,576 bytes.")
    insecure: Switch = Field(
        default=False,
        description="Lets the engine listen without a key on an address that other machines can reach. "
        "Otherwise it refuses to start.",
    )

    @model_validator(mode="after")
    def _check_keys(self) -> Self:
        if not self.api_key_readonly.get_secret_value():
            return self
        if not self.api_key.get_secret_value():
            raise ValueError("KB_API_KEY_READONLY needs KB_API_KEY: without it anyone can write. Set both.")
        if self.api_key_readonly == self.api_key:
            raise ValueError("KB_API_KEY_READONLY and KB_API_KEY are the same. Give each its own value.")
        return self

    @property
    def max_file_bytes(self) -> int:
        return self.max_file_mb * BYTES_PER_MB

    @property
    def accepted_hosts(self) -> tuple[str, ...]:
        return self._with_own_address(self.allowed_hosts)

    @property
    def accepted_origins(self) -> tuple[str, ...]:
        return self._with_own_address(self.allowed_origins)

    def _with_own_address(self, names: tuple[str, ...]) -> tuple[str, ...]:
        if self.host in {"0.0.0.0", "::"}:  # noqa: S104  compared, not listened on
            return names
        own = f"[{self.host}]" if ":" in self.host else self.host
        return tuple(dict.fromkeys((*names, own)))


class ClientSettings(ProgramSettings):
    program = "client"

    engine_url: Url = Field("http://127.0.0.1:8000", description="Where the clients find the engine.")
    api_key: Key = Field(SecretStr(""), description=_API_KEY_MEANING)


PROGRAMS: tuple[type[ProgramSettings], ...] = (EngineSettings, ClientSettings)
Program = TypeVar("Program", bound=ProgramSettings)


def load_engine_settings(flags: Mapping[str, object] = {}) -> EngineSettings:
    """Raise `SettingsError` for a value that cannot be used; a flag that is None was not given."""
    return read_settings(EngineSettings, flags, os.environ, config_dir())


def load_client_settings(flags: Mapping[str, object] = {}) -> ClientSettings:
    """As `load_engine_settings`, for the programs that call the engine."""
    return read_settings(ClientSettings, flags, os.environ, config_dir())


def config_dir(environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    return _own_folder(environ, *_CONFIG_HOMES.get(platform, ("XDG_CONFIG_HOME", ".config")))


def default_data_dir(environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    return _own_folder(environ, *_DATA_HOMES.get(platform, ("XDG_DATA_HOME", ".local/share")))


def cache_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """Where fetched models are kept: the same place on every platform."""
    return _own_folder(environ, "XDG_CACHE_HOME", ".cache")


def _own_folder(environ: Mapping[str, str], variable: str, fallback: str) -> Path:
    # The XDG specification has a relative path ignored: it would depend on where the program was started.
    given = Path(environ.get(variable, ""))
    return (given if given.is_absolute() else Path.home() / fallback) / "kb"


def model_folder(embedding_model: str, cache: Path) -> Path | None:
    """The folder of a model named in the settings; None is the bundled one. It need not exist."""
    if not embedding_model:
        return None
    given = Path(embedding_model).expanduser()
    is_path = given.is_absolute() or embedding_model.startswith(".") or given.is_dir()
    return given.absolute() if is_path else cache / "models" / embedding_model


def refuse_public_without_key(settings: EngineSettings) -> None:
    """Raise `SettingsError` if the engine would be open to other machines and nobody said that it may be."""
    if is_loopback(settings.host) or settings.api_key.get_secret_value() or settings.insecure:
        return
    raise SettingsError(
        f"KB_HOST is {settings.host}, which other machines can reach, and no key is set: anyone could read "
        "and change everything. Set KB_API_KEY (or KB_API_KEY_FILE), or KB_INSECURE=true if you mean it."
    )


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def describe_options() -> list[OptionDescription]:
    """Every option once, in the order of the programs and their fields."""
    owners = {name: program for program in PROGRAMS for name in program.model_fields}
    return [_describe(name, program) for name, program in owners.items()]


def _describe(name: str, owner: type[ProgramSettings]) -> OptionDescription:
    field, option = owner.model_fields[name], _option_of(owner, name)
    return OptionDescription(
        variable=_variable_of(name),
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
    variables = [_variable_of(name) for name in names]
    given = [name for name in environ if name.startswith(_PREFIX)]
    return [
        *(_complain(name, variables) for name in sorted(given) if name not in variables),
        *(f"{path}: {_complain(name, names)}" for name in _read_config(path) if name not in names),
    ]


def _complain(name: str, known: list[str]) -> str:
    nearest = difflib.get_close_matches(name, known, n=1)
    advice = f" Did you mean {nearest[0]}?" if nearest else ""
    return f"{name} is not a setting of kb and has no effect.{advice}"


def _known_names() -> Iterator[str]:
    for program in PROGRAMS:
        yield from program.model_fields
        yield from (f"{name}_file" for name in _secrets_of(program))


@dataclass(frozen=True)
class _Given:
    """A value together with the name under which the user gave it, for the sentence if it is wrong."""

    value: object
    name: str


def read_settings(
    program: type[Program], flags: Mapping[str, object], environ: Mapping[str, str], config_folder: Path
) -> Program:
    path = config_folder / CONFIG_FILE
    from_file = {name: _Given(value, f"`{name}` in {path}") for name, value in _read_config(path).items()}
    # An empty variable counts as not set: that is how compose files pass on what they were not given.
    from_environment = {
        variable.removeprefix(_PREFIX).lower(): _Given(value, variable)
        for variable, value in environ.items()
        if variable.startswith(_PREFIX) and value.strip()
    }
    from_flags = {name: _Given(value, _flag_of(name)) for name, value in flags.items() if value is not None}
    given = {"data_dir": _Given(default_data_dir(environ), "data_dir")}
    for source in (from_file, from_environment, from_flags):
        given |= _with_secrets_read(source, _secrets_of(program))
    try:
        return program.model_validate({name: one.value for name, one in given.items()})
    except ValidationError as exc:
        # The cause is dropped because it quotes its input, and that may be a secret.
        raise SettingsError(_explain(exc, program, given)) from None


def _read_config(path: Path) -> dict[str, object]:
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
        read[secret] = _Given(_read_secret(file), file.name)
    return read


def _read_secret(file: _Given) -> str:
    path = Path(str(file.value).strip()).expanduser()
    try:
        secret = path.read_text(encoding="utf-8").strip()
    except OSError as exc:
        raise SettingsError(f"{file.name} names {path}, which cannot be read: {exc.strerror}.") from exc
    except UnicodeDecodeError:
        # Its message and its cause would quote the secret.
        raise SettingsError(f"{file.name} names {path}, which is not text.") from None
    if not secret:
        raise SettingsError(f"{file.name} names {path}, which is empty. Write the key into it.")
    return secret


def _explain(error: ValidationError, program: type[ProgramSettings], given: Mapping[str, _Given]) -> str:
    sentences = []
    for detail in error.errors(include_url=False):
        if not detail["loc"]:
            sentences.append(str(detail["ctx"]["error"]))
            continue
        name = str(detail["loc"][0])
        allowed = _option_of(program, name).allowed
        if name in _secrets_of(program):
            sentences.append(f"The value of {given[name].name} cannot be used; allowed: {allowed}.")
        else:
            shown = re.sub(r"//[^/]*@", "//***@", str(given[name].value))
            sentences.append(f'{given[name].name} is "{shown}"; allowed: {allowed}.')
    return "\n".join(sentences)


def _option_of(program: type[ProgramSettings], name: str) -> Option:
    return next(item for item in program.model_fields[name].metadata if isinstance(item, Option))


def _secrets_of(program: type[ProgramSettings]) -> list[str]:
    return [name for name, field in program.model_fields.items() if field.annotation is SecretStr]


def _variable_of(name: str) -> str:
    return _PREFIX + name.upper()


def _flag_of(name: str) -> str:
    return "--" + name.replace("_", "-")
