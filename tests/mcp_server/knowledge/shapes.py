"""Whether an answer has the shape that the contract gives it: nothing missing, nothing more, each value of its kind."""

import re
from collections.abc import Iterator
from typing import Any

from tests.mcp_server.knowledge.contract import ADDITIONS, SHAPES, Shape


def assert_shape(answer: object, name: str) -> None:
    differences = [*find_differences(answer, SHAPES[name], ADDITIONS.get(name), "answer")]
    assert not differences, differences


def find_differences(value: Any, shape: Shape, more: Shape, place: str) -> Iterator[str]:
    """In words. `more` has the fields that an object may have besides; None if there are none."""
    match shape:
        case dict() if isinstance(value, dict):
            allowed = more or {}
            yield from (f"{place}.{name} is missing" for name in shape.keys() - value.keys())
            yield from (f"{place}.{name} is too much" for name in value.keys() - shape.keys() - allowed.keys())
            for name in value.keys() & shape.keys():
                yield from find_differences(value[name], shape[name], allowed.get(name), f"{place}.{name}")
            for name in value.keys() & (allowed.keys() - shape.keys()):
                yield from find_differences(value[name], allowed[name], None, f"{place}.{name}")
        case [item] if isinstance(shape, list) and isinstance(value, list):
            for number, inner in enumerate(value):
                yield from find_differences(inner, item, more[0] if more else None, f"{place}[{number}]")
        case _ if not _is_of(value, shape):
            yield f"{place} is {value!r}, not {shape}"


def _is_of(value: object, shape: Shape) -> bool:
    match shape:
        case tuple():
            return any(_is_of(value, choice) for choice in shape)
        case re.Pattern():
            return isinstance(value, str) and shape.fullmatch(value) is not None
        case type():
            # In Python a truth value is a number too.
            return type(value) in ((int, float) if shape is float else (shape,))
        case _:
            return type(value) is type(shape) and value == shape
