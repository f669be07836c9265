"""Whether the arguments of a call are what its tool takes, said in words that a model can act on."""

import difflib
from typing import Any

from jsonschema.exceptions import ValidationError

from kb.client import Json
from kb.mcp.errors import ToolError
from kb.mcp.tools import Tool

# Of what a client calls a parameter that does not exist.
LONGEST_NAME = 100


def find_fault(tool: Tool, arguments: Json) -> ToolError | None:
    """What is wrong with the arguments, in words; their values are not repeated: they may be a megabyte."""
    missing = [name for name in tool.required if name not in arguments]
    if missing and not tool.judges_values:
        named = ", ".join(f"'{name}'" for name in missing)
        return ToolError(
            "missing_required_parameter",
            f"{tool.name} needs {named}. Call it again with {'it' if len(missing) == 1 else 'them'}.",
            parameter=missing[0],
            missing_parameters=missing,
        )
    # The first fault, never all of them: there may be a million. Schemas have their cheap demands first.
    fault = next(tool.validator.iter_errors(arguments), None)
    return None if fault is None else _explain_fault(tool, fault)


def _explain_fault(tool: Tool, fault: ValidationError) -> ToolError:
    place = ".".join(str(part) for part in fault.absolute_path)
    if fault.validator == "additionalProperties":
        known: list[str] = [*fault.schema["properties"]]  # type: ignore[index]  # such a schema is never a boolean
        given: Json = fault.instance  # type: ignore[assignment]  # and only objects have properties
        name = next(name for name in given if name not in known)[:LONGEST_NAME]
        nearest = difflib.get_close_matches(name, known, n=1)
        advice = f"Did you mean '{nearest[0]}'?" if nearest else f"Known are: {', '.join(known) or 'none'}."
        full_name = f"{place}.{name}" if place else name
        return ToolError(
            "invalid_parameter", f"{tool.name} has no parameter '{full_name}'. {advice}", parameter=full_name
        )
    return ToolError("invalid_parameter", f"'{place}' {_demand(fault)}.", parameter=place)


def _demand(fault: ValidationError) -> str:
    wanted: Any = fault.validator_value  # Any: whatever the schema's keyword takes
    given: Any = fault.instance
    match fault.validator:
        case "type":
            return f"must be of type {' or '.join([wanted] if isinstance(wanted, str) else wanted)}"
        case "enum":
            return f"must be one of: {', '.join(map(str, wanted))}"
        case "required":
            return f"needs {', '.join(name for name in wanted if name not in given)}"
        case "pattern" if isinstance(fault.schema, dict) and fault.schema.get("format") == "uuid":
            return "must be a UUID such as 123e4567-e89b-42d3-a456-426614174000"
        case keyword:
            return _DEMANDS.get(str(keyword), "is not what the tool's schema allows").format(wanted)


_DEMANDS = {
    "minimum": "must be {} or more",
    "maximum": "must be {} or less",
    "minLength": "must have at least {} characters",
    "maxLength": "must have at most {} characters",
    "maxItems": "must have at most {} items",
    "maxProperties": "must have at most {} fields",
    "pattern": "must not be blank, nor hold the character NUL",
}
