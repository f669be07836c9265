"""What one client, or many at once, may ask of the programs: more is refused, and costs nothing that stays."""

import os
import resource
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import httpx
import psutil
import pytest
from bench.figures import p95
from starlette.testclient import TestClient
from tests.amounts import IS_FULL, Tell, amount
from tests.api_calls import OPEN, V1
from tests.engine_in_process import open_engine_with
from tests.engine_program import EngineProgram
from tests.handmade_documents import work_off
from tests.needs import need_right
from tests.security.crowd import Client, crowd, follow, get, read_slowly, say_nothing, send_slowly, upload_of
from tests.security.open_server import WITHIN_SECONDS, open_server, read_to_end
from tests.waiting import wait_until

from kb.engine.api.app import create_app
from kb.engine.ports import Embedder
from kb.serving import Limits
from kb.serving.held_bodies import MAX_HELD_BYTES, MAX_VALUES

MEGABYTE = 1024 * 1024
MOST_BYTES = 16 * MEGABYTE
AT_ONCE = amount(selection=3, full=64)
# What a few bodies are parsed into, beside all that are held.
MOST_GROWTH_BYTES = MAX_HELD_BYTES + 400 * MEGABYTE
SEARCHES = amount(selection=40, full=2_000)
WARMING_SEARCHES = 20
# For a turn on a machine with two processors where other tests are at work.
MOST_WAITING_SECONDS = 0.15

ONE_MANY = b'{"type":"note","text":"x","query":"x","a":['
PATHS = {"engine": f"{V1}/search", "mcp": "/mcp"} | ({"jobs": f"{V1}/jobs"} if IS_FULL else {})


