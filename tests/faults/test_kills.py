"""`kill -9` at random moments, with every promise checked after each and at the end (E24).

Clients add, rewrite, tag, delete and search, and write down what was acknowledged. Meanwhile engine, worker and MCP
server are killed. This is the death of processes, not of the machine: the page cache survives, so it says nothing
about a power cut.
"""

import random
import statistics
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx
import psutil
from tests.amounts import IS_FULL, SEED, Tell, amount
from tests.consistency import assert_base_is_consistent, assert_originals_are_those_in_use
from tests.engine_program import EngineProgram
from tests.faults.mixed_load import Client

WAIT_SECONDS = 60
READY_WITHIN_SECONDS = 3.0
# Some fall into the start of a process, others into its work.
PAUSES_SECONDS = ((0.02, 0.5), (0.5, 1.5))
DOCUMENTS_BEFORE = 5
CHILDREN = {"worker": "kb.engine.processes.worker_process", "MCP server": "kb.mcp.mcp_process"}


def kill_at_random(engine: EngineProgram, kills: int, chance: random.Random) -> tuple[Counter[str], list[float]]:
    """Returns how often each was killed, and how many seconds each start took."""
    killed: Counter[str] = Counter()
    starts = []
    while killed.total() < kills:
        time.sleep(chance.uniform(*chance.choice(PAUSES_SECONDS)))
        victim = chance.choice(["engine", "engine", "worker", "MCP server"])
        if victim == "engine":
            engine.kill()
            engine.start()
            starts.append(engine.ready_after_seconds)
        else:
            kill_child(engine, CHILDREN[victim])
        killed[victim] += 1
    return killed, starts


def kill_child(engine: EngineProgram, module: str) -> None:
    """Wait for it first: the last one may just have been killed."""
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        for child in psutil.Process(engine.process.pid).children():
            try:
                if module in child.cmdline():
                    child.kill()
                    return
            except psutil.NoSuchProcess:
                continue
        assert time.monotonic() < deadline, f"No {module} was started again"
        time.sleep(0.05)


def work_until(client: Client, stopping: threading.Event) -> None:
    while not stopping.is_set():
        client.do_something()


def add_documents(client: Client) -> None:
    while len(client.entries) < DOCUMENTS_BEFORE:
        client.add_something()
    wait_until_ingested(client)


def wait_until_ingested(client: Client) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    for entry in client.entries:
        while not client.settle(entry):
            assert time.monotonic() < deadline, entry
            time.sleep(0.1)


def test_kills_lose_no_acknowledged_write_and_leave_none_half_or_twice(engine: EngineProgram, tell: Tell) -> None:
    """E24, E4, E14, E16, E17, E21, S5"""
    chance = random.Random(SEED)  # noqa: S311 - no secret
    clients = [Client(engine.url, name, random.Random(chance.random())) for name in ("one", "two", "three")]  # noqa: S311
    stopping = threading.Event()
    for client in clients:
        add_documents(client)

    with ThreadPoolExecutor() as threads:
        working = [threads.submit(work_until, client, stopping) for client in clients]
        try:
            killed, starts = kill_at_random(engine, amount(selection=4, full=1000), chance)
        finally:
            stopping.set()
        for one in working:
            one.result()

    for client in clients:
        wait_until_ingested(client)
        client.verify()
        for entry in client.entries:
            # Once, if it is there: a job that ran twice counts once.
            assert client.find(entry.word) == ([] if entry.is_deleted else [entry.document_id])
        client.close()
    integrity = httpx.get(f"{engine.url}/api/v1/integrity", trust_env=False, timeout=WAIT_SECONDS).json()
    assert (integrity["status"], integrity["problems"]) == ("ok", [])
    assert httpx.get(f"{engine.mcp_url}/health", trust_env=False, timeout=WAIT_SECONDS).is_success
    engine.restart()
    assert engine.stop() == 0
    assert_base_is_consistent(engine.data_dir / "kb.sqlite")
    assert_originals_are_those_in_use(engine.data_dir)
    acknowledged = sum(client.acknowledged for client in clients)
    tell(
        f"{killed.total()} kills ({', '.join(f'{number} of the {name}' for name, number in killed.items())}): "
        f"{acknowledged} acknowledged writes, none lost, none half, none twice; ready again after "
        f"{statistics.median(starts):.2f} s (median), {max(starts):.2f} s (longest)"
    )
    if IS_FULL:
        # Of one start among few, the machine's other work may take the most.
        assert statistics.median(starts) < READY_WITHIN_SECONDS
