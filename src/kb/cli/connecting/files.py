"""The configuration files of AI clients: changed in one place, and otherwise left as they are."""

import json
import os
import re
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

from kb.cli.connecting.known import Json


class NotOurs(Exception):
    """The file is not what it should be; it is left alone. The message says why."""


def read_configuration(file: Path) -> tuple[Json, str]:
    """What is in it, and its text; nothing if it is not there. Raises `NotOurs`, and `OSError`."""
    try:
        text = file.read_text(encoding="utf-8-sig")
        configuration = json.loads(text) if text.strip() else {}
    except FileNotFoundError:
        return {}, ""
    except ValueError as error:
        raise NotOurs("it is not plain JSON (it may have comments, which would be lost)") from error
    if not isinstance(configuration, dict):
        raise NotOurs("it holds no JSON object")
    return configuration, text


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


def write_configuration(file: Path, configuration: Json, old_text: str, now: datetime) -> Path | None:
    """Put it in the place of the old file, of which a copy is kept beside it: that is returned.

    Only the user can read either. Where the file is a link, what it points to is changed.
    """
    file = file.resolve()
    file.parent.mkdir(parents=True, exist_ok=True)
    backup = None
    if old_text:
        backup = file.with_name(f"{file.name}.{now:%Y%m%d-%H%M%S}.backup")
        _write_privately(backup, old_text)
    indent = re.match(r"\s*\{\s*?\n([ \t]+)", old_text)
    text = json.dumps(configuration, indent=indent[1] if indent else 2, ensure_ascii=False)
    _write_privately(file, f"{text}\n")
    return backup


def _write_privately(file: Path, text: str) -> None:
    """Wholly or not at all."""
    descriptor, temporary = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with open(descriptor, "w", encoding="utf-8") as opened:
            opened.write(text)
            opened.flush()
            os.fsync(opened.fileno())
        Path(temporary).replace(file)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
