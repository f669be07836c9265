"""The reference page of the HTTP API, from its OpenAPI description and the table of status codes."""

import json
from collections.abc import Iterator
from typing import Any

from kb.engine.api.app import create_routes
from kb.engine.api.errors import STATUS_OF_CODE

Json = dict[str, Any]

_HEAD = """\
# HTTP API

<!-- Made by `make docs` from src/kb/engine/api: change it there. -->

The same as OpenAPI: `GET /api/openapi.json` of a running engine.

- Documents and jobs go by their integer `id` or their `uuid`; every route takes either.
- Times are RFC 3339 in UTC. Lists take `limit` and `offset` and tell the `total`.
- Unknown fields and query parameters are errors, never ignored.
- When `KB_API_KEY` is set, every request under `/api/` needs `Authorization: Bearer <key>`.
- Every answer has an `X-Request-ID`; the engine's log uses the same.

## Errors

Errors are `application/problem+json`: `type`, `title`, `status`, `detail` (for a person) and `code` (for a program,
stable).

`invalid_request` is 400 instead of 422 when the body cannot even be parsed.

| Code | Status |
|---|---|
"""


def render_http_api() -> str:
    schema = create_routes().openapi()
    codes = "".join(f"| `{code}` | {status} |\n" for code, status in STATUS_OF_CODE.items())
    return "".join([_HEAD, codes, "\n## Routes\n", *_render_routes(schema), "\n## Shapes\n", *_render_shapes(schema)])


def _render_routes(schema: Json) -> Iterator[str]:
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            yield f"\n### `{method.upper()} {path}`\n\n{operation.get('description', operation['summary'] + '.')}\n"
            yield from _render_parameters(operation)
            for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
                yield f"\nBody, `{media_type}`: {_render_type(content['schema'])}\n"
            for status, answer in operation["responses"].items():
                for media_type, content in answer.get("content", {}).items():
                    if status.startswith("2"):
                        yield f"\nAnswer {status}, `{media_type}`: {_render_type(content.get('schema', {}))}\n"


def _render_shapes(schema: Json) -> Iterator[str]:
    for name, shape in schema["components"]["schemas"].items():
        yield f"\n### {name}\n"
        if "description" in shape:
            yield f"\n{shape['description']}\n"
        if "properties" not in shape:
            yield f"\n{_render_type(shape)}\n"
            continue
        yield "\n| Field | Type | Default |\n|---|---|---|\n"
        for field, described in shape["properties"].items():
            default = "required" if field in shape.get("required", ()) else f"`{json.dumps(described.get('default'))}`"
            yield f"| `{field}` | {_render_type(described)} | {default} |\n"


def _render_parameters(operation: Json) -> Iterator[str]:
    parameters = operation.get("parameters", [])
    if parameters:
        yield "\n| Parameter | In | Type | Meaning |\n|---|---|---|---|\n"
    for parameter in parameters:
        name = f"`{parameter['name']}`" + (" (required)" if parameter.get("required") else "")
        meaning = parameter.get("description", "")
        yield f"| {name} | {parameter['in']} | {_render_type(parameter['schema'])} | {meaning} |\n"


def _render_type(field: Json) -> str:
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in field:
        return " or ".join(_render_type(option) for option in field["anyOf"])
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    if "const" in field:
        return f"`{field['const']}`"
    kind = str(field.get("type", "any"))
    if kind == "array":
        return f"list of {_render_type(field.get('items', {}))}"
    limits = [f"{sign} {field[key]}" for key, sign in _LIMITS.items() if key in field]
    return kind + (f" ({', '.join(limits)})" if limits else "")


_LIMITS = {
    "minimum": "from",
    "maximum": "to",
    "minLength": "at least",
    "maxLength": "at most",
    "format": "as",
}
