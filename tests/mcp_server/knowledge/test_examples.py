"""Each example of the contract, brought about with real processes and held against it field by field."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from tests.engine_program import EngineProgram
from tests.keys import bearer
from tests.mcp_program import McpProgram
from tests.mcp_server.knowledge.asking import Knowledge
from tests.mcp_server.knowledge.conftest import Write
from tests.mcp_server.knowledge.contract import CONFIRMATION
from tests.mcp_server.knowledge.shapes import assert_shape
from tests.mcp_server.shared_programs import AGENT_KEY
from tests.pdf_files import make_text_pdf
from tests.reading import SAMPLES
from tests.scanned_pages import write_scan
from tests.waiting import wait_until

from kb.client import Json
from kb.sizes import BYTES_PER_MB

GUIDE = make_text_pdf(["To configure authentication, set up the provider first.", "Then restart it."], title="Guide")
UNKNOWN = "123e4567-e89b-42d3-a456-426614174000"


def sample(files: Path, name: str) -> Path:
    return Path(shutil.copy(SAMPLES / name, files))


def add_large_page(own: Knowledge, write: Write, size_bytes: int) -> Json:
    """Mostly a remark that nobody reads, so that it is done at once."""
    page = "<p>Words.<!--{}-->"
    return own.add(write("large.html", page.format("x" * (size_bytes - len(page.format(""))))))


def ended_task(client: Knowledge, task_id: str) -> Json:
    return client.ask("knowledge-task-status", {"task_id": task_id, "wait": True})


def test_a_file_is_queued(knowledge: Knowledge, write: Write) -> None:
    """M16."""
    queued = knowledge.ask("knowledge-add", {"file_path": str(write("guide.pdf", GUIDE))})

    assert_shape(queued, "async add")
    assert queued["estimated_time_seconds"] >= 1
    assert ended_task(knowledge, queued["task_id"])["status"] == "completed"


def test_a_file_is_added_while_the_caller_waits(knowledge: Knowledge, write: Write) -> None:
    """M16."""
    added = knowledge.add(write("guide.pdf", GUIDE))

    assert_shape(added, "sync add")
    assert (added["filename"], added["processing_method"], added["chunks_created"]) == (
        "guide.pdf",
        "text_extraction",
        2,
    )
    assert 0 < added["processing_time_seconds"] < 60


def test_a_format_that_cannot_be_read_is_refused_with_those_that_can(knowledge: Knowledge, write: Write) -> None:
    """M16."""
    refused = knowledge.add(write("molecule.xyz", "3\nwater\nO 0 0 0"))

    assert_shape(refused, "unsupported format")
    assert {"pdf", "docx", "pptx", "xlsx", "html", "jpg", "png", "svg"} <= {*refused["supported_formats"]}
    assert all(name in refused["message"] for name in refused["supported_formats"])


def test_a_file_at_the_limit_is_taken_and_a_larger_one_is_refused(own: Knowledge, write: Write) -> None:
    """M16."""
    taken = add_large_page(own, write, BYTES_PER_MB)
    refused = add_large_page(own, write, BYTES_PER_MB + 1)

    assert_shape(taken, "sync add")
    assert_shape(refused, "file too large")
    assert refused["max_size_mb"] == 1
    assert refused["message"] == "File size (2 MB) exceeds maximum allowed size (1 MB)"
    assert own.show()["total_count"] == 1


def test_files_that_are_not_there_or_not_to_be_read_are_told_apart(
    knowledge: Knowledge, files: Path, tmp_path: Path
) -> None:
    """M16."""
    outside = tmp_path / "outside.txt"
    outside.write_text("Words")

    assert_shape(knowledge.add(files / "nothing.pdf"), "file not found")
    assert_shape(knowledge.add(outside), "path not allowed")
    assert_shape(knowledge.add(files), "file not readable")


def test_a_search_finds_passages(own: Knowledge, write: Write) -> None:
    """M17."""
    added = own.add(write("auth-guide.pdf", GUIDE), metadata={"author": "John Doe", "tags": ["technical", "api-docs"]})

    found = own.search("How to configure authentication?", top_k=5)

    assert_shape(found, "search")
    assert found["query"] == "How to configure authentication?"
    assert found["total_results"] == len(found["results"])
    best = found["results"][0]
    assert (best["document_id"], best["filename"]) == (added["document_id"], "auth-guide.pdf")
    assert best["metadata"]["page_num"] == 1
    assert "provider" in best["chunk_text"]
    assert all(0 <= result["relevance_score"] <= 1 for result in found["results"])


def test_a_search_without_matches_says_so(own: Knowledge, write: Write) -> None:
    """M17."""
    own.add(write("guide.pdf", GUIDE))

    nothing = own.search("non-existent topic", min_relevance=1.0)

    assert_shape(nothing, "no results")
    assert nothing["query"] == "non-existent topic"


def test_a_search_in_an_empty_base_fails(own: Knowledge) -> None:
    """M17."""
    assert_shape(own.search("anything"), "empty base")


def test_a_document_is_removed_once_it_is_confirmed(own: Knowledge, write: Write) -> None:
    """M18."""
    added = own.add(write("old-document.pdf", GUIDE))
    named = {"document_id": added["document_id"]}

    unconfirmed = own.ask("knowledge-remove", named)
    still_there = own.show()["total_count"]
    removed = own.ask("knowledge-remove", {**named, "confirm": True})
    gone = own.ask("knowledge-remove", {**named, "confirm": True})

    assert_shape(unconfirmed, "unconfirmed remove")
    assert unconfirmed["document"] == {"id": added["document_id"], "filename": "old-document.pdf", "chunks": 2}
    assert still_there == 1
    assert_shape(removed, "remove")
    assert (removed["document_id"], removed["chunks_removed"]) == (added["document_id"], added["chunks_created"])
    assert_shape(gone, "document not found")
    assert gone["message"] == f"Document with ID '{added['document_id']}' not found"
    assert gone["document_id"] == added["document_id"]
    assert own.show()["total_count"] == 0


def test_the_documents_are_listed_and_the_figures_agree(own: Knowledge, write: Write, files: Path) -> None:
    """M19, M21."""
    picture = sample(files, "png/meadow.png")
    added = [own.add(write("api-documentation.pdf", GUIDE)), own.add(picture)]
    large = add_large_page(own, write, BYTES_PER_MB // 2)

    shown, status = own.show(), own.ask("knowledge-status")

    assert_shape(shown, "show")
    assert (shown["total_count"], shown["limit"], shown["offset"]) == (3, 100, 0)
    by_id = {document["id"]: document for document in shown["documents"]}
    assert by_id.keys() == {document["document_id"] for document in (*added, large)}
    drawn = by_id[added[1]["document_id"]]
    assert (drawn["format"], drawn["processing_method"]) == ("png", "image_analysis")
    assert drawn["size_bytes"] == picture.stat().st_size
    assert_shape(status, "status")
    base = status["knowledge_base"]
    assert base["document_count"] == 3
    assert base["total_chunks"] == sum(document["chunk_count"] for document in shown["documents"])
    assert base["total_size_bytes"] == sum(document["size_bytes"] for document in shown["documents"])
    assert base["total_size_mb"] == pytest.approx(base["total_size_bytes"] / BYTES_PER_MB, abs=0.006)
    assert base["average_chunks_per_document"] == pytest.approx(base["total_chunks"] / 3, abs=0.06)
    assert status["last_updated"] >= max(document["date_added"] for document in shown["documents"])
    assert status["configuration"]["max_file_size_mb"] == 1


def test_an_empty_base_is_listed_and_has_a_status(own: Knowledge) -> None:
    """M19, M21."""
    assert_shape(own.show(), "empty show")
    assert_shape(own.ask("knowledge-status"), "empty status")


def test_clearing_takes_everything_away_and_tells_how_much(own: Knowledge, write: Write) -> None:
    """M20."""
    own.add(write("guide.pdf", GUIDE))
    add_large_page(own, write, BYTES_PER_MB // 2)
    before = own.ask("knowledge-status")["knowledge_base"]

    unconfirmed = own.ask("knowledge-clear", {"confirm": False, "confirmation_phrase": "DELETE ALL"})
    cleared = own.ask("knowledge-clear", CONFIRMATION)

    assert_shape(unconfirmed, "unconfirmed clear")
    assert unconfirmed["current_document_count"] == 2
    assert_shape(cleared, "clear")
    assert (cleared["documents_removed"], cleared["embeddings_removed"]) == (2, before["total_chunks"])
    assert cleared["storage_freed_mb"] == pytest.approx(before["total_size_mb"], abs=0.011)
    assert own.show()["total_count"] == 0


def test_what_is_wrong_is_told_and_the_status_is_no_error(
    own: Knowledge, own_engine: EngineProgram, write: Write
) -> None:
    """M21."""
    own.add(write("guide.pdf", GUIDE))
    connection = apsw.Connection(str(own_engine.data_dir / "kb.sqlite"))
    # They call functions that only the engine has.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
    connection.execute("UPDATE documents SET vector_model = 'a model from before'")
    connection.close()

    status = own.ask("knowledge-status")

    assert_shape(status, "unhealthy status")
    assert "no vectors" in status["health"]["issues"][0]


def test_a_completed_task_tells_its_document(knowledge: Knowledge, write: Write) -> None:
    """M22."""
    task_id = knowledge.ask("knowledge-add", {"file_path": str(write("example.pdf", GUIDE))})["task_id"]

    completed = ended_task(knowledge, task_id)

    assert_shape(completed, "completed task")
    assert completed["task_id"] == task_id
    assert (completed["result"]["filename"], completed["result"]["chunks_created"]) == ("example.pdf", 2)
    named = {"document_id": completed["result"]["document_id"], "confirm": True}
    assert knowledge.ask("knowledge-remove", named)["chunks_removed"] == 2


def test_a_failed_task_tells_why(knowledge: Knowledge, files: Path) -> None:
    """M16, M22."""
    locked = sample(files, "docx/encrypted.docx")
    task_id = knowledge.ask("knowledge-add", {"file_path": str(locked)})["task_id"]

    failed, refused = ended_task(knowledge, task_id), knowledge.add(locked)

    assert_shape(failed, "failed task")
    assert (failed["task_id"], failed["error"]) == (task_id, "encrypted_file")
    assert_shape(refused, "failed add")
    assert (refused["error"], refused["message"]) == (failed["error"], failed["message"])


@pytest.fixture
def slow_task(knowledge: Knowledge, files: Path) -> Iterator[str]:
    """A scan that takes many seconds to read; nobody waits for it."""
    scan = write_scan(files / "slow.pdf", [[f"Page {page}, line {line}" for line in range(3)] for page in range(60)])
    task_id = knowledge.ask("knowledge-add", {"file_path": str(scan)})["task_id"]
    yield task_id
    knowledge.request("tools/cancel", {"taskId": task_id})


def test_a_task_is_seen_at_work_and_cancelled(knowledge: Knowledge, slow_task: str, write: Write) -> None:
    """M22, M23."""
    named = {"task_id": slow_task}
    wait_until(lambda: knowledge.ask("knowledge-task-status", named)["completed_steps"] > 0)
    behind = knowledge.ask("knowledge-add", {"file_path": str(write("guide.pdf", GUIDE))})["task_id"]

    running = knowledge.ask("knowledge-task-status", named)
    waiting = knowledge.ask("knowledge-task-status", {"task_id": behind})
    cancelled = knowledge.request("tools/cancel", {"taskId": slow_task})
    ended = knowledge.ask("knowledge-task-status", named)

    assert_shape(running, "running task")
    assert running["task_id"] == slow_task
    assert 0 < running["progress"] < 1
    assert 0 < running["completed_steps"] < running["total_steps"]
    assert_shape(waiting, "queued task")
    assert_shape(cancelled["result"], "task cancellation")
    assert cancelled["result"]["taskId"] == slow_task
    assert_shape(ended, "cancelled task")
    assert ended_task(knowledge, behind)["status"] == "completed"
    assert "slow.pdf" not in {document["filename"] for document in knowledge.show()["documents"]}


def test_a_task_that_nobody_knows_is_not_found(knowledge: Knowledge) -> None:
    """M22."""
    assert_shape(knowledge.ask("knowledge-task-status", {"task_id": UNKNOWN}), "task not found")


def test_progress_is_told_while_a_file_is_added(knowledge_program: McpProgram, write: Write) -> None:
    """M23."""
    arguments = {"file_path": str(write("guide.pdf", GUIDE)), "async": False}
    params = {"name": "knowledge-add", "arguments": arguments, "_meta": {"progressToken": "task-uuid"}}
    with Knowledge(knowledge_program.url, headers=bearer(AGENT_KEY)) as client:
        response = client.post("tools/call", params, {"Accept": "application/json, text/event-stream"})

    lines = [line.removeprefix("data:") for line in response.text.splitlines() if line.startswith("data:")]
    *notices, answer = [json.loads(line) for line in lines]
    assert notices
    for notice in notices:
        assert_shape(notice, "progress")
        assert notice["params"]["progressToken"] == "task-uuid"
    told = [notice["params"]["progress"] for notice in notices]
    assert told == sorted(set(told))
    assert_shape(answer["result"]["structuredContent"], "sync add")
