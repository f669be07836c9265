"""What a worker lacks is told by the engine, which is another process, perhaps on another machine."""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event

import pytest
from tests.handmade_documents import LEASE, NOW

from kb.engine.embedding import open_embedder
from kb.engine.ports import Store
from kb.engine.upkeep.shortfall import report_shortfall

LACKING = "The model computes on the processor and not on cuda: no reason."


def report(store: Store, worker: str, shortfall: str | None) -> None:
    store.report_shortfall(worker, shortfall, now=NOW, until=NOW + LEASE)


def test_what_a_worker_lacks_is_known_to_all_until_it_is_no_longer_said(store: Store, other_store: Store) -> None:
    assert other_store.list_shortfalls(now=NOW) == []

    report(store, "one", LACKING)

    assert other_store.list_shortfalls(now=NOW) == [LACKING]
    assert other_store.list_shortfalls(now=NOW + LEASE) == []


def test_what_several_workers_lack_is_told_once_and_for_as_long_as_one_lacks_it(store: Store) -> None:
    for worker, shortfall in (("one", LACKING), ("two", LACKING), ("three", "Another.")):
        report(store, worker, shortfall)
    before = store.list_shortfalls(now=NOW)

    report(store, "one", None)
    without_one = store.list_shortfalls(now=NOW)
    report(store, "two", None)
    report(store, "two", None)

    assert before == without_one == ["Another.", LACKING]
    assert store.list_shortfalls(now=NOW) == ["Another."]


def test_workers_may_report_at_the_same_time(store: Store, other_store: Store) -> None:
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda n: report((store, other_store)[n % 2], f"worker {n}", f"{n:02}"), range(16)))

    assert store.list_shortfalls(now=NOW) == [f"{n:02}" for n in range(16)]


@pytest.mark.parametrize("leap", [timedelta(days=-3650), timedelta(hours=-1), timedelta(days=3650)], ids=str)
def test_what_was_said_by_a_clock_that_was_wrong_is_not_told(store: Store, leap: timedelta) -> None:
    report(store, "one", LACKING)

    assert store.list_shortfalls(now=NOW + leap) == []


def test_a_worker_without_its_device_says_so_while_it_runs(
    store: Store, other_store: Store, model_folder: Path, cache_dir: Path
) -> None:
    embedder = open_embedder(model_folder, cache_dir / "graphs", threads=1, device="rocm")
    stopping = Event()

    with ThreadPoolExecutor(1) as threads:
        reporting = threads.submit(report_shortfall, store, embedder, "one", lambda: datetime.now(UTC), stopping)
        while not (told := other_store.list_shortfalls(now=datetime.now(UTC))) and not reporting.done():
            time.sleep(0.001)
        stopping.set()
        reporting.result()

    assert told == [embedder.computing.shortfall]
    assert other_store.list_shortfalls(now=datetime.now(UTC)) == []
