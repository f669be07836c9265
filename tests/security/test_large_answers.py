"""Large answers are sent in pages and pieces, so that the engine's memory is bounded for any number of clients."""

import socket
import statistics
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

import httpx
import psutil
import pytest
from bench.filled_base import make_vectors
from tests.amounts import Tell, amount
from tests.api_calls import V1
from tests.engine_program import EngineAlone, EngineProgram
from tests.handmade_documents import NOW, commit, file, note, revision
from tests.security.crowd import crowd, get, read_slowly
from tests.security.open_server import WITHIN_SECONDS
from tests.security.test_limits import MEGABYTE, address_of, forget_peak, peak_of
from tests.waiting import wait_until

from kb.engine.embedding import read_model
from kb.engine.model import EmbeddingModel, IndexedChunk, IndexedText, Passage
from kb.engine.ports import Store
from kb.engine.storage import open_store

# Small as JSON, large as objects.
METADATA: dict[str, object] = {"a": [[]] * 16_000}
DOCUMENTS = amount(selection=100, full=300)
REVISIONS = amount(selection=50, full=150)
REVISION_CHARACTERS = 1_000_000
CHUNKS = amount(selection=1_000, full=4_000)
# More than the engine holds at a time.
UNREAD = 60
EXPORTS = amount(selection=4, full=12)
MOST_GROWTH_BYTES = 300 * MEGABYTE
# The memory that may still be used after all answers are sent.
MOST_KEPT_BYTES = 200 * MEGABYTE
LIVE_WITHIN_SECONDS = 0.1
# Clients that read slowly take minutes.
ROOM_WITHIN_SECONDS = 30


@pytest.fixture(scope="module")
def program(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineProgram]:
    """An engine with a small base whose documents are expensive to read."""
    program = EngineAlone(tmp_path_factory.mktemp("large"))
    program.data_dir.mkdir()
    model = read_model(model_folder)
    store = open_store(program.data_dir, model_fingerprint=model.fingerprint)
    try:
        fill(store, model)
    finally:
        store.close()
    with program.running():
        yield program


def fill(store: Store, model: EmbeddingModel) -> None:
    """A note with a long history, a document with many chunks, and documents with much metadata, by these ids."""
    vectors = iter(make_vectors(DOCUMENTS + CHUNKS + 1, model.dimension))

    def index(*texts: str) -> IndexedText:
        return IndexedText([IndexedChunk(Passage(text), next(vectors)) for text in texts], model.fingerprint)

    one = index("The history of the mill.")
    noted = commit(store, note("The history of the mill."), one)
    for number in range(REVISIONS):
        text = f"{number} {'the mill ' * (REVISION_CHARACTERS // 9)}"
        store.replace_note(noted.document_id, revision(text), one, expected_version=None, now=NOW)
    words = " and the wheel of the mill turns" * 60
    long_file = replace(file("long"), original=None, title_is_given=True)
    commit(store, long_file, index(*(f"{number}{words}" for number in range(CHUNKS))))
    for number in range(DOCUMENTS):
        text = f"The miller {number} grinds corn."
        commit(store, note(text, title=text, metadata=METADATA), index(text))


def read(http: httpx.Client, path: str) -> int:
    """The status, after the whole answer has come. The client keeps nothing of it."""
    body = {"query": "miller", "top": 200, "mode": "fts"} if path == "/search" else None
    with http.stream("POST" if body else "GET", path, json=body) as response:
        for _ in response.iter_raw():
            pass
    return response.status_code


READINGS = [
    *["/documents?limit=1000"] * 9,
    *["/notes/1/revisions?limit=1000"] * 7,
    *["/export"] * EXPORTS,
    *["/documents/2"] * 7,
    *["/search"] * 7,
    *["/audit?limit=1000", "/jobs?limit=1000", "/tags", "/map?limit=50000", "/documents/1", "/integrity"],
]


