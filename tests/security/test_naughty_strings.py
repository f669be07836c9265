"""Naughty strings through every field of every operation, and every argument of every tool: refused or kept, as told.

The fields are found in the OpenAPI description and in the tools' schemas, so a new one is tested from its first day.
"""

import json
import random
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient
from tests.amounts import SEED, Tell, amount
from tests.api_calls import Answer
from tests.bundles import unpack
from tests.security.naughty_strings import NAUGHTY, has_words, is_unicode
from tests.security.open_programs import TOOLSETS, Base, CallMcp, Json, open_base, open_mcp

from kb.control_characters import without_control_characters
from kb.engine.api.app import create_routes
from kb.engine.model.portable import PortableDocument
from kb.engine.ports import Embedder

SCHEMA = create_routes().openapi()
# What is read of every request, whatever the description says; asked of these, one of each kind.
READ_ALWAYS = ("x-request-id", "accept", "range", "content-type", "origin", "if-none-match", "x-forwarded-for")
HEADERS_READ_BY = frozenset({"submit_job", "get_document_file", "search", "export_bundle"})
BOUNDARY = "a-boundary-that-no-string-has"
NOT_IN_HEADERS = frozenset("\0\r\n")
PLAIN_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
# NUL, and half a character.
ALWAYS = ("\0", "\ud800")
# Waited for by whoever calls; nothing here should come near it.
LONGEST_ANSWER_SECONDS = 20

Place = tuple[str | int, ...]


@dataclass(frozen=True)
class Field:
    """A place for a string in a request: in its path, query, headers, body or form."""

    method: str
    path: str
    kind: str
    place: Place

    def __str__(self) -> str:
        return f"{self.method} {self.path} {self.kind} {'.'.join(map(str, self.place))}"


