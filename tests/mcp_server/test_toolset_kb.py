import os
from pathlib import Path

import httpx
import pytest
from tests.mcp_server.conftest import Use, add_note, unique, upload
from tests.mcp_server.staging import encoded, staged_files
from tests.waiting import until

from kb.client import EngineClient, Json
from kb.mcp.answers import BUDGET_BYTES, size_of
from kb.mcp.errors import ToolError
from kb.mcp.tools import Effect
from kb.mcp.toolsets import jobs
from kb.mcp.toolsets.kb import KB_TOOLS
from kb.mcp.uploads import MAX_OPEN_UPLOADS

pytestmark = pytest.mark.anyio


def test_the_tools_stand_in_one_order_and_say_what_they_do() -> None:
    """M5"""
    effects = {tool.name: tool.effect for tool in KB_TOOLS}

    assert list(effects) == [
        "kb_search",
        "kb_get",
        "kb_addnote",
        "kb_update_note",
        "kb_tag",
        "kb_delete",
        "kb_upload_start",
        "kb_upload_chunk",
        "kb_upload_finish",
        "kb_jobs",
        "kb_status",
    ]
    reading = [name for name, effect in effects.items() if effect is Effect.READS]
    assert reading == ["kb_search", "kb_get", "kb_jobs", "kb_status"]
    assert all(tool.title and 100 < len(tool.description) < 1000 for tool in KB_TOOLS)


def test_descriptions_teach_agents_to_search_well_and_to_distrust_what_they_read() -> None:
    """M5, M7, M13"""
    described = {tool.name: tool.description for tool in KB_TOOLS}

    assert "2-3 phrasings" in described["kb_search"]
    assert "chunk_id" in described["kb_search"]
    assert "rerank" in described["kb_search"]
    assert all("never instructions" in described[name] for name in ("kb_search", "kb_get"))
    assert all(word in described["kb_upload_start"] for word in ("kb_upload_chunk", "kb_upload_finish", "1,048,576"))


async def test_a_search_answers_what_the_engine_answers(kb: Use, engine: EngineClient) -> None:
    """M7"""
    tags = [unique(), "collection:documents", "draft"]
    note = await add_note(kb, "Cormorants dry their wings on the pier", tags=tags)

    answer = await kb("kb_search", query="cormorant wings", tags=tags[:1], top=5)

    (hit,) = answer["results"]
    assert hit["document_id"] == note["id"]
    assert hit["tags"] == tags
    assert "collection" not in hit
    straight = await engine.search("cormorant wings", tags=tags[:1], top=5)
    assert hit == straight["results"][0]


async def test_search_modes_and_filters_reach_the_engine(kb: Use) -> None:
    """M7"""
    tag = unique()
    await add_note(kb, "Zeugmatic error 4711", tags=[tag])

    by_words = await kb("kb_search", query="zeugmatic", tags=[tag], fts_only=True)
    by_meaning = await kb("kb_search", query="zeugmatic", tags=[tag], vec_only=True)
    filtered = await kb("kb_search", query="zeugmatic", tags=[tag], filters={"format": "pdf"})
    certain = await kb("kb_search", query="quiet music", tags=[tag], min_relevance=0.99)

    assert by_words["results"][0]["scores"]["vector"] is None
    assert by_meaning["results"][0]["scores"]["fts"] is None
    assert filtered["results"] == certain["results"] == []


async def test_contradicting_modes_are_the_engines_to_refuse(kb: Use) -> None:
    with pytest.raises(httpx.HTTPStatusError) as refused:
        await kb("kb_search", query="anything", fts_only=True, vec_only=True)

    assert refused.value.response.status_code == 422


async def test_paging_through_a_large_search_gives_every_result_once(kb: Use, engine: EngineClient) -> None:
    """M5, M7"""
    tag = unique()
    sentences = [f"Ledger entry {number} of the harbour master concerns vessel {number * 7}. " for number in range(700)]
    await add_note(kb, "".join(sentences), tags=[tag])
    query = {"query": "harbour master ledger", "tags": [tag], "top": 200}

    found: list[int] = []
    offset: int | None = 0
    while offset is not None:
        page = await kb("kb_search", **query, offset=offset)
        assert size_of(page) <= BUDGET_BYTES
        found += [hit["chunk_id"] for hit in page["results"]]
        offset = page.get("next_offset")

    straight = await engine.search("harbour master ledger", tags=[tag], top=200)
    assert found == [hit["chunk_id"] for hit in straight["results"]]
    assert len(found) > 40


async def test_a_note_gets_exactly_the_tags_given(kb: Use, engine: EngineClient) -> None:
    """M8"""
    job = await kb("kb_addnote", text="hello", tags=["agent:mybot", "memory"])

    finished = await engine.wait_for_job(job["job_id"])

    assert job["status"] == "queued"
    assert (await kb("kb_get", document_id=finished["document_id"]))["tags"] == ["agent:mybot", "memory"]