def test_forty_expensive_readings_take_little_memory_and_delay_no_client(program: EngineProgram, tell: Tell) -> None:
    """E33."""
    process = psutil.Process(program.process.pid)
    with httpx.Client(base_url=f"{program.url}{V1}", trust_env=False, timeout=120) as http:
        for path in ("/documents?limit=1", "/search", "/audit?limit=1"):
            read(http, path)
    before = process.memory_info().rss
    forget_peak(process)

    is_over = threading.Event()
    with (
        ThreadPoolExecutor(len(READINGS) + 1) as clients,
        httpx.Client(
            base_url=f"{program.url}{V1}", trust_env=False, timeout=120, limits=httpx.Limits(max_connections=None)
        ) as http,
    ):
        watching = clients.submit(time_health, program.url, is_over)
        began = time.perf_counter()
        statuses = list(clients.map(lambda path: read(http, path), READINGS))
        seconds = time.perf_counter() - began
        is_over.set()
        waited = watching.result()

    grown, kept = peak_of(process) - before, process.memory_info().rss - before
    tell(
        f"{len(READINGS)} readings in {seconds:.1f} s: {grown // MEGABYTE} MB more at the peak, {kept // MEGABYTE} MB "
        f"afterwards; /health/live after {1000 * statistics.median(waited):.0f} ms, {1000 * max(waited):.0f} at most"
    )
    assert set(statuses) == {200}
    assert grown < MOST_GROWTH_BYTES
    assert kept < MOST_KEPT_BYTES
    assert statistics.median(waited) < LIVE_WITHIN_SECONDS


def time_health(url: str, is_over: threading.Event) -> list[float]:
    waited = []
    with httpx.Client(base_url=url, trust_env=False, timeout=120) as http:
        while not is_over.is_set():
            began = time.perf_counter()
            assert http.get("/health/live").is_success
            waited.append(time.perf_counter() - began)
            # Pause, so that the measurement does not add load.
            is_over.wait(0.02)
    return waited


def test_unread_answers_do_not_use_up_memory(program: EngineProgram, tell: Tell) -> None:
    """E33."""
    process = psutil.Process(program.process.pid)
    before = process.memory_info().rss
    forget_peak(process)

    with ExitStack() as opened:
        clients = []
        for _ in range(UNREAD):
            client = opened.enter_context(socket.socket())
            # The smallest buffer, so that unread answers stay in the engine.
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.settimeout(WITHIN_SECONDS)
            client.connect(address_of(program.url))
            client.sendall(get(f"{V1}/documents?limit=1000"))
            clients.append(client)
        statuses = Counter(client.recv(12)[9:] for client in clients)
        with httpx.Client(base_url=f"{program.url}{V1}", trust_env=False, timeout=120) as http:
            small = http.get("/audit?limit=1")

    grown = peak_of(process) - before
    tell(f"{UNREAD} unread answers: {statuses[b'200']} sent, {statuses[b'429']} refused, {grown // MEGABYTE} MB more")
    # The longer the readings take, the more often an earlier answer is ended to make room for a later one.
    assert set(statuses) <= {b"200", b"429"}
    assert grown < MOST_GROWTH_BYTES
    assert small.is_success


@pytest.mark.parametrize("path", ["/documents?limit=1000", "/export"])
def test_slow_clients_do_not_keep_large_answers_from_others(program: EngineProgram, path: str) -> None:
    """E33."""
    slow = partial(read_slowly, get(f"{V1}{path}"))
    with (
        crowd(address_of(program.url), {slow: UNREAD}) as present,
        httpx.Client(base_url=f"{program.url}{V1}", trust_env=False, timeout=120) as http,
    ):

        def is_served() -> bool:
            try:
                return read(http, path) == 200
            except httpx.RemoteProtocolError:
                # As long as the crowd still arrives, this client may be the slowest.
                return False

        wait_until(is_served, "a client that reads at once is served", within_seconds=ROOM_WITHIN_SECONDS)
        wait_until(lambda: present() < UNREAD, "the slowest make room", within_seconds=ROOM_WITHIN_SECONDS)