def resolve(schema: Json) -> Json:
    """The schema itself, where there is only a reference to it or null beside it."""
    if "$ref" in schema:
        return resolve(SCHEMA["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
    return next((resolve(one) for one in schema.get("anyOf", ()) if one.get("type") != "null"), schema)


def string_places(schema: Json) -> Iterator[Place]:
    """Where a value of this schema has strings, keys of free objects among them (as a place that ends with "")."""
    schema = resolve(schema)
    kind = schema.get("type")
    if "properties" in schema:
        for name, inner in schema["properties"].items():
            yield from ((name, *place) for place in string_places(inner))
    elif kind == "array":
        yield from ((0, *place) for place in string_places(schema["items"]))
    elif kind == "object":
        yield from (("key",), ("",))
    elif kind == "string":
        yield ()


def simplest(schema: Json) -> Any:  # Any: a value of JSON
    """The smallest value that the schema allows."""
    schema = resolve(schema)
    if "const" in schema:
        return schema["const"]
    match schema.get("type"):
        case "object":
            return {name: simplest(schema["properties"][name]) for name in schema.get("required", ())}
        case "integer" | "number":
            return 1
        case "boolean":
            return True
        case _:
            return schema.get("enum", ["walrus"])[0]


def put(value: Any, place: Place, text: str) -> Any:  # Any: a value of JSON
    """The value with the text at that place, and what is needed around it."""
    if not place:
        return text
    first, *rest = place
    if first == "":
        return {text: "walrus"}
    if first == 0:
        return [put(None, tuple(rest), text)]
    inner = value if isinstance(value, dict) else {}
    return {**inner, first: put(inner.get(first), tuple(rest), text)}


def every_field() -> Iterator[Field]:
    for path, operations in SCHEMA["paths"].items():
        for method, operation in operations.items():
            for parameter in operation.get("parameters", ()):
                yield Field(method, path, parameter["in"], (parameter["name"],))
            if operation["operationId"] in HEADERS_READ_BY:
                yield from (Field(method, path, "header", (name,)) for name in READ_ALWAYS)
            yield Field(method, path, "query", ("",))
            for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
                if media_type == "application/json":
                    yield from (Field(method, path, "body", place) for place in string_places(content["schema"]))
                    yield Field(method, path, "body", ("",))
                elif media_type == "multipart/form-data":
                    names = resolve(content["schema"])["properties"]
                    yield from (Field(method, path, "form", (name,)) for name in (*names, ""))


def send_with(api: TestClient, field: Field, text: str, document_id: int) -> Answer:
    """Send the simplest request that the operation takes, with the text in that field."""
    encoded = quote(text, safe="", errors="surrogatepass")
    path = field.path
    if field.kind == "path":
        path = path.replace(f"{{{field.place[0]}}}", encoded)
    path = path.replace("{id}", str(document_id)).replace("{tag}", "walrus").replace("{n}", "1")
    if field.kind == "query":
        path += f"?{field.place[0]}={encoded}" if field.place[0] else f"?{encoded}=1"
    headers: dict[str, bytes] = {}
    content = b""
    body = SCHEMA["paths"][field.path][field.method].get("requestBody", {}).get("content", {})
    if field.kind == "form":
        headers["content-type"] = f"multipart/form-data; boundary={BOUNDARY}".encode()
        content = render_form(str(field.place[0]), text)
    elif "application/json" in body:
        headers["content-type"] = b"application/json"
        value = simplest(body["application/json"]["schema"])
        if field.kind == "body":
            value = {**value, text: "walrus"} if field.place == ("",) else put(value, field.place, text)
        content = json.dumps(value).encode()
    if field.kind == "header":
        headers[str(field.place[0])] = text.encode(errors="surrogatepass")
    # Bytes, because no other way of giving headers lets them be what they are.
    given = [(name.encode(), value) for name, value in headers.items()]
    return api.request(field.method, f"http://testserver{path}", headers=given, content=content)


def render_form(name: str, text: str) -> bytes:
    """A form with a file, and the text in this field, as a field's name, or as the name of the file."""
    raw = text.encode(errors="surrogatepass")
    filename = raw if name == "file" else b"walrus.txt"
    escaped = filename.replace(b"\\", b"\\\\").replace(b'"', b'\\"')
    parts = [b'name="file"; filename="%b"\r\n\r\nThe walrus rests.' % escaped]
    if name == "":
        parts.append(b'name="%b"\r\n\r\nwalrus' % raw)
    elif name != "file":
        parts.append(b'name="%b"\r\n\r\n%b' % (name.encode(), raw))
    start = f"--{BOUNDARY}\r\nContent-Disposition: form-data; ".encode()
    return b"".join(start + part + b"\r\n" for part in parts) + f"--{BOUNDARY}--\r\n".encode()


def strings_for(number: int, count: int) -> list[str]:
    """Others for each field, so that together the fields meet all of them; and always those that break most."""
    others = [text for text in NAUGHTY if text not in ALWAYS]
    chosen = random.Random(f"{SEED} {number}").sample(others, min(count, len(NAUGHTY)) - len(ALWAYS))  # noqa: S311
    return [*ALWAYS, *chosen]


@pytest.fixture
def base(embedder: Embedder) -> Iterator[Base]:
    with open_base(embedder) as base:
        yield base


def test_no_string_in_any_field_is_more_than_a_refusal(base: Base, tell: Tell) -> None:
    """E2, E3: a client's mistake is never the engine's fault, and the id of every request can be logged as it is."""
    statuses = Counter[int]()
    fields = list(every_field())
    # One for each operation, since some of them delete it.
    document_ids = {
        name: base.add_note(tags=["walrus"]) for name in sorted({f"{one.method} {one.path}" for one in fields})
    }

    for number, field in enumerate(fields):
        document_id = document_ids[f"{field.method} {field.path}"]
        for text in strings_for(number, amount(selection=8, full=80)):
            if field.kind == "header" and NOT_IN_HEADERS & set(text):
                continue
            began = time.monotonic()
            answer = send_with(base.api, field, text, document_id)
            statuses[answer.status_code] += 1
            assert answer.status_code < 500, (str(field), text, answer.text)
            assert time.monotonic() - began < LONGEST_ANSWER_SECONDS, (str(field), text)
            assert PLAIN_ID.fullmatch(answer.headers["x-request-id"]), (str(field), text)

    # What was accepted does no harm later either.
    base.work_off()
    tell(f"{len(fields)} fields, {statuses.total()} requests with naughty strings, answered {dict(statuses)}")
    assert statuses[200] + statuses[202] > 0


def note_of(text: str) -> Json:
    """A note with the text in every field that takes it."""
    limits = {"text": 1_000_000, "title": 500, "source_path": 4096}
    note: Json = {"type": "note", "text": "The walrus rests.", "metadata": {text: [text]}}
    note |= {name: text for name, longest in limits.items() if len(text) <= longest}
    if not without_control_characters(text).strip():
        del note["title"]
    return note | ({"tags": [text]} if len(text.strip()) <= 200 else {})


def test_what_is_accepted_comes_back_as_it_was_and_can_be_deleted(base: Base, tell: Tell) -> None:
    """E4, E11, E16: text, path and metadata to the last character, a tag without the space around it.

    C6: a title without control characters.
    """
    chosen = strings_for(-1, amount(selection=40, full=len(NAUGHTY)))
    answers = {text: base.api.post("/jobs", content=json.dumps(note_of(text)), headers=JSON_BODY) for text in chosen}
    base.work_off()
    kept: dict[int, str] = {}

    for text, answer in answers.items():
        refusal = 422 if is_unicode(text) else 400
        assert answer.status_code == (202 if has_words(text) else refusal), (text, answer.text)
        if answer.status_code == 202:
            job = base.api.get(f"/jobs/{answer.json()['id']}").json()
            assert job["status"] == "completed", (text, job)
            kept[job["document_id"]] = text
    tags = {tag["name"] for tag in base.api.get("/tags").json()["tags"]}
    for document_id, text in kept.items():
        assert_readable(base, document_id, note_of(text))
        assert {*stored_tags(note_of(text))} <= tags
    assert_exported(base, kept)
    for document_id in kept:
        assert base.api.delete(f"/documents/{document_id}").status_code == 200
        assert base.api.get(f"/documents/{document_id}").status_code == 404
    tell(f"{len(chosen)} naughty notes: {len(kept)} kept and read back, {len(chosen) - len(kept)} refused")


JSON_BODY = {"Content-Type": "application/json"}


def stored_tags(note: Json) -> list[str]:
    return [tag.strip() for tag in note.get("tags", [])]


def assert_readable(base: Base, document_id: int, note: Json) -> None:
    document = base.api.get(f"/documents/{document_id}").json()
    told = {name: document[name] for name in ("text", "title", "source_path", "metadata") if name in note}
    tags = stored_tags(note)

    expected = {name: note[name] for name in told}
    if "title" in note:
        expected["title"] = without_control_characters(note["title"])
    assert told == expected
    assert document["tags"] == tags
    for tag in tags:
        listed = base.api.get("/documents", params={"tag": tag}).json()["documents"]
        assert document_id in [one["id"] for one in listed], tag
    # By its meaning any note is found, if only the scope lets it through and not all others too.
    scope = {"tags": tags, "filters": {"source_path": note["source_path"]} if "source_path" in note else {}}
    found = base.api.post("/search", json={"query": "walrus", "mode": "vector", "top": 200, **scope}).json()
    assert not any(scope.values()) or document_id in [hit["document_id"] for hit in found["results"]], scope
    assert base.api.post("/search", json={"query": note["text"][:10_000], "mode": "fts"}).status_code == 200


def assert_exported(base: Base, kept: Mapping[int, str]) -> None:
    members = unpack(base.api.get("/export").content)
    exported = {one.record.id: one.record for one in members if isinstance(one, PortableDocument)}
    for document_id, text in kept.items():
        record, note = exported[document_id], note_of(text)
        assert record.note_text == note["text"]
        assert record.metadata == note["metadata"]
        assert [*record.tags] == stored_tags(note)


@pytest.mark.parametrize("toolsets", TOOLSETS, ids=",".join)
def test_no_string_in_any_argument_breaks_a_tool(
    embedder: Embedder, tmp_path: Path, toolsets: tuple[str, ...], tell: Tell
) -> None:
    """M6: whatever an agent writes, it gets an answer that a model can act on."""
    outcomes = Counter[str]()
    with open_base(embedder) as base, open_mcp(base, toolsets, tmp_path) as call_mcp:
        tools = call_mcp("tools/list", {})["result"]["tools"]
        arguments = [(tool, place) for tool in tools for place in (*string_places(tool["inputSchema"]), ("",))]
        for number, (tool, place) in enumerate(arguments):
            for text in strings_for(number, amount(selection=4, full=60)):
                given = simplest(tool["inputSchema"])
                given = {**given, text: "walrus"} if place == ("",) else put(given, place, text)
                outcome = outcome_of(call_mcp, tool["name"], given)
                outcomes[outcome] += 1
                assert outcome != "internal_error", (tool["name"], place, text)

    tell(f"{len(arguments)} arguments of {toolsets}, {outcomes.total()} calls with naughty strings: {dict(outcomes)}")
    assert outcomes["success"] > outcomes.total() // 10


def outcome_of(call_mcp: CallMcp, tool: str, arguments: Json) -> str:
    answer = call_mcp("tools/call", {"name": tool, "arguments": arguments})
    if "error" in answer:
        kind: str = answer["error"]["data"]["error_type"]
        return kind
    told = answer["result"]["structuredContent"]
    assert json.loads(answer["result"]["content"][0]["text"]) == told
    code: str = told["error"] if answer["result"]["isError"] else "success"
    return code


def test_the_list_has_what_it_promises() -> None:
    assert len(NAUGHTY) > 400
    assert sum(not is_unicode(text) for text in NAUGHTY) == 7