@pytest.fixture(scope="module", autouse=True)
def files() -> Iterator[None]:
    """As many as the clients need that a test plays."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, hard), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture(scope="module")
def program(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineProgram]:
    """One of their own: the tests look at its memory."""
    with EngineProgram(tmp_path_factory.mktemp("limits")).running() as program:
        yield program


def url_of(program: EngineProgram, which: str) -> str:
    return program.mcp_url if which == "mcp" else program.url


def address_of(url: str) -> tuple[str, int]:
    host, _, port = url.removeprefix("http://").rpartition(":")
    return host, int(port)


def process_of(program: EngineProgram, which: str) -> psutil.Process:
    need_right(os.geteuid() == 0, "only root can look into the processes of kb")
    engine = psutil.Process(program.process.pid)
    if which != "mcp":
        return engine
    return next(child for child in engine.children() if "kb.mcp.mcp_process" in child.cmdline())


def forget_peak(process: psutil.Process) -> int:
    Path(f"/proc/{process.pid}/clear_refs").write_text("5")
    return peak_of(process)


def peak_of(process: psutil.Process) -> int:
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def large_bodies() -> Iterator[tuple[str, bytes]]:
    yield "deep", ONE_MANY + b"[" * 100_000
    yield "long-number", b'{"query":"x","top":' + b"9" * 10_000_000 + b"}"
    yield "lists", ONE_MANY + b"[]," * ((MOST_BYTES - 100) // 3) + b"0]}"
    yield "as-many-as-allowed", ONE_MANY + b"[]," * (MAX_VALUES // 2 - 100) + b"0]}"
    if IS_FULL:
        yield "objects", ONE_MANY + b'{"a":0},' * ((MOST_BYTES - 100) // 8) + b"0]}"
        yield "numbers", ONE_MANY + b"1," * ((MOST_BYTES - 100) // 2) + b"0]}"
        yield "too-long", b" " * (MOST_BYTES + 1)


def post(url: str, path: str, body: bytes) -> int:
    """The status of the answer; 0 if the server hung up before it had read all, and it was lost."""
    try:
        with httpx.Client(base_url=url, trust_env=False, timeout=120) as http:
            return http.post(path, content=body, headers={"Content-Type": "application/json"}).status_code
    except httpx.TransportError:
        return 0


@pytest.mark.parametrize("which", PATHS)
def test_no_body_takes_more_than_its_share_of_memory(program: EngineProgram, which: str, tell: Tell) -> None:
    """E2, M6."""
    process = process_of(program, which)
    before = forget_peak(process)
    send = partial(post, url_of(program, which), PATHS[which])

    with ThreadPoolExecutor(AT_ONCE) as clients:
        statuses = {name: set(clients.map(send, [body] * AT_ONCE)) for name, body in large_bodies()}

    grown = peak_of(process) - before
    tell(f"{which}: {len(statuses)} bodies, {AT_ONCE} at once, {grown // MEGABYTE} MB more at the peak")
    assert grown < MOST_GROWTH_BYTES
    for name, seen in statuses.items():
        assert seen <= {0, 400, 413, 422, 503}, (name, seen)
        assert seen - {0}, f"no answer to {name} was seen"
    assert httpx.get(f"{program.url}/health/live", trust_env=False, timeout=60).is_success


# For a server that uses one of the lengths, another request follows.
TWO_LENGTHS = b"POST / HTTP/1.1\r\nHost: a\r\n%s\r\n\r\n0\r\n\r\nGET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.parametrize("which", ["engine", "mcp"])
@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 1_000_000, 431),
        (b"GET /" + b"x" * 1_000_000, 431),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 100_000, 431),
        (b"not HTTP at all\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX\x00Y: z\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
        (TWO_LENGTHS % b"Content-Length: 5\r\nTransfer-Encoding: chunked", 400),
        (TWO_LENGTHS % b"Transfer-Encoding: chunked\r\nContent-Length: 0", 400),
        (TWO_LENGTHS % b"Content-Length: 5\r\nContent-Length: 0", 400),
        (TWO_LENGTHS % b"Content-Length: 5, 0", 400),
    ],
    ids=[
        *("header", "target", "headers", "garbage", "no-host", "nul", "encoding"),
        *("length-and-chunks", "chunks-and-length", "lengths", "lengths-in-one"),
    ],
)
def test_what_is_no_request_is_refused_in_the_words_of_the_program(
    program: EngineProgram, which: str, head: bytes, status: int
) -> None:
    """E1, E2, M6."""
    with socket.create_connection(address_of(url_of(program, which)), WITHIN_SECONDS) as connection:
        # The rest is not read, and what was said would be lost with it.
        connection.sendall(head[:70_000])
        answer, _, body = read_to_end(connection).partition(b"\r\n\r\n")

    assert int(answer.split(b" ")[1]) == status
    assert b"nosniff" in answer
    assert b"connection: close" in answer.lower()
    assert (answer + body).count(b"HTTP/1.1 ") == 1
    assert (b'"code":"invalid_request"' if which == "engine" else b'"jsonrpc":"2.0"') in body
    assert b"uvicorn" not in (answer + body).lower()


def test_a_body_that_turns_out_to_be_no_http_ends_the_connection_and_is_not_logged(program: EngineProgram) -> None:
    """E2."""
    lines = len(program.log.read_text().splitlines())
    head = f"POST {V1}/search HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
    with socket.create_connection(address_of(program.url), WITHIN_SECONDS) as connection:
        connection.sendall(f"{head}Content-Type: application/json\r\n\r\n5\r\n[1,2,\r\nzz\r\n".encode())
        assert b" 400 " in read_to_end(connection)

    assert len(program.log.read_text().splitlines()) == lines


def test_forms_of_many_parts_or_long_headers_are_refused(program: EngineProgram) -> None:
    """E4."""
    part = b'--B\r\nContent-Disposition: form-data; name="tags"\r\n\r\nx\r\n'
    long_part = b"--B\r\nX: " + b"y" * 1_000_000 + b"\r\n\r\nx\r\n"
    for body in (part * 10_000, long_part):
        headers = {"Content-Type": "multipart/form-data; boundary=B"}
        answer = httpx.post(f"{program.url}{V1}/jobs", content=body, headers=headers, trust_env=False, timeout=60)
        assert answer.status_code in (400, 422)


def test_uploads_that_stop_half_way_leave_nothing(embedder: Embedder, tell: Tell) -> None:
    """E4."""
    limits = Limits(look_every_seconds=0.1, silence_seconds=2)
    uploads = amount(selection=16, full=64)
    half = b"x" * amount(selection=MEGABYTE // 4, full=MEGABYTE)
    with open_engine_with(embedder) as engine, open_server(create_app(engine, OPEN), limits) as server:
        incoming = engine.options.data_dir / "originals" / "incoming"
        clients = [server.connect() for _ in range(uploads)]
        for client in clients:
            client.sendall(upload_of(f"{V1}/jobs", len(half) + MEGABYTE).replace(b"localhost", b"testserver") + half)
        wait_until(lambda: sum(path.stat().st_size for path in incoming.iterdir()) > uploads * len(half) * 0.9)

        answers = [read_to_end(client) for client in clients]
        for client in clients:
            client.close()

        wait_until(lambda: not any(incoming.iterdir()))
        assert all(b" 408 " in answer for answer in answers)
    tell(f"{uploads} uploads that stopped half way, 0 files left")


def test_a_download_that_is_cut_off_leaves_no_file_open(embedder: Embedder) -> None:
    with open_engine_with(embedder) as engine:
        with TestClient(create_app(engine, OPEN), base_url=f"http://testserver{V1}") as api:
            assert api.post("/jobs", files={"file": ("a.txt", b"The mill.\n" + b" " * 900_000)}).is_success
            work_off(engine.pipeline)
            path = f"{V1}/documents/{api.get('/documents').json()['documents'][0]['id']}/file"

        with open_server(create_app(engine, OPEN), Limits()) as server:
            clients = [server.connect(receive_buffer=4096) for _ in range(8)]
            for client in clients:
                client.sendall(get(path).replace(b"localhost", b"testserver"))
                assert client.recv(10) == b"HTTP/1.1 2"
            wait_until(lambda: open_originals(engine.options.data_dir) == len(clients))
            for client in clients:
                client.close()

            wait_until(lambda: open_originals(engine.options.data_dir) == 0)


def open_originals(folder: Path) -> int:
    paths = [Path(file.path) for file in psutil.Process().open_files()]
    return sum(path.is_relative_to(folder.resolve() / "originals") and len(path.name) == 64 for path in paths)


@pytest.mark.parametrize("which", ["engine", "mcp"])
def test_more_idle_connections_than_there_can_be_keep_nobody_out(
    program: EngineProgram, which: str, tell: Tell
) -> None:
    address = address_of(url_of(program, which))
    number = amount(selection=1_200, full=2_000)
    health = f"{url_of(program, which)}{'/health' if which == 'mcp' else '/health/live'}"

    with crowd(address, {say_nothing: number}) as present:
        for _ in range(20):
            assert httpx.get(health, trust_env=False).is_success
        # Each idle one that gave way has hung up.
        wait_until(lambda: present() <= Limits.connections)
        files = process_of(program, which).num_fds()

    tell(f"{which}: {number} idle connections, 20 of 20 calls answered, {files} files open")
    assert files < Limits.connections + 100


def test_a_search_is_answered_among_slow_clients(program: EngineProgram, tell: Tell) -> None:
    """E9."""
    each = amount(selection=24, full=64)
    clients: dict[Client, int] = {
        partial(read_slowly, get(f"{V1}/export")): each,
        partial(send_slowly, upload_of(f"{V1}/jobs", 100_000_000)): each,
        partial(follow, get(f"{V1}/events")): each,
    }
    address = address_of(program.url)
    with httpx.Client(base_url=f"{program.url}{V1}", trust_env=False, timeout=60) as http:
        for number in range(20):
            assert http.post("/jobs", json={"type": "note", "text": f"The mill {number} by the river."}).is_success
        # So much that no export has an end while it is read slowly.
        assert http.post("/jobs", files={"file": ("a.txt", b"The mill." + b" " * 4_000_000)}).is_success
        wait_until(lambda: http.get("/documents").json()["total"] >= 21)
        time_searches(http, WARMING_SEARCHES)
        alone = time_searches(http, SEARCHES)
        with crowd(address, clients) as slow, crowd(address, {say_nothing: 200}):
            time_searches(http, WARMING_SEARCHES)
            among = time_searches(http, SEARCHES)
            assert slow() == 3 * each
        time_searches(http, WARMING_SEARCHES)
        again = time_searches(http, SEARCHES)

    quiet = min(alone, again)
    told = f"{1000 * among:.0f} ms among them, {1000 * quiet:.0f} ms without: {among / quiet:.1f} times as long"
    tell(f"{SEARCHES} searches among {3 * each} slow and 200 idle clients: p95 {told}")
    assert among < 2 * quiet + MOST_WAITING_SECONDS


def time_searches(http: httpx.Client, number: int) -> float:
    """The 95th percentile, in seconds."""
    taken = []
    for _ in range(number):
        began = time.perf_counter()
        assert http.post("/search", json={"query": "the mill by the river"}).is_success
        taken.append(time.perf_counter() - began)
    return p95(taken)
