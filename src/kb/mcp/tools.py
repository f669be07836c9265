"""A tool is data: what an agent reads about it, what it takes, what it may do, and the function behind it."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any, TypeAlias

from jsonschema import Draft202012Validator

from kb.client import EngineClient, Json
from kb.mcp.file_roots import FileRoots
from kb.mcp.uploads import Uploads

Schema: TypeAlias = dict[str, Any]  # Any: JSON Schema
Properties: TypeAlias = Mapping[str, Schema]


class Effect(Enum):
    """What a call can do to the base; clients decide by it whether to ask their user first.

    `ADDS` takes nothing away; `CHANGES` may.
    """

    READS = "reads"
    ADDS = "adds"
    CHANGES = "changes"


ReportProgress: TypeAlias = Callable[[float, str], Awaitable[None]]
"""Tells the caller how far the call is, from 0 to 1 and in words. Each number must be larger than the one before."""


@dataclass(frozen=True)
class Call:
    """What a tool's function has at hand besides its arguments."""

    engine: EngineClient
    uploads: Uploads
    files: FileRoots
    caller: str
    """The name of who calls: an upload belongs to the one who started it."""
    later: Callable[[Coroutine[Any, Any, None]], None]
    """Has the server finish this after the answer is given; what it raises is only logged."""
    report_progress: ReportProgress | None = None
    """None if the caller did not ask to be told."""
    undoings: list[Callable[[], Coroutine[Any, Any, None]]] = field(default_factory=list)
    """What the server does later should the caller cancel the call."""


Run: TypeAlias = Callable[[Call, Json], Awaitable[Json]]


@dataclass(frozen=True)
class Tool:
    name: str
    title: str
    description: str
    effect: Effect
    run: Run
    """Gets arguments that the schema allows; answers a JSON object or raises `ToolError` or what `httpx` raises."""
    parameters: Properties = field(default_factory=dict)
    required: tuple[str, ...] = ()
    answers: Properties = field(default_factory=dict)
    """The fields of an answer; none is promised, because an error is an answer too."""
    is_idempotent: bool = False
    judges_values: bool = False
    """Its function gets whatever values were given, and answers in its own words if they are wrong or missing."""

    @cached_property
    def input_schema(self) -> Schema:
        return {
            "type": "object",
            "additionalProperties": False,
            "properties": dict(self.parameters),
            "required": [*self.required],
        }

    @cached_property
    def output_schema(self) -> Schema:
        return {"type": "object", "properties": {**self.answers, **_ERROR_FIELDS}}

    @cached_property
    def validator(self) -> Draft202012Validator:
        if self.judges_values:
            names_alone: Schema = dict.fromkeys(self.parameters, True)
            return Draft202012Validator({**self.input_schema, "properties": names_alone, "required": []})
        return Draft202012Validator(self.input_schema)


_ERROR_FIELDS: Properties = {
    "success": {"type": "boolean", "description": "false if the call failed"},
    "error": {"type": "string", "description": "why it failed: a stable code"},
    "message": {"type": "string", "description": "why it failed and what to do"},
}
