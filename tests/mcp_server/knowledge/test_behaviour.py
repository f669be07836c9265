"""What the tools do with what they take: defaults, metadata, filters, replacement, and who may."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from tests.engine_program import EngineProgram
from tests.keys import bearer
from tests.mcp_program import McpProgram
from tests.mcp_server.conftest import unique
from tests.mcp_server.knowledge.asking import Knowledge
from tests.mcp_server.knowledge.conftest import READING_KEY, Write
from tests.mcp_server.knowledge.contract import CONFIRMATION, PARAMETERS
from tests.mcp_server.knowledge.shapes import assert_shape
from tests.pdf_files import make_text_pdf
from tests.scanned_pages import write_scan

from kb.client import Json


def found_by(client: Knowledge, query: str, **filters: object) -> list[str]:
    """The ids of the documents that hold the word; a search by meaning finds others too."""
    results = client.search(query, filters=filters)["results"]
    return [result["document_id"] for result in results if query in result["chunk_text"]]


def names_of(shown: Json) -> list[str]:
    return [document["filename"] for document in shown["documents"]]


@pytest.fixture
def reader(knowledge_program: McpProgram) -> Iterator[Knowledge]:
    """With the key that can only read."""
    with Knowledge(knowledge_program.url, headers=bearer(READING_KEY)) as client:
        yield client


def test_title_and_tags_are_the_documents_own_and_the_rest_is_its_metadata(
    knowledge: Knowledge, engine_http: httpx.Client, write: Write
) -> None:
    """M16."""
    tags = [unique(), unique()]
    given = {"title": "The Otter", "tags": tags, "author": "John Doe", "year": 2025, "nested": {"a": [1, None]}}

    added = knowledge.add(write("otter.txt", "The otter sleeps."), metadata=given)

    document = engine_http.get(f"/documents/{added['document_id']}").json()
    assert (document["title"], sorted(document["tags"])) == ("The Otter", sorted(tags))
    kept = {name: document["metadata"][name] for name in ("author", "year", "nested")}
    assert kept == {"author": "John Doe", "year": 2025, "nested": {"a": [1, None]}}
    assert not document["metadata"].keys() & {"title", "tags"}


def test_an_empty_file_is_refused_at_once(knowledge: Knowledge, write: Write) -> None:
    """M16."""
    refused = knowledge.ask("knowledge-add", {"file_path": str(write("empty.pdf", ""))})

    assert (refused["success"], refused["error"]) == (False, "file_not_readable")


def test_metadata_cannot_take_the_place_of_what_a_result_tells(knowledge: Knowledge, write: Write) -> None:
    """M17."""
    word = unique("word")
    added = knowledge.add(write("a.txt", word), metadata={"format": "lie", "page_num": "lie", "date_added": "lie"})

    result = knowledge.search(word, top_k=1)["results"][0]

    assert result["document_id"] == added["document_id"]
    assert (result["metadata"]["format"], result["metadata"]["page_num"]) == ("txt", None)
    assert result["metadata"]["date_added"] != "lie"


def test_the_same_file_is_a_duplicate_and_a_changed_one_is_replaced_in_place(
    knowledge: Knowledge, write: Write
) -> None:
    """M16, M22."""
    before, after = unique("before"), unique("after")
    path = write("plan.txt", before)
    first = knowledge.add(path)

    again = knowledge.add(path)
    path.write_text(after)
    changed = knowledge.add(path)
    task_id = knowledge.ask("knowledge-add", {"file_path": str(path)})["task_id"]
    repeated = knowledge.ask("knowledge-task-status", {"task_id": task_id, "wait": True})

    assert "duplicate" not in first
    assert_shape(again, "sync add")
    assert again["duplicate"] is True
    assert "duplicate" not in changed
    assert_shape(repeated, "completed task")
    assert repeated["result"]["duplicate"] is True
    assert {first["document_id"], again["document_id"], changed["document_id"]} == {first["document_id"]}
    assert (found_by(knowledge, before), found_by(knowledge, after)) == ([], [first["document_id"]])


def test_text_is_recognised_only_where_there_is_none_unless_it_is_forced(
    own: Knowledge, write: Write, files: Path
) -> None:
    """M16."""
    typed = make_text_pdf(["Typed words."])
    scan = write_scan(files / "scan.pdf", [["Printed words."]])

    methods = [
        own.add(write("typed.pdf", typed))["processing_method"],
        own.add(write("typed.pdf", typed), force_ocr=True)["processing_method"],
        own.add(scan)["processing_method"],
    ]

    assert methods == ["text_extraction", "ocr", "ocr"]
    assert own.search("printed words", top_k=1)["results"][0]["filename"] == "scan.pdf"


def test_filters_narrow_a_search(knowledge: Knowledge, write: Write) -> None:
    """M17."""
    word, tag = unique("word"), unique()
    text = knowledge.add(write("a.txt", word), metadata={"tags": [tag, "other"], "author": "Ann"})["document_id"]
    page = knowledge.add(write("b.html", f"<p>{word}"), metadata={"tags": [tag]})["document_id"]
    today = datetime.now(UTC).date()
    yesterday, tomorrow = str(today - timedelta(days=1)), str(today + timedelta(days=1))

    assert sorted(found_by(knowledge, word)) == sorted([text, page])
    assert found_by(knowledge, word, format="html") == [page]
    assert sorted(found_by(knowledge, word, tags=[tag])) == sorted([text, page])
    assert found_by(knowledge, word, tags=[tag, "other"]) == [text]
    assert found_by(knowledge, word, metadata={"author": "Ann"}) == [text]
    assert len(found_by(knowledge, word, date_range={"start": yesterday, "end": tomorrow})) == 2
    assert found_by(knowledge, word, date_range={"end": yesterday}) == []
    assert found_by(knowledge, word, date_range={"start": tomorrow}) == []
    assert found_by(knowledge, word, format="html", tags=["other"]) == []


def test_results_are_ten_unless_told_otherwise_and_can_be_continued(own: Knowledge, write: Write) -> None:
    """M17."""
    for number in range(12):
        own.ask("knowledge-add", {"file_path": str(write(f"{number}.txt", f"Otter number {number}"))})
    # Added after the others, and so found after them.
    assert own.add(write("last.txt", "Otter, the last"))["success"]

    default = own.search("otter")
    pages = [own.search("otter", top_k=5, offset=offset)["results"] for offset in (0, 5, 10, 15)]

    assert (len(default["results"]), default["total_results"]) == (10, 10)
    assert [len(page) for page in pages] == [5, 5, 3, 0]
    assert len({result["chunk_id"] for page in pages for result in page}) == 13
    assert [result["chunk_id"] for page in pages[:2] for result in page] == [
        result["chunk_id"] for result in default["results"]
    ]


def test_a_least_relevance_leaves_out_what_is_below_it(own: Knowledge, write: Write) -> None:
    """M17."""
    for name, text in {"otter": "The otter sleeps by the river.", "tax": "Invoices are due in March."}.items():
        own.add(write(f"{name}.txt", text))
    first, second = own.search("otter by the river")["results"]
    between = (first["relevance_score"] + second["relevance_score"]) / 2

    kept = own.search("otter by the river", min_relevance=between)["results"]

    assert first["relevance_score"] > second["relevance_score"]
    assert [result["filename"] for result in kept] == ["otter.txt"]


def test_documents_are_listed_newest_first_or_as_is_asked(own: Knowledge, write: Write) -> None:
    """M19."""
    for name, text in {"b.txt": "Long enough", "c.txt": "Short", "a.txt": "Between"}.items():
        own.add(write(name, text))

    page = own.show(limit=2)

    assert names_of(own.show()) == ["a.txt", "c.txt", "b.txt"]
    assert names_of(own.show(sort_order="asc")) == ["b.txt", "c.txt", "a.txt"]
    assert names_of(own.show(sort_by="filename")) == ["c.txt", "b.txt", "a.txt"]
    assert names_of(own.show(sort_by="size", sort_order="asc")) == ["c.txt", "a.txt", "b.txt"]
    assert_shape(page, "show")
    assert (names_of(page), page["total_count"], page["next_offset"]) == (["a.txt", "c.txt"], 3, 2)
    assert names_of(own.show(limit=2, offset=2)) == ["b.txt"]
    assert own.show(offset=3)["documents"] == []


def test_a_document_has_no_other_name_than_its_uuid(
    knowledge: Knowledge, engine_http: httpx.Client, write: Write
) -> None:
    """M18."""
    added = knowledge.add(write("a.txt", unique("word")))["document_id"]
    number = engine_http.get(f"/documents/{added}").json()["id"]

    for given in (str(number), f"{number}.0", "a.txt", f"{added}/", f"../documents/{number}", "%2e%2e"):
        refused = knowledge.ask("knowledge-remove", {"document_id": given, "confirm": True})

        assert_shape(refused, "document not found")
        assert refused["document_id"] == given
    assert engine_http.get(f"/documents/{added}").is_success


def test_a_key_that_can_only_read_adds_removes_and_clears_nothing(reader: Knowledge, knowledge: Knowledge) -> None:
    """M2, M16, M18, M20."""
    calls: dict[str, Json] = {
        "knowledge-add": {"file_path": "anything.txt"},
        "knowledge-remove": {"document_id": "anything", "confirm": True},
        "knowledge-clear": CONFIRMATION,
    }
    before = knowledge.ask("knowledge-status")["knowledge_base"]["document_count"]

    for tool, arguments in calls.items():
        assert reader.ask(tool, arguments)["error"] == "forbidden"
    refused = reader.request("tools/cancel", {"taskId": "123e4567-e89b-42d3-a456-426614174000"})

    assert_shape(refused, "protocol error")
    assert (refused["error"]["code"], refused["error"]["data"]["error_type"]) == (-32000, "forbidden")
    assert reader.ask("knowledge-status")["knowledge_base"]["document_count"] == before
    assert reader.show(limit=1)["success"]


def test_both_toolsets_are_on_by_default_and_each_has_an_address(own_engine: EngineProgram) -> None:
    """M1."""
    listed = {}
    for path in ("/mcp", "/mcp/knowledge", "/mcp/kb"):
        with Knowledge(own_engine.mcp_url, path=path) as client:
            listed[path] = [tool["name"] for tool in client.request("tools/list")["result"]["tools"]]

    assert set(listed["/mcp/knowledge"]) == PARAMETERS.keys()
    assert listed["/mcp/kb"]
    assert all(name.startswith("kb_") for name in listed["/mcp/kb"])
    assert listed["/mcp"] == listed["/mcp/kb"] + listed["/mcp/knowledge"]


def test_a_tool_of_a_toolset_that_is_off_is_unknown(knowledge: Knowledge) -> None:
    """M1."""
    error = knowledge.request("tools/call", {"name": "kb_status", "arguments": {}})["error"]

    assert (error["code"], error["data"]["error_type"]) == (-32602, "unknown_tool")
