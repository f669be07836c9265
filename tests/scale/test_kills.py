"""Engines and workers on one base, killed at random: nothing acknowledged is lost, nothing is there twice (E24, S5)."""

import random
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
from tests.amounts import SEED, Tell, amount
from tests.scale.cluster import Cluster, Host, open_cluster
from tests.waiting import wait_until

ENGINES, WORKERS = amount(selection=2, full=3), amount(selection=2, full=4)
DOCUMENTS = amount(selection=60, full=5_000)
# These come only after one of each kind was killed, however quick the rest was.
LAST_DOCUMENTS = DOCUMENTS // 3
PAUSE_SECONDS = (0.5, 3.0)
KILLED_WITHIN_SECONDS = 120.0
SUBMIT_WITHIN_SECONDS = 120.0
DONE_WITHIN_SECONDS = amount(selection=120, full=3_600)


def test_documents_that_many_take_in_while_they_are_killed_are_all_there_once(
    settings: dict[str, str], tmp_path: Path, tell: Tell
) -> None:
    stopping, killed = threading.Event(), Counter[str]()
    with open_cluster(tmp_path, settings, engines=ENGINES, workers=WORKERS) as cluster:
        began = time.monotonic()
        with ThreadPoolExecutor() as threads:
            killing = threads.submit(kill_at_random, cluster, killed, stopping)
            try:
                first = list(threads.map(lambda number: submit(cluster, number), range(DOCUMENTS - LAST_DOCUMENTS)))
                wait_until_each_was_killed(killed)
                rest = range(DOCUMENTS - LAST_DOCUMENTS, DOCUMENTS)
                submitted = [*first, *threads.map(lambda number: submit(cluster, number), rest)]
                wait_until_done(cluster)
            finally:
                stopping.set()
            killing.result()
        for host in cluster.hosts:
            host.wait_until_ready()
        tell(f"{DOCUMENTS} documents in {time.monotonic() - began:.0f} s, killed meanwhile: {dict(killed)}")
        for engine in cluster.engines:
            assert_all_are_there_once(cluster, engine, submitted)
        assert_whole(cluster)


def kill_at_random(cluster: Cluster, killed: Counter[str], stopping: threading.Event) -> None:
    chance = random.Random(SEED)  # noqa: S311 - no secret
    of_each = [cluster.workers[0], cluster.engines[0]]
    while not stopping.wait(chance.uniform(*PAUSE_SECONDS)):
        victim = of_each.pop() if of_each else chance.choice(cluster.hosts)
        victim.kill()
        victim.start()
        victim.wait_until_ready()
        killed["engine" if victim.is_engine else "worker"] += 1


def wait_until_each_was_killed(killed: Counter[str]) -> None:
    wait_until(lambda: len(killed) == len(("engine", "worker")), within_seconds=KILLED_WITHIN_SECONDS)


def submit(cluster: Cluster, number: int) -> int:
    """The job, however often an engine dies before it has answered: the key sees to it that there is one."""
    deadline = time.monotonic() + SUBMIT_WITHIN_SECONDS
    attempt = number
    while True:
        engine = cluster.engines[attempt % ENGINES]
        attempt += 1
        try:
            with cluster.connect(engine) as http:
                answer = send(http, number)
            if answer.status_code == 202:
                job: int = answer.json()["id"]
                return job
            assert answer.status_code in (429, 503), answer.text
        except httpx.TransportError:
            pass
        assert time.monotonic() < deadline
        time.sleep(0.2)


def send(http: httpx.Client, number: int) -> httpx.Response:
    """Every other is a file."""
    key = {"Idempotency-Key": f"document-{number}"}
    text = f"Report {number} is about the harbour in year {number}, and its code is zq{number}x."
    if number % 2:
        return http.post("/jobs", files={"file": (f"report{number}.txt", text.encode())}, headers=key)
    return http.post("/jobs", json={"type": "note", "text": text}, headers=key)


def wait_until_done(cluster: Cluster) -> None:
    deadline = time.monotonic() + DONE_WITHIN_SECONDS
    while True:
        try:
            with cluster.connect(cluster.engines[0]) as http:
                queue = http.get("/status").raise_for_status().json()["queue"]
            if not queue["queued"] + queue["running"]:
                return
        except (httpx.TransportError, httpx.HTTPStatusError):
            pass
        assert time.monotonic() < deadline
        time.sleep(0.5)


def assert_all_are_there_once(cluster: Cluster, engine: Host, jobs: list[int]) -> None:
    with cluster.connect(engine) as http:
        assert http.get("/documents", params={"limit": 1}).json()["total"] == DOCUMENTS
        documents = set()
        for number in range(0, DOCUMENTS, max(DOCUMENTS // 50, 1)):
            job = http.get(f"/jobs/{jobs[number]}").json()
            assert job["status"] == "completed", job
            documents.add(job["document_id"])
            found = http.post("/search", json={"query": f"zq{number}x", "mode": "fts"}).json()
            assert [hit["document_id"] for hit in found["results"]] == [job["document_id"]]
        assert len(documents) == len(range(0, DOCUMENTS, max(DOCUMENTS // 50, 1)))


def assert_whole(cluster: Cluster) -> None:
    with cluster.connect(cluster.engines[0]) as http:
        report = http.get("/integrity", timeout=600).raise_for_status().json()
    assert report["problems"] == []
    assert report["checked"]["documents"] == DOCUMENTS
    assert report["checked"]["originals"] == DOCUMENTS // 2