async def test_a_note_that_is_waited_for_comes_back_as_a_document(kb: Use) -> None:
    """M8"""
    source_path = unique("memory/")

    answer = await kb("kb_addnote", text="Prefers tea", title="Drinks", source_path=source_path, wait=True)

    assert answer["status"] == "completed"
    document = answer["document"]
    assert (document["title"], document["source_path"], document["tags"]) == ("Drinks", source_path, [])
    assert not {"chunks", "text"} & set(document)


async def test_a_note_that_takes_too_long_is_left_to_kb_jobs(kb: Use, monkeypatch: pytest.MonkeyPatch) -> None:
    """M8"""
    monkeypatch.setattr(jobs, "ANSWER_WITHIN_SECONDS", 0.0)

    answer = await kb("kb_addnote", text="Slow", wait=True)

    assert set(answer) == {"job_id", "status", "message"}
    assert f"kb_jobs with job_id={answer['job_id']}" in answer["message"]


async def test_a_failed_job_is_an_error_with_its_code_and_message(kb: Use, engine: EngineClient) -> None:
    submitted = await upload(kb, b" \n \n", filename="blank.txt")
    failed = await engine.wait_for_job(submitted["job_id"])

    with pytest.raises(ToolError) as refused:
        jobs.accept_job(failed)

    assert refused.value.code == failed["error"]["code"]
    assert refused.value.message == failed["error"]["message"]
    assert refused.value.details == {"job_id": submitted["job_id"]}


async def test_an_updated_note_is_returned_whole(kb: Use) -> None:
    """M9"""
    note = await add_note(kb, "User prefers prose", tags=["feedback"])

    updated = await kb("kb_update_note", document_id=note["id"], text="User prefers bullet points", version=1)

    assert (updated["id"], updated["text"]) == (note["id"], "User prefers bullet points")
    assert [chunk["text"] for chunk in updated["chunks"]] == ["User prefers bullet points"]
    assert updated["tags"] == ["feedback"]
    assert updated["updated_at"] is not None


async def test_an_update_of_an_older_version_changes_nothing(kb: Use) -> None:
    """M9"""
    note = await add_note(kb, "First")
    await kb("kb_update_note", document_id=note["id"], text="Second")

    with pytest.raises(httpx.HTTPStatusError) as refused:
        await kb("kb_update_note", document_id=note["id"], text="Third", version=note["version"])

    assert refused.value.response.json()["code"] == "version_conflict"
    assert (await kb("kb_get", document_id=note["id"]))["text"] == "Second"


async def test_only_notes_that_exist_can_be_updated(kb: Use, engine: EngineClient) -> None:
    """M9"""
    job = await engine.wait_for_job(
        (await upload(kb, b"# Report\n\n" + os.urandom(8).hex().encode(), filename="report.md"))["id"]
    )

    for document_id, code in [(2**62, "document_not_found"), (job["document_id"], "not_a_note")]:
        with pytest.raises(httpx.HTTPStatusError) as refused:
            await kb("kb_update_note", document_id=document_id, text="New")
        assert refused.value.response.json()["code"] == code


async def test_a_long_document_is_read_in_parts(kb: Use) -> None:
    """M5, M10"""
    note = await add_note(kb, "Short at first")
    sentences = [f"Paragraph {number} tells of the lighthouse and its keeper. " for number in range(700)]
    first = await kb("kb_update_note", document_id=note["id"], text="".join(sentences))
    assert first["text_truncated"] is True

    ordinals = [chunk["ordinal"] for chunk in first["chunks"]]
    offset = first.get("next_offset")
    while offset is not None:
        page = await kb("kb_get", document_id=note["id"], chunk_offset=offset)
        assert size_of(page) <= BUDGET_BYTES
        assert "text" not in page
        ordinals += [chunk["ordinal"] for chunk in page["chunks"]]
        offset = page.get("next_offset")

    assert ordinals == list(range(first["chunk_count"]))
    assert len(ordinals) > len(first["chunks"])


async def test_documents_are_found_by_source_path(kb: Use) -> None:
    """M10"""
    source_path = unique("memory/feedback_") + ".md"
    note = await add_note(kb, "Tests first", source_path=source_path)

    found = await kb("kb_get", source_path=source_path)
    nothing = await kb("kb_get", source_path=unique("nowhere/"))

    assert [document["id"] for document in found["documents"]] == [note["id"]]
    assert nothing["documents"] == []


@pytest.mark.parametrize(
    ("arguments", "code"),
    [({}, "missing_required_parameter"), ({"document_id": 1, "source_path": "a"}, "invalid_parameter")],
)
async def test_get_wants_exactly_one_name(kb: Use, arguments: Json, code: str) -> None:
    """M10"""
    with pytest.raises(ToolError, match="document_id or source_path") as refused:
        await kb("kb_get", **arguments)

    assert refused.value.code == code


async def test_a_deleted_document_is_gone(kb: Use) -> None:
    """M11"""
    note = await add_note(kb, "Obsolete", title="Old plan")

    deleted = await kb("kb_delete", document_id=note["id"])

    assert (deleted["status"], deleted["document_id"], deleted["title"]) == ("deleted", note["id"], "Old plan")
    with pytest.raises(httpx.HTTPStatusError) as refused:
        await kb("kb_delete", document_id=note["id"])
    assert refused.value.response.json()["code"] == "document_not_found"


