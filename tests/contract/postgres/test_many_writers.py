"""What SQLite's one writer need not think of: transactions of many, side by side."""

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

from tests.handmade_documents import LATER, LEASE, NOW, add_note, file, index, note

from kb.engine.model import DocumentQuery, Event, Lane, NoteSubmission
from kb.engine.ports import Store

AT_A_TIME = 8


def side_by_side(work: Callable[[Any], Any], of: Iterable[Any]) -> list[Any]:
    with ThreadPoolExecutor(AT_A_TIME) as threads:
        return list(threads.map(work, of))


def queue(store: Store, count: int) -> None:
    for number in range(count):
        store.add_job(NoteSubmission(f"note {number}"), idempotency_key=None, max_queued=1_000, now=NOW)


def test_e24_each_job_is_given_to_one_worker(store: Store, other_store: Store) -> None:
    queue(store, 40)

    def claim(number: int) -> int | None:
        claimed = (store, other_store)[number % 2].claim_job(Lane.INTERACTIVE, now=NOW, lease_until=NOW + LEASE)
        return None if claimed is None else claimed.job_id

    claimed = side_by_side(claim, range(60))

    assert sorted(job for job in claimed if job is not None) == list(range(1, 41))


def test_e25_of_many_submissions_for_one_path_one_document_is_made(store: Store) -> None:
    queue(store, 16)

    def commit(number: int) -> int:
        claim = store.claim_job(Lane.INTERACTIVE, now=NOW, lease_until=NOW + LEASE)
        assert claim is not None
        new = note(f"text {number}", source_path="/notes/a.md", tags=[f"t{number % 4}"])
        return store.commit_document(claim, new, index(f"text {number}"), now=NOW).document_id

    assert len(set(side_by_side(commit, range(16)))) == 1
    assert store.list_documents(DocumentQuery()).total == 1


def test_e25_of_many_uploads_of_the_same_bytes_one_document_is_made(store: Store) -> None:
    queue(store, 16)

    def commit(_: int) -> int:
        claim = store.claim_job(Lane.INTERACTIVE, now=NOW, lease_until=NOW + LEASE)
        assert claim is not None
        return store.commit_document(claim, file("the same"), index("the same"), now=NOW).document_id

    assert len(set(side_by_side(commit, range(16)))) == 1


def test_e4_a_key_queues_one_job_however_many_send_it_at_once(store: Store) -> None:
    def submit(_: int) -> int:
        return store.add_job(NoteSubmission("once"), idempotency_key="k", max_queued=100, now=NOW).id

    assert len(set(side_by_side(submit, range(16)))) == 1


def test_e14_of_many_changes_of_the_same_version_one_is_made(store: Store) -> None:
    document = add_note(store, "walrus")

    def tag(number: int) -> bool:
        try:
            store.change_tags(document.id, add=[f"t{number}"], remove=[], expected_version=1, now=LATER)
        except Exception:  # noqa: BLE001 - whichever it is, it was not made
            return False
        return True

    assert sum(side_by_side(tag, range(12))) == 1
    assert len(store.get_document(document.id).tags) == 1


def test_e13_tags_that_come_and_go_side_by_side_are_those_that_documents_have(store: Store) -> None:
    documents = [add_note(store, f"note {number}") for number in range(6)]

    def change(number: int) -> None:
        document = documents[number % len(documents)]
        tags = [f"t{(number * step) % 4}" for step in range(1, 4)]
        store.replace_tags(document.id, tags if number % 3 else [], expected_version=None, now=LATER)

    side_by_side(change, range(60))

    counts = {tag.name: tag.count for tag in store.list_tags().rows}
    held = [tag for document in documents for tag in store.get_document(document.id).tags]
    assert counts == {tag: held.count(tag) for tag in set(held)}


def test_e13_documents_that_share_tags_are_added_side_by_side(store: Store) -> None:
    queue(store, 24)

    def commit(number: int) -> int:
        claim = store.claim_job(Lane.INTERACTIVE, now=NOW, lease_until=NOW + LEASE)
        assert claim is not None
        new = note(f"text {number}", tags=["a", "b", "c"] if number % 2 else ["c", "b", "a"])
        return store.commit_document(claim, new, index(f"text {number}"), now=NOW).document_id

    documents = side_by_side(commit, range(24))

    assert len(set(documents)) == 24
    assert [(tag.name, tag.count) for tag in store.list_tags().rows] == [("a", 24), ("b", 24), ("c", 24)]
    assert store.get_document(documents[0]).tags in [("a", "b", "c"), ("c", "b", "a")]


def test_e8_whoever_reads_events_behind_the_last_misses_none(store: Store, other_store: Store) -> None:
    """Numbers are given in the order in which transactions end, not in that in which they begin."""
    stopping = threading.Event()

    def read() -> list[Event]:
        read: list[Event] = []
        while True:
            is_last = stopping.is_set()
            read += other_store.list_events(after=read[-1].seq if read else 0, limit=10)
            if is_last and (not read or read[-1].seq == other_store.newest_event()):
                return read

    with ThreadPoolExecutor(1) as reader:
        reading = reader.submit(read)
        side_by_side(lambda number: queue(store, 3), range(24))
        stopping.set()
        events = reading.result()

    assert [event.seq for event in events] == list(range(1, 73))


def test_one_worker_at_a_time_looks_after_the_base_and_another_takes_over(store: Store, other_store: Store) -> None:
    later = NOW + timedelta(seconds=30)

    assert not store.was_looked_after(since=NOW)
    assert store.claim_upkeep("one", now=NOW, lease_until=NOW + LEASE)
    assert not other_store.claim_upkeep("two", now=NOW, lease_until=NOW + LEASE)
    assert store.claim_upkeep("one", now=NOW, lease_until=NOW + LEASE)
    assert other_store.was_looked_after(since=NOW)
    assert not other_store.was_looked_after(since=later)
    assert other_store.claim_upkeep("two", now=later, lease_until=later + LEASE)
    assert not store.claim_upkeep("one", now=later, lease_until=later + LEASE)


def test_workers_hear_of_jobs_that_are_submitted_elsewhere(store: Store, other_store: Store) -> None:
    heard, stopping = threading.Event(), threading.Event()
    with ThreadPoolExecutor(1) as threads:
        watching = threads.submit(other_store.watch_jobs, heard.set, stopping)
        try:
            for _ in range(100):
                queue(store, 1)
                if heard.wait(0.1):
                    break
        finally:
            stopping.set()
        watching.result()

    assert heard.is_set()
