"""Who gives the values of options: flags, the environment, `kb.toml` and the defaults."""

import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pydantic import SecretStr

from kb.settings.folders import default_data_dir
from kb.settings.programs import PROGRAMS, ProgramSettings, SettingsError

PREFIX = "KB_"


class Origin(StrEnum):
    FLAG = "flag"
    ENVIRONMENT = "environment"
    FILE = "file"
    DEFAULT = "default"


@dataclass(frozen=True)
class Given:
    """What somebody gave for an option: the value, or of a secret perhaps the file that holds it."""

    value: object
    key: str
    """The option's name; with `_file` if the secret stands in a file."""
    name: str
    """What the user calls it, for the sentence if it is wrong."""
    origin: Origin
    file: Path | None = None
    problem: str | None = None
    """The message why there is no value, or None."""

    def read(self) -> object:
        """The value itself. Raises `SettingsError` if there is none, or if the file of a secret cannot be read."""
        if self.problem is not None:
            raise SettingsError(self.problem)
        return self.value if self.file is None else _read_secret(self.file, self.name)


@dataclass(frozen=True)
class Source:
    """Somebody who gives values."""

    origin: Origin
    values: Mapping[str, object]
    call: Callable[[str], str]
    """What the user calls a value of it."""

    def find(self, option: str, program: type[ProgramSettings]) -> Given | None:
        key = f"{option}_file"
        if option in secrets_of(program) and key in self.values:
            # Unlike that of a path, this one leaves the home of nobody as it is: there is no such file.
            file = Path(os.path.expanduser(str(self.values[key]).strip()))
            is_twice = option in self.values
            problem = f"Both {self.call(option)} and {self.call(key)} are set. Set one of them." if is_twice else None
            return Given(None, key, self.call(key), self.origin, file, problem)
        if option not in self.values:
            return None
        return Given(self.values[option], option, self.call(option), self.origin)


def list_sources(
    program: type[ProgramSettings], flags: Mapping[str, object], environ: Mapping[str, str], in_file: Source
) -> tuple[Source, ...]:
    """The weakest first."""
    defaults = {
        name: field.get_default(call_default_factory=True)
        for name, field in program.model_fields.items()
        if not field.is_required()
    }
    given_flags = {name: value for name, value in flags.items() if value is not None}
    return (
        Source(Origin.DEFAULT, {**defaults, "data_dir": default_data_dir(environ)}, str),
        in_file,
        Source(Origin.ENVIRONMENT, _named_variables(environ), variable_of),
        Source(Origin.FLAG, given_flags, lambda name: _flag_of(name, program)),
    )


def open_config(path: Path) -> Source:
    """Gives nothing if there is no such file. Raises `SettingsError` if it cannot be read."""
    values = {key: _anchor(key, value, path.parent) for key, value in read_config(path).items()}
    return Source(Origin.FILE, values, lambda name: f"`{name}` in {path}")


def _anchor(key: str, value: object, folder: Path) -> object:
    """A relative path counts from the file's folder: wherever a program is started, it has the same documents."""
    if _kind_of(key) == tuple[Path, ...]:
        if isinstance(value, str):
            return os.pathsep.join(str(_anchored(part, folder)) for part in value.split(os.pathsep))
        return [_anchored(part, folder) for part in value] if isinstance(value, list) else value
    is_path = _kind_of(key) is Path or key.endswith("_file")
    # A model's name alone is one of those in the cache.
    is_folder_of_model = key == "embedding_model" and isinstance(value, str) and os.sep in value
    return _anchored(value, folder) if is_path or is_folder_of_model else value


def _anchored(path: object, folder: Path) -> object:
    bare = path.strip() if isinstance(path, str) else ""
    return str(folder / bare) if bare and not bare.startswith("~") else path


def _kind_of(option: str) -> object:
    fields = (program.model_fields.get(option) for program in PROGRAMS)
    return next((field.annotation for field in fields if field is not None), None)


def _named_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of kb by the names of their options.

    An empty one counts as not set: that is how compose files pass on what they were not given.
    """
    given = {name.removeprefix(PREFIX): value for name, value in environ.items() if name.startswith(PREFIX)}
    return {name.lower(): value for name, value in given.items() if value.strip()}


def read_config(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise SettingsError(f"{path} is not a TOML file: {error}.") from error


def _read_secret(path: Path, named_by: str) -> str:
    try:
        secret = path.read_text(encoding="utf-8").strip()
    except OSError as error:
        if not str(path).startswith((os.sep, "~")) and not path.exists():
            # The value may be the key itself instead of the path of its file.
            raise SettingsError(
                f"{named_by} names a file that is not there. Give its whole path. The value is not shown: it "
                "may be the key itself."
            ) from None
        raise SettingsError(f"{named_by} names {path}, which cannot be read: {error.strerror}.") from error
    except ValueError:
        # Nor can a name with a zero byte be that of a text. Its message and its cause would quote the secret.
        raise SettingsError(f"{named_by} names {path}, which is not text.") from None
    if not secret:
        raise SettingsError(f"{named_by} names {path}, which is empty. Write the key into it.")
    return secret


def secrets_of(program: type[ProgramSettings]) -> list[str]:
    return [name for name, field in program.model_fields.items() if field.annotation is SecretStr]


def variable_of(name: str) -> str:
    return PREFIX + name.upper()


def _flag_of(name: str, program: type[ProgramSettings]) -> str:
    return "--" + name.removeprefix(f"{program.program}_").replace("_", "-")
