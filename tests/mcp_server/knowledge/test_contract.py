"""What the tools take: tests made from the contract's tables."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.mcp_clients import Agent
from tests.mcp_server.conftest import unique
from tests.mcp_server.knowledge.asking import Knowledge
from tests.mcp_server.knowledge.conftest import Write
from tests.mcp_server.knowledge.contract import (
    ADDED_BOUNDS,
    ADDED_FILTERS,
    ADDED_PARAMETERS,
    CONFIRMATION,
    FILTERS,
    PARAMETERS,
    REQUIRED,
    Schemas,
)
from tests.mcp_server.knowledge.shapes import assert_shape

from kb.client import Json

UNKNOWN = "123e4567-e89b-42d3-a456-426614174000"
RIGHT: dict[str, Json] = {
    "knowledge-add": {"file_path": "nowhere.pdf"},
    "knowledge-search": {"query": "anything"},
    "knowledge-remove": {"document_id": UNKNOWN},
    "knowledge-show": {},
    "knowledge-status": {},
    "knowledge-task-status": {"task_id": UNKNOWN},
}
WRONG_TYPES: dict[str, tuple[object, ...]] = {
    "string": (1, True, None, ["a"], {"a": "b"}),
    "integer": ("5", 1.5, True, None, [5]),
    "number": ("0.5", True, None, [0.5]),
    "boolean": ("true", 1, 0, None, [True]),
    "object": ("{}", [], 1, None),
}
STEPS = {"integer": 1, "number": 0.001}
# What the schema tells besides is for those who read it, or told in tests of its own.
NOT_IN_THE_TABLES = {"description", "pattern", "properties", "additionalProperties"}


def parameters_of(tool: str) -> Schemas:
    bounds = ADDED_BOUNDS.get(tool, {})
    own = {name: {**schema, **bounds.get(name, {})} for name, schema in PARAMETERS[tool].items()}
    return {**own, **ADDED_PARAMETERS.get(tool, {})}


def wrong_values(schema: dict[str, Any]) -> Iterator[object]:
    yield from WRONG_TYPES[schema["type"]]
    step = STEPS.get(schema["type"], 0)
    yield from (schema[bound] + sign * step for bound, sign in (("minimum", -1), ("maximum", 1)) if bound in schema)
    yield from (
        "x" * (schema[bound] + sign) for bound, sign in (("minLength", -1), ("maxLength", 1)) if bound in schema
    )
    if "enum" in schema:
        yield from ("", schema["enum"][0].upper(), ",".join(schema["enum"]))
    if schema.get("format") == "uuid":
        yield from ("", "42", UNKNOWN[:-1], UNKNOWN + "0", f" {UNKNOWN}", "g" + UNKNOWN[1:])


def right_values(schema: dict[str, Any]) -> Iterator[object]:
    yield from (schema[name] for name in ("default", "minimum", "maximum") if name in schema)
    yield from schema.get("enum", ())
    if schema.get("format") == "uuid":
        yield from (UNKNOWN, UNKNOWN.upper())
    else:
        yield from ("x" * schema[name] for name in ("minLength", "maxLength") if name in schema)
    yield from {"boolean": (True, False), "object": ({},)}.get(schema["type"], ())


PLACES = [(tool, name) for tool in RIGHT for name in parameters_of(tool)]
WRONG = [(tool, name, value) for tool, name in PLACES for value in wrong_values(parameters_of(tool)[name])]
ACCEPTED = [(tool, name, value) for tool, name in PLACES for value in right_values(parameters_of(tool)[name])]


def name_of(value: object) -> str | None:
    """Of a case, where the value itself would be too long."""
    return f"{len(value)} characters" if isinstance(value, str) and len(value) > 40 else None


def test_the_tools_are_those_of_the_contract(knowledge: Knowledge) -> None:
    """M16, M17, M18, M19, M20, M21, M22."""
    listed = knowledge.request("tools/list")["result"]["tools"]

    assert {tool["name"] for tool in listed} == PARAMETERS.keys()
    assert len(listed) == len(PARAMETERS)


@pytest.mark.parametrize("tool", PARAMETERS)
def test_a_tool_shows_the_parameters_of_the_contract_and_no_others(knowledge: Knowledge, tool: str) -> None:
    """M5, M16, M17, M18, M19, M20, M21, M22."""
    listed = {told["name"]: told["inputSchema"] for told in knowledge.request("tools/list")["result"]["tools"]}

    schema = listed[tool]
    shown = {
        name: {key: value for key, value in told.items() if key not in NOT_IN_THE_TABLES}
        for name, told in schema["properties"].items()
    }
    assert shown == parameters_of(tool)
    assert schema["required"] == REQUIRED[tool]
    assert (schema["type"], schema["additionalProperties"]) == ("object", False)
    assert all(told["description"] for told in schema["properties"].values())


def test_the_filters_and_the_metadata_are_told_field_by_field(knowledge: Knowledge) -> None:
    """M16, M17."""
    listed = {told["name"]: told["inputSchema"] for told in knowledge.request("tools/list")["result"]["tools"]}

    filters = listed["knowledge-search"]["properties"]["filters"]
    metadata = listed["knowledge-add"]["properties"]["metadata"]
    assert filters["properties"].keys() == FILTERS | ADDED_FILTERS
    assert filters["additionalProperties"] is False
    assert {name: told["type"] for name, told in metadata["properties"].items()} == {"title": "string", "tags": "array"}
    # Any other field is kept as it is.
    assert metadata.get("additionalProperties", True) is True


@pytest.mark.parametrize(
    ("tool", "name"), [(tool, name) for tool, names in REQUIRED.items() if tool in RIGHT for name in names]
)
def test_a_required_parameter_that_is_missing_is_named(knowledge: Knowledge, tool: str, name: str) -> None:
    """M6."""
    arguments = {given: value for given, value in RIGHT[tool].items() if given != name}

    refused = knowledge.ask(tool, arguments)

    assert_shape(refused, "missing parameter")
    assert (refused["parameter"], refused["missing_parameters"]) == (name, [name])


@pytest.mark.parametrize(("tool", "name", "value"), WRONG, ids=name_of)
def test_a_value_of_another_type_or_beyond_a_limit_is_refused(
    knowledge: Knowledge, tool: str, name: str, value: object
) -> None:
    """M6."""
    refused = knowledge.ask(tool, {**RIGHT[tool], name: value})

    assert_shape(refused, "wrong parameter")
    assert refused["parameter"] == name
    assert f"'{name}'" in refused["message"]


@pytest.mark.parametrize(("tool", "name", "value"), ACCEPTED, ids=name_of)
def test_a_value_at_its_limit_is_accepted(knowledge: Knowledge, tool: str, name: str, value: object) -> None:
    """M16, M17, M18, M19, M22."""
    answer = knowledge.ask(tool, {**RIGHT[tool], name: value})

    # There is no such file, document or task; but it was looked for.
    assert answer.get("error") in (
        None,
        "file_not_found",
        "path_not_allowed",
        "document_not_found",
        "task_not_found",
        "empty_knowledge_base",
    )


@pytest.mark.parametrize("tool", PARAMETERS)
def test_a_parameter_that_a_tool_does_not_have_is_named(knowledge: Knowledge, tool: str) -> None:
    """M6."""
    refused = knowledge.ask(tool, {**RIGHT.get(tool, {}), "verbose": True})

    assert_shape(refused, "wrong parameter")
    assert refused["parameter"] == "verbose"


@pytest.mark.parametrize(("tool", "name"), [*PLACES, *(("knowledge-clear", name) for name in CONFIRMATION)])
def test_a_misspelt_parameter_is_named_with_the_right_one(knowledge: Knowledge, tool: str, name: str) -> None:
    """M6."""
    refused = knowledge.ask(tool, {**RIGHT.get(tool, {}), f"{name}s": "x"})

    assert_shape(refused, "wrong parameter")
    assert refused["parameter"] == f"{name}s"
    assert f"Did you mean '{name}'?" in refused["message"]


WRONG_INSIDE: list[tuple[str, str, Json, str]] = [
    ("knowledge-search", "filters", {"formt": "pdf"}, "filters.formt"),
    ("knowledge-search", "filters", {"format": 1}, "filters.format"),
    ("knowledge-search", "filters", {"tags": "one"}, "filters.tags"),
    ("knowledge-search", "filters", {"tags": [1]}, "filters.tags.0"),
    ("knowledge-search", "filters", {"date_range": "2025"}, "filters.date_range"),
    ("knowledge-search", "filters", {"date_range": {"from": "2025-01-01"}}, "filters.date_range.from"),
    ("knowledge-search", "filters", {"date_range": {"start": "2025-02-30"}}, "filters.date_range.start"),
    ("knowledge-search", "filters", {"date_range": {"end": "soon"}}, "filters.date_range.end"),
    ("knowledge-add", "metadata", {"title": 1}, "metadata.title"),
    ("knowledge-add", "metadata", {"title": " "}, "metadata.title"),
    ("knowledge-add", "metadata", {"tags": "one"}, "metadata.tags"),
    ("knowledge-add", "metadata", {"tags": [None]}, "metadata.tags.0"),
]


@pytest.mark.parametrize(("tool", "name", "value", "place"), WRONG_INSIDE)
def test_what_is_wrong_inside_an_object_is_named_with_its_place(
    knowledge: Knowledge, tool: str, name: str, value: Json, place: str
) -> None:
    """M6, M16, M17."""
    refused = knowledge.ask(tool, {**RIGHT[tool], name: value})

    assert_shape(refused, "wrong parameter")
    assert refused["parameter"] == place


NOT_CONFIRMED: list[Json] = [
    {},
    {"confirm": True},
    {"confirmation_phrase": "DELETE ALL"},
    *({**CONFIRMATION, "confirm": value} for value in (False, None, "true", "True", 1, 1.0, [True], {"confirm": True})),
    *(
        {**CONFIRMATION, "confirmation_phrase": value}
        for value in (
            "delete all",
            "DELETE",
            "DELETE ALL ",
            " DELETE ALL",
            "DELETE  ALL",
            "",
            None,
            True,
            ["DELETE ALL"],
        )
    ),
]


def test_nothing_is_cleared_without_both_exact_values(own: Knowledge, write: Write) -> None:
    """M20."""
    own.add(write("kept.txt", "Kept"))

    for arguments in NOT_CONFIRMED:
        refused = own.ask("knowledge-clear", arguments)

        assert_shape(refused, "unconfirmed clear")
        assert refused["current_document_count"] == 1
    assert own.show()["total_count"] == 1


TEXTS = st.sampled_from(["DELETE ALL", "true", "2025-01-01", "42", UNKNOWN, "../..", "~", "\0"]) | st.text(max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
NAMES = st.sampled_from(sorted({name for tool in PARAMETERS for name in parameters_of(tool)})) | TEXTS


@settings(deadline=None, max_examples=150)
@given(tool=st.sampled_from([*PARAMETERS]), arguments=st.dictionaries(NAMES, VALUES, max_size=4))
def test_whatever_is_sent_is_answered_in_the_one_form(knowledge: Knowledge, tool: str, arguments: Json) -> None:
    """M6, M16, M17, M18, M19, M20, M21, M22."""
    if tool == "knowledge-clear" and arguments == CONFIRMATION:
        return

    answer = knowledge.ask(tool, arguments)

    assert answer.get("error") != "internal_error"


def test_the_example_of_the_contract_passes_for_every_client(knowledge_agent: Agent, write: Write) -> None:
    """M16."""
    added = knowledge_agent.call("knowledge-add", file_path=str(write("doc.html", "<p>Words")), **{"async": True})
    missing = knowledge_agent.fail("knowledge-add")
    unknown = knowledge_agent.fail("knowledge-add", file_path=str(write("doc.xyz", "Words")))

    assert_shape(added, "async add")
    assert_shape(missing, "missing parameter")
    assert_shape(unknown, "unsupported format")


def test_every_client_gets_the_same_answers(knowledge_agent: Agent, write: Write) -> None:
    """M16, M17, M18, M19, M22."""
    word = unique("word")
    added = knowledge_agent.call("knowledge-add", file_path=str(write("x.txt", word)), **{"async": False})
    found = knowledge_agent.call("knowledge-search", query=word, filters={"format": "txt"}, top_k=1)
    shown = knowledge_agent.call("knowledge-show", limit=1)
    unconfirmed = knowledge_agent.fail("knowledge-remove", document_id=added["document_id"])
    removed = knowledge_agent.call("knowledge-remove", document_id=added["document_id"], confirm=True)
    gone = knowledge_agent.fail("knowledge-task-status", task_id=UNKNOWN)

    assert_shape(added, "sync add")
    assert_shape(found, "search")
    assert_shape(shown, "show")
    assert_shape(unconfirmed, "unconfirmed remove")
    assert_shape(removed, "remove")
    assert_shape(gone, "task not found")
