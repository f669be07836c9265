"""The kinds of values that an option can have, each with the words in which it is explained."""

import ipaddress
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr


@dataclass(frozen=True)
class Option:
    """What the type of a field cannot say: its values in words, and its default if that is not its text."""

    allowed: str
    default: str | None = None


def _split_list(value: object) -> object:
    if not isinstance(value, str):
        return value
    return tuple(part.strip() for part in value.split(",") if part.strip())


def _split_paths(value: object) -> object:
    if not isinstance(value, str):
        return value
    folders = tuple(part.strip() for part in value.split(os.pathsep) if part.strip())
    if not folders:
        raise ValueError("no folder at all")
    return folders


def _find_folder(folder: Path) -> Path:
    try:
        return folder.expanduser().absolute()
    except RuntimeError as error:
        raise ValueError("the home of nobody") from error


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


def _check_bucket_url(url: str) -> str:
    # What a bucket may be called; of a prefix, what no server and no tool takes for something else.
    if url and not re.fullmatch(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9_-][A-Za-z0-9._-]*)*/?", url):
        raise ValueError("not a place in a bucket")
    return url.rstrip("/")


_HOST = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*)(:\d*)?")


def _check_store_url(url: SecretStr) -> SecretStr:
    parts = urlsplit(url.get_secret_value())
    # With either elsewhere, a part of a password would be taken for the name of a host or a database.
    is_plain = (
        parts.netloc.count("@") <= 1
        and "@" not in parts.path + parts.query + parts.fragment
        and not re.search(r"\s", parts.netloc)
        # A port that is not a number may be a password, and messages would show it.
        and all(_HOST.fullmatch(host) for host in parts.netloc.rpartition("@")[2].split(","))
    )
    is_named = parts.scheme in {"postgresql", "postgres"} and parts.path.strip("/")
    if url.get_secret_value() and not (is_plain and is_named):
        raise ValueError("not an address of a database")
    return url


def _check_key(key: SecretStr) -> SecretStr:
    for line in key.get_secret_value().splitlines():
        # It travels in an HTTP header, which carries nothing else unharmed.
        if not re.fullmatch(r"[!-~]*", line.strip()):
            raise ValueError("not a key")
    return key


def _check_secret(secret: SecretStr) -> SecretStr:
    if not re.fullmatch(r"[!-~]*", secret.get_secret_value()):
        raise ValueError("not a key")
    return secret


Key = Annotated[
    SecretStr,
    AfterValidator(_check_key),
    Option("letters, digits and punctuation, without spaces; several on a line each", default="empty: no key"),
]
Secret = Annotated[
    SecretStr, AfterValidator(_check_secret), Option("letters, digits and punctuation, without spaces", default="empty")
]
StoreUrl = Annotated[
    SecretStr,
    AfterValidator(_check_store_url),
    Option("postgresql://USER:PASSWORD@HOST:PORT/DATABASE", default="empty: SQLite in the data directory"),
]
BucketUrl = Annotated[
    str,
    AfterValidator(_check_bucket_url),
    Option("s3://BUCKET or s3://BUCKET/PREFIX", default="empty: in the data directory"),
]
EndpointUrl = Annotated[
    str,
    AfterValidator(lambda url: url and _check_url(url)),
    Option("an http:// or https:// address without user, password or query", default="empty: AWS"),
]
Region = Annotated[str, Field(pattern=r"^[a-z0-9-]+$"), Option("small letters, digits and hyphens")]
Host = Annotated[str, AfterValidator(_check_host), Option("a host name or an IP address, without a port")]
_COLLECTION_NAME = r"[^,:\s][^,:]{0,99}"


def _check_collections(names: tuple[str, ...]) -> tuple[str, ...]:
    if not names or not all(re.fullmatch(_COLLECTION_NAME, name) for name in names):
        raise ValueError("not names of collections")
    return tuple(dict.fromkeys(names))


def _check_toolsets(names: tuple[str, ...]) -> tuple[str, ...]:
    if not names or {"kb", "kb-collections"} <= set(names):
        raise ValueError("not a choice of toolsets")
    return tuple(dict.fromkeys(names))


def _check_origin(text: str) -> str:
    """The origin as a browser writes it: in lower case, without the default port of the scheme."""
    origin = text.lower().rstrip("/")
    parts = urlsplit(origin)
    is_origin = parts.netloc == origin.partition("://")[2] and parts.hostname and parts.port != 0
    if not is_origin or re.search(r"[\s@*,]", origin):
        raise ValueError("not an origin")
    default_port = {"http": ":80", "https": ":443"}.get(parts.scheme, ":")
    return origin.removesuffix(default_port)


Origins = Annotated[
    tuple[Annotated[str, AfterValidator(_check_origin)], ...],
    BeforeValidator(_split_list),
    Option("addresses such as `https://notes.example:8443`, separated by commas", default="empty: none"),
]
Names = Annotated[tuple[str, ...], BeforeValidator(_split_list), Option("names separated by commas")]
Port = Annotated[int, Field(ge=0, le=65_535), Option("a number from 1 to 65535, or 0 for any free port")]
Megabytes = Annotated[int, Field(ge=1), Option("a whole number, 1 or more")]
Switch = Annotated[bool, Option("true or false")]
EngineUrl = Annotated[
    str,
    AfterValidator(_check_url),
    Option(
        "an http:// or https:// address without user, password or query",
        default="`http://` with `KB_HOST` and `KB_PORT`",
    ),
]
DataFolder = Annotated[
    Path,
    AfterValidator(_find_folder),
    Option("a folder", default="the platform's user data directory (`~/.local/share/kb` on Linux)"),
]
Model = Annotated[
    str, Option("a folder, or the name of one in `~/.cache/kb/models`", default="empty: all-MiniLM-L6-v2")
]
Device = Annotated[Literal["auto", "cpu", "cuda", "rocm"], Option("`auto`, `cpu`, `cuda` (NVIDIA) or `rocm` (AMD)")]
LogFormat = Annotated[Literal["text", "json"], Option("`text` or `json`")]
Toolsets = Annotated[
    tuple[Literal["kb", "kb-collections", "knowledge"], ...],
    BeforeValidator(_split_list),
    AfterValidator(_check_toolsets),
    Option("`kb` or `kb-collections` (not both), `knowledge`, separated by commas"),
]
Collections = Annotated[
    tuple[str, ...],
    BeforeValidator(_split_list),
    AfterValidator(_check_collections),
    Option("names separated by commas, each of at most 100 characters and without a colon"),
]
Folders = Annotated[
    tuple[Path, ...],
    BeforeValidator(_split_paths),
    AfterValidator(lambda folders: tuple(map(_find_folder, folders))),
    Option("folders separated by the platform's path separator", default="your home and the working directory"),
]
Seconds = Annotated[int, Field(ge=1), Option("a whole number, 1 or more")]