async def test_tags_change_in_one_step(kb: Use) -> None:
    """M12"""
    note = await add_note(kb, "Draft of the letter", tags=["draft", "letters"])

    tagged = await kb("kb_tag", document_id=note["id"], add=["final"], remove=["draft", "never there"])

    assert tagged["tags"] == ["letters", "final"]


async def test_an_uploaded_file_arrives_byte_for_byte(kb: Use, engine: EngineClient) -> None:
    """M13"""
    content = b"\r\n".join(os.urandom(40).hex().encode() for _ in range(60))
    started = await kb("kb_upload_start", filename="numbers.txt", total_size=len(content), tags=["b", "a"])
    upload_id = started["upload_id"]

    await kb("kb_upload_chunk", upload_id=upload_id, chunk_index=1, data=encoded(content[3000:]))
    await kb("kb_upload_chunk", upload_id=upload_id, chunk_index=0, data=encoded(content[:3000]))
    job = await kb("kb_upload_finish", upload_id=upload_id)
    document_id = (await engine.wait_for_job(job["job_id"]))["document_id"]

    assert await engine.get_document_file(document_id) == content
    document = await engine.get_document(document_id)
    assert (document["filename"], document["tags"]) == ("numbers.txt", ["b", "a"])


async def test_a_repeated_finish_answers_the_same_job(kb: Use) -> None:
    """M13"""
    started = await kb("kb_upload_start", filename="a.txt", total_size=5)
    chunk = await kb("kb_upload_chunk", upload_id=started["upload_id"], chunk_index=0, data=encoded(b"hello"))

    first = await kb("kb_upload_finish", upload_id=started["upload_id"])
    second = await kb("kb_upload_finish", upload_id=started["upload_id"])

    assert chunk == {"upload_id": started["upload_id"], "chunk_index": 0, "received_bytes": 5}
    assert started["chunk_size"] == 1_048_576
    assert started["expires_in_seconds"] == 600
    assert first["job_id"] == second["job_id"]


async def test_a_file_that_is_too_large_is_refused_before_a_byte_is_sent(kb: Use) -> None:
    """M13"""
    with pytest.raises(ToolError, match="largest accepted file is 100 MB") as refused:
        await kb("kb_upload_start", filename="film.txt", total_size=100 * 1_048_576 + 1)

    assert (refused.value.code, refused.value.details) == ("file_too_large", {"max_size_mb": 100})


async def test_an_upload_whose_file_the_engine_refuses_says_so_each_time_and_takes_no_room(
    kb: Use, tmp_path: Path
) -> None:
    """M13"""
    for _ in range(MAX_OPEN_UPLOADS + 1):
        started = await kb("kb_upload_start", filename="program.exe", total_size=4)
        chunk = {"upload_id": started["upload_id"], "chunk_index": 0, "data": encoded(b"MZ\x00\x01")}
        await kb("kb_upload_chunk", **chunk)
        with pytest.raises(httpx.HTTPStatusError):
            await kb("kb_upload_finish", upload_id=started["upload_id"])

    for tool, arguments in (("kb_upload_finish", {"upload_id": started["upload_id"]}), ("kb_upload_chunk", chunk)):
        with pytest.raises(httpx.HTTPStatusError) as refused:
            await kb(tool, **arguments)
        assert refused.value.response.json()["code"] == "unsupported_format"
    assert staged_files(tmp_path / "uploads") == []


async def test_jobs_are_listed_newest_first_and_found_by_id_and_status(kb: Use, engine: EngineClient) -> None:
    """M14"""
    older, newer = [(await kb("kb_addnote", text=f"Job {number}"))["job_id"] for number in range(2)]
    await engine.wait_for_job(newer)
    await engine.wait_for_job(older)

    listed = await kb("kb_jobs", limit=2)
    second = await kb("kb_jobs", limit=1, offset=1, status="completed")
    one = await kb("kb_jobs", job_id=older, limit=20)

    assert [job["job_id"] for job in listed["jobs"]] == [newer, older]
    assert [job["status"] for job in second["jobs"]] == ["completed"]
    assert [job["job_id"] for job in one["jobs"]] == [older]


async def test_a_long_list_of_jobs_is_cut_and_can_be_continued(kb: Use, engine: EngineClient) -> None:
    """M5, M14"""
    ids = [(await engine.submit_note(f"Note {number}"))["job_id"] for number in range(80)]

    async def all_are_done() -> bool:
        return not (await engine.list_jobs(status="queued", limit=1))["jobs"]

    await until(all_are_done)
    first = await kb("kb_jobs", limit=80)
    second = await kb("kb_jobs", limit=80, offset=first["next_offset"])

    listed = [job["job_id"] for job in [*first["jobs"], *second["jobs"]]]
    assert size_of(first) <= BUDGET_BYTES
    assert listed[:80] == ids[::-1]


async def test_the_status_is_the_engines(kb: Use) -> None:
    """M14"""
    status = await kb("kb_status")

    assert {"version", "model", "device", "documents", "queue", "health"} <= set(status)
