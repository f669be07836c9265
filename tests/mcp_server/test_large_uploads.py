"""Files that agents send in chunks, through a real server: large ones at once, broken ones, abandoned ones."""

import hashlib
import random
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from tests.amounts import amount
from tests.keys import bearer
from tests.mcp_clients import RawClient
from tests.mcp_program import McpProgram
from tests.mcp_server.recording import RecordingProxy
from tests.mcp_server.shared_programs import AGENT_KEY, completed_document, staged_by, staging_program
from tests.mcp_server.staging import encoded
from tests.pdf_files import make_picture_pdf
from tests.waiting import wait_until

from kb.client import Json

MB = 1_048_576
LARGE_BYTES = amount(selection=3, full=20) * MB
SHORT_TTL_SECONDS = 2


@pytest.fixture
def client(kb_program: McpProgram) -> Iterator[RawClient]:
    with RawClient(kb_program.url, headers=bearer(AGENT_KEY)) as client:
        yield client


def start(client: RawClient, name: str, total_size: int) -> str:
    upload_id: str = client.call("kb_upload_start", filename=name, total_size=total_size)["upload_id"]
    return upload_id


def send(client: RawClient, upload_id: str, index: int, piece: bytes) -> int:
    answer = client.call("kb_upload_chunk", upload_id=upload_id, chunk_index=index, data=encoded(piece))
    received: int = answer["received_bytes"]
    return received


def cut(content: bytes, size: int) -> list[bytes]:
    return [content[begin : begin + size] for begin in range(0, len(content), size)]


def upload(program: McpProgram, name: str, content: bytes) -> Json:
    with RawClient(program.url, headers=bearer(AGENT_KEY)) as client:
        upload_id = start(client, name, len(content))
        for index, piece in enumerate(cut(content, MB)):
            send(client, upload_id, index, piece)
        return client.call("kb_upload_finish", upload_id=upload_id)


def test_four_agents_at_once_upload_large_pdfs_that_arrive_byte_for_byte(
    kb_program: McpProgram, proxy: RecordingProxy, engine_http: httpx.Client
) -> None:
    """M13: in chunks of 1 MB."""
    files = {
        f"report-{number}.pdf": make_picture_pdf(f"Report number {number}", picture_bytes=LARGE_BYTES, seed=number)
        for number in range(4)
    }

    with ThreadPoolExecutor(len(files)) as threads:
        finished = [threads.submit(upload, kb_program, name, content) for name, content in files.items()]
        results = [future.result() for future in finished]

    arrived = sorted(sent.file_digest() for sent in proxy.find("POST", "/api/v1/jobs"))
    assert arrived == sorted(hashlib.sha256(content).hexdigest() for content in files.values())
    for result, content in zip(results, files.values(), strict=True):
        document = completed_document(engine_http, result["job_id"])
        assert engine_http.get(f"/documents/{document['id']}/file").content == content


def test_chunks_may_come_in_any_order_and_again(client: RawClient, engine_http: httpx.Client) -> None:
    """M13: a repeated index replaces the former chunk."""
    content = f"{uuid.uuid4()} ".encode() * 100
    pieces = [*enumerate(cut(content, 500))]
    random.Random(1).shuffle(pieces)  # noqa: S311 - the same order each time, and nothing secret
    upload_id = start(client, "shuffled.txt", len(content))

    send(client, upload_id, 3, b"wrong, and of another length")
    for index, piece in pieces:
        send(client, upload_id, index, piece)
    assert send(client, upload_id, *pieces[0]) == len(content)

    document = completed_document(engine_http, client.call("kb_upload_finish", upload_id=upload_id)["job_id"])
    assert engine_http.get(f"/documents/{document['id']}/file").content == content


def test_missing_chunks_are_named_and_can_be_sent_later(client: RawClient, engine_http: httpx.Client) -> None:
    """M13."""
    pieces = [f"{index} {uuid.uuid4()}\n".encode() for index in range(5)]
    content = b"".join(pieces)
    upload_id = start(client, "gaps.txt", len(content))
    for index in (0, 2, 4):
        send(client, upload_id, index, pieces[index])

    refused = client.fail("kb_upload_finish", upload_id=upload_id)

    assert (refused["error"], refused["missing_chunks"]) == ("incomplete_upload", [1, 3])
    assert "1, 3" in refused["message"]
    for index in (1, 3):
        send(client, upload_id, index, pieces[index])
    document = completed_document(engine_http, client.call("kb_upload_finish", upload_id=upload_id)["job_id"])
    assert engine_http.get(f"/documents/{document['id']}/file").content == content


