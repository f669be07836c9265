"""The configuration files of AI clients: changed in one place, and otherwise left as they are."""

import codecs
import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

from kb.cli.connecting.known import Json
from kb.cli.private_files import write_privately


class NotOurs(Exception):
    """The file is not what it should be; it is left alone. The message says why."""


def read_configuration(file: Path) -> tuple[Json, bytes]:
    """What is in it, parsed and as it is; nothing if it is not there. Raises `NotOurs`, and `OSError`."""
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return {}, b""
    try:
        configuration = json.loads(content.decode("utf-8-sig").strip() or "{}", object_pairs_hook=_without_twins)
        # What cannot be written again, such as a number without end, must not be lost in the attempt.
        _render(configuration, content)
    except (ValueError, RecursionError) as error:
        raise NotOurs("it is not plain JSON (it may have comments, which would be lost)") from error
    if not isinstance(configuration, dict):
        raise NotOurs("it holds no JSON object")
    return configuration, content


def _without_twins(pairs: list[tuple[str, Any]]) -> Json:
    if len(found := dict(pairs)) < len(pairs):
        raise ValueError("a name stands there twice, of which one would be lost")
    return found


def _render(configuration: object, like: bytes) -> bytes:
    indent = re.match(rb"\s*\{\s*?\n([ \t]+)", like.removeprefix(codecs.BOM_UTF8))
    spaces = indent[1].decode() if indent else 2
    return f"{json.dumps(configuration, indent=spaces, ensure_ascii=False, allow_nan=False)}\n".encode()


def merge(old: Json, new: Json) -> Json:
    """The old configuration with what `new` holds: servers by their names, inputs by their ids. Raises `NotOurs`."""
    merged = dict(old)
    for key, added in new.items():
        present = old.get(key, type(added)())
        if not isinstance(present, type(added)):
            raise NotOurs(f"its `{key}` is not what it should be")
        merged[key] = {**present, **added} if isinstance(added, dict) else _merge_inputs(present, added)
    return merged


def _merge_inputs(present: list[Any], added: list[Json]) -> list[Any]:
    ids = [one["id"] for one in added]
    return [one for one in present if not isinstance(one, dict) or one.get("id") not in ids] + added


def write_configuration(file: Path, configuration: Json, old: bytes, now: datetime) -> Path | None:
    """Put it in the place of the old file, of which a copy is kept beside it: that is returned.

    Only the user can read either. Where the file is a link, what it points to is changed.
    """
    file = file.resolve()
    file.parent.mkdir(parents=True, exist_ok=True)
    backup = None
    if old:
        # A script may write several servers in one second: no copy takes the place of another.
        backup = file.with_name(f"{file.name}.{now:%Y%m%d-%H%M%S-%f}.backup")
        write_privately(backup, old)
    write_privately(file, _render(configuration, old))
    return backup
