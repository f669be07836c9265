"""The values of a JSON document as lines, each behind the way to it.

    server.port: 8080
    server.hosts[1].name: alpha

Items are counted from 1, as people count. Here an object is a tuple of pairs, and a number is as it is written.
"""

import json
from collections.abc import Iterator
from typing import Any

from kb.engine.ingestion.titles import shorten

# The way to a value is written before it, so it must not be long. Below this depth it begins anew, and a longer key is
# written out once, by itself.
_MAX_DEPTH = 8
_LONGEST_KEY = 60
_LONGEST_LIST = 200


def is_plain(value: Any) -> bool:
    """Whether there is no object in it, nor a list in a list."""
    if isinstance(value, list):
        return not any(isinstance(item, tuple | list) for item in value)
    return not isinstance(value, tuple) or not value


def render_scalar(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def render_lines(path: str, value: Any) -> Iterator[str]:
    """The lines of the value that is found at `path`; one of them may hold a text of several lines."""
    stack = [(path, 0, value)]
    while stack:
        path, depth, value = stack.pop()
        if is_plain(value):
            yield _render_plain(path, value)
            continue
        if depth >= _MAX_DEPTH:
            yield f"{path}:"
            path, depth = "", 0
        if isinstance(value, list):
            children = [(f"{path}[{number}]", depth + 1, item) for number, item in enumerate(value, start=1)]
        else:
            yield from (f"{key}:" for key, _ in value if len(key) > _LONGEST_KEY)
            children = [(_join(path, key), depth + 1, item) for key, item in value]
        stack.extend(reversed(children))


def _join(path: str, key: str) -> str:
    name = key if len(key) <= _LONGEST_KEY else shorten(key, _LONGEST_KEY)
    return f"{path}.{name}" if path else name


def _render_plain(path: str, value: Any) -> str:
    if not isinstance(value, list):
        return _render_text(path, render_scalar(value) if value != () else "")
    items = [render_scalar(item) for item in value]
    line = ", ".join(items)
    if len(line) <= _LONGEST_LIST and "\n" not in line:
        return _render_text(path, line)
    return "\n".join([f"{path}:" if path else "", *(f"- {item.strip()}" for item in items)]).lstrip("\n")


def _render_text(path: str, text: str) -> str:
    """On the line of its path, or as paragraphs between blank lines."""
    text = text.strip()
    if not path:
        return text
    return f"{path}:\n\n{text}\n" if "\n" in text else f"{path}: {text}".rstrip()