@pytest.mark.parametrize("data", ["no base64 at all!", "QUJ", "QUJ_", "QUI=QUJD", "€"])
def test_wrong_base64_is_refused_and_leaves_no_trace(client: RawClient, kb_program: McpProgram, data: str) -> None:
    """M13."""
    upload_id = start(client, "a.txt", 100)

    refused = client.fail("kb_upload_chunk", upload_id=upload_id, chunk_index=0, data=data)

    assert (refused["error"], refused["parameter"]) == ("invalid_parameter", "data")
    assert not any(path.parent.name == upload_id for path in staged_by(kb_program))


def test_a_total_size_that_is_not_reached_or_passed_is_told(client: RawClient) -> None:
    """M13."""
    upload_id = start(client, "a.txt", 10)

    send(client, upload_id, 0, b"1234567")
    too_few = client.fail("kb_upload_finish", upload_id=upload_id)
    too_many = client.fail("kb_upload_chunk", upload_id=upload_id, chunk_index=1, data=encoded(b"8901"))

    assert (too_few["error"], too_few["received_bytes"], too_few["total_size"]) == ("incomplete_upload", 7, 10)
    assert (too_many["error"], too_many["parameter"]) == ("invalid_parameter", "data")
    assert send(client, upload_id, 1, b"890") == 10


@pytest.fixture(scope="module")
def program(running_proxy: RecordingProxy, tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpProgram]:
    """A server that may be stopped and killed."""
    with staging_program(tmp_path_factory.mktemp("staging"), running_proxy.url) as program:
        yield program


@pytest.fixture
def impatient_program(running_proxy: RecordingProxy, tmp_path: Path) -> Iterator[McpProgram]:
    """A server that waits but a moment for the next chunk."""
    settings = {"KB_MCP_UPLOAD_TTL_SECONDS": str(SHORT_TTL_SECONDS)}
    with staging_program(tmp_path, running_proxy.url, settings) as program:
        yield program


def stage_a_chunk(program: McpProgram) -> str:
    """The id of an upload that has begun."""
    with RawClient(program.url, headers=bearer(AGENT_KEY)) as client:
        upload_id = start(client, "a.txt", 100)
        send(client, upload_id, 0, b"only the beginning")
    return upload_id


def assert_lost(program: McpProgram, upload_id: str) -> None:
    with RawClient(program.url, headers=bearer(AGENT_KEY)) as client:
        refused = client.fail("kb_upload_finish", upload_id=upload_id)
        begun_again = start(client, "a.txt", 100)

    assert refused["error"] == "upload_not_found"
    assert "kb_upload_start" in refused["message"]
    assert begun_again != upload_id


def test_abandoned_upload_cleanup(impatient_program: McpProgram, client: RawClient) -> None:
    """M13: after the time that is set, ten minutes by default, the upload and its files are gone unasked."""
    by_default = client.call("kb_upload_start", filename="a.txt", total_size=1)["expires_in_seconds"]
    staged: list[Path] = []
    while not staged:
        # On a busy machine it may be gone before it is seen.
        upload_id = stage_a_chunk(impatient_program)
        staged = staged_by(impatient_program)

    # A folder goes after what is in it.
    wait_until(lambda: not staged[0].parent.exists())

    assert by_default == 600
    assert [path.parent.name for path in staged] == [upload_id]
    assert staged_by(impatient_program) == []
    assert_lost(impatient_program, upload_id)


def test_mcp_server_restart_during_upload(program: McpProgram) -> None:
    """M13: the upload is lost, and its files with it; the agent begins again."""
    upload_id = stage_a_chunk(program)

    assert program.stop() == 0
    assert staged_by(program) == []
    program.start()

    assert_lost(program, upload_id)


def test_mcp_server_killed_during_upload(program: McpProgram) -> None:
    """M13: what a killed server could not remove is gone once the next one has started."""
    upload_id = stage_a_chunk(program)

    program.kill()
    assert [path.parent.name for path in staged_by(program)] == [upload_id]
    program.start()

    assert staged_by(program) == []
    assert_lost(program, upload_id)
