"""E8: what happens is told to those who listen. The server is real, since the test client cannot read as it goes."""

import asyncio
import json
import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from uuid import uuid4

import apsw
import httpx
import pytest
from tests.api_calls import Json, assert_problem
from tests.engine_in_process import serving
from tests.handmade_documents import add, note
from tests.waiting import wait_until

from kb.engine.api.events import EVENTS_AT_ONCE, MAX_LISTENERS, MAX_WAITING_BYTES, MAX_WAITING_EVENTS, Feed
from kb.engine.model import DocumentChange
from kb.engine.storage.tables import documents
from kb.engine.wiring import Engine


@pytest.fixture
def http(engine: Engine) -> Iterator[httpx.Client]:
    with serving(engine) as (client, _):
        yield client


@contextmanager
def listening(http: httpx.Client, last_event_id: int | None = None) -> Iterator[Iterator[Json]]:
    """The events from now on, or after that one."""
    headers = {} if last_event_id is None else {"Last-Event-ID": str(last_event_id)}
    with http.stream("GET", "/events", headers=headers) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].partition(";")[0] == "text/event-stream"
        yield parse_events(response.iter_lines())


def parse_events(lines: Iterator[str]) -> Iterator[Json]:
    fields: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
            continue
        if "data" in fields:
            yield {"id": int(fields["id"]), "event": fields["event"], "data": json.loads(fields["data"])}
        fields = {}


def take_until(events: Iterator[Json], kind: str, status: str | None = None) -> list[Json]:
    taken = []
    for event in events:
        taken.append(event)
        if event["event"] == kind and event["data"].get("status") == status:
            return taken
    raise AssertionError(f"The stream ended before {kind}: {taken}")


def take_all(events: Iterator[Json], engine: Engine) -> list[Json]:
    """Up to what happened last. That a job runs may be told once it is completed, and as that."""
    newest = engine.store.newest_event()
    taken = []
    for event in events:
        taken.append(event)
        if event["id"] == newest:
            return taken
    raise AssertionError(f"The stream ended before event {newest}: {taken}")


def submit_note(http: httpx.Client, text: str) -> Json:
    job: Json = http.post("/jobs", json={"type": "note", "text": text}).raise_for_status().json()
    return job


@pytest.fixture
def add_note(http: httpx.Client, work_off: Callable[[], None]) -> Callable[[str], int]:
    def add(text: str) -> int:
        job = submit_note(http, text)
        work_off()
        document_id: int = http.get(f"/jobs/{job['id']}").raise_for_status().json()["document_id"]
        return document_id

    return add


def write_events(engine: Engine, count: int) -> None:
    """As if so many documents were deleted."""
    with apsw.Connection(str(engine.options.data_dir / "kb.sqlite")) as db:
        rows = [("document_deleted", number, uuid4().bytes) for number in range(count)]
        db.executemany("INSERT INTO events (kind, document_id, document_uuid) VALUES (?, ?, ?)", rows)


def test_e8_a_job_and_its_document_are_told_of_as_their_own_routes_show_them(
    engine: Engine, http: httpx.Client, work_off: Callable[[], None]
) -> None:
    with listening(http) as events:
        job = submit_note(http, "A separator \u2028 and a lighthouse")
        (queued,) = take_until(events, "job", "queued")
        work_off()
        told = take_all(events, engine)

    completed = told[-1]["data"]
    (added,) = [event["data"] for event in told if event["event"] == "document_added"]
    assert (queued["data"]["id"], queued["data"]["progress"]) == (job["id"], 0)
    assert completed == http.get(f"/jobs/{job['id']}").json()
    assert [added] == http.get("/documents").json()["documents"]
    assert [event["id"] for event in told] == sorted(event["id"] for event in told)


def test_e8_changes_and_deletions_are_told_of(http: httpx.Client, add_note: Callable[[str], int]) -> None:
    kept, gone = add_note("Kept"), add_note("Gone")
    uuid = http.get(f"/documents/{gone}").json()["uuid"]

    with listening(http) as events:
        changed = http.post(f"/documents/{kept}/tags", json={"tags": ["new"]}).json()
        (first,) = take_until(events, "document_changed")
        http.delete(f"/documents/{gone}").raise_for_status()
        (second,) = take_until(events, "document_deleted")
        everything = {"confirm": True, "confirmation_phrase": "DELETE ALL"}
        http.request("DELETE", "/documents", json=everything).raise_for_status()
        third = take_until(events, "everything_deleted")[-1]

    assert first["data"] == changed
    assert second["data"] == {"document_id": gone, "document_uuid": uuid}
    assert third["data"] == {}


def test_e8_who_comes_back_goes_on_behind_the_last_event(
    engine: Engine, http: httpx.Client, add_note: Callable[[str], int]
) -> None:
    with listening(http) as events:
        add_note("Heard")
        heard = take_all(events, engine)
    missed = add_note("Missed")

    with listening(http, heard[-1]["id"]) as events:
        caught_up = take_all(events, engine)
        add_note("Afterwards")
        live = take_all(events, engine)

    assert caught_up[0]["id"] > heard[-1]["id"]
    assert [event["data"]["id"] for event in caught_up if event["event"] == "document_added"] == [missed]
    assert live[0]["id"] > caught_up[-1]["id"]


def test_e8_what_is_over_is_told_once_and_as_it_is_now(http: httpx.Client, add_note: Callable[[str], int]) -> None:
    """Several events of one job are one, and a document that is gone is only told to be deleted."""
    gone = add_note("Gone by now")
    http.delete(f"/documents/{gone}").raise_for_status()

    with listening(http, 0) as events:
        told = take_until(events, "document_deleted")

    assert [event["event"] for event in told] == ["job", "document_deleted"]
    assert told[0]["data"]["status"] == "completed"


def test_e8_who_was_away_too_long_is_told_so(
    engine: Engine, http: httpx.Client, add_note: Callable[[str], int]
) -> None:
    add_note("Long ago")
    with apsw.Connection(str(engine.options.data_dir / "kb.sqlite")) as db:
        db.execute("DELETE FROM events WHERE seq < (SELECT max(seq) FROM events)")

    with listening(http, 1) as events, listening(http, 1_000_000) as of_another_base:
        told = [next(events), next(of_another_base)]
        add_note("And now")
        live = [take_all(events, engine), take_all(of_another_base, engine)]

    assert [event["event"] for event in told] == ["missed", "missed"]
    for missed, events_since in zip(told, live, strict=True):
        assert all(event["id"] > missed["id"] for event in events_since)
        assert [event["event"] for event in events_since if event["event"] != "job"] == ["document_added"]


def test_e8_who_was_away_for_thousands_of_events_gets_them_all(engine: Engine, http: httpx.Client) -> None:
    count = 2 * EVENTS_AT_ONCE + 1
    write_events(engine, count)

    with listening(http, 0) as events:
        told = [next(events)["data"]["document_id"] for _ in range(count)]

    assert told == [*range(count)]


def may_listen(http: httpx.Client) -> bool:
    with http.stream("GET", "/events") as response:
        return response.is_success


def test_e8_no_more_may_listen_than_the_engine_bears(http: httpx.Client) -> None:
    with ExitStack() as opened:
        for _ in range(MAX_LISTENERS):
            opened.enter_context(listening(http))

        refused = http.get("/events")

        problem = assert_problem(refused, 429, "too_many_requests")
        assert str(MAX_LISTENERS) in problem["detail"]
        assert refused.headers["retry-after"]
        assert http.get("/status").is_success
    wait_until(lambda: may_listen(http), "those who left count no longer")


def test_e8_when_the_engine_stops_every_stream_ends(engine: Engine) -> None:
    with serving(engine) as (http, server), listening(http) as one, listening(http) as another:
        server.should_exit = True

        assert [*one, *another] == []


def test_e8_when_something_unforeseen_happens_it_is_logged_every_stream_ends_and_the_next_is_told_again(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    trouble: list[Exception] = []

    def is_stopping() -> bool:
        if trouble:
            raise trouble.pop()
        return False

    async def run() -> tuple[list[bytes], bytes]:
        feed = Feed()
        working = replace(engine, is_stopping=is_stopping)
        async with feed.listen(working, None) as one, feed.listen(working, None) as another:
            trouble.append(RuntimeError("unforeseen"))
            ended = [message async for message in one] + [message async for message in another]
        async with feed.listen(working, None) as later:
            write_events(engine, 1)
            return ended, [await anext(later), await anext(later)][1]

    with caplog.at_level(logging.ERROR):
        ended, told = asyncio.run(run())

    assert [message[:6] for message in ended] == [b"id: 0\n"] * 2
    assert b"document_deleted" in told
    (record,) = caplog.records
    assert (record.name, str(record.exc_info and record.exc_info[1])) == ("kb.engine.api.events", "unforeseen")


def test_e8_who_does_not_read_is_sent_away_and_the_others_are_not(engine: Engine) -> None:
    count = 3 * MAX_WAITING_EVENTS

    async def run() -> tuple[list[bytes], bytes]:
        feed = Feed()
        working = replace(engine, is_stopping=lambda: False)
        async with feed.listen(working, None) as slow, feed.listen(working, None) as quick:
            write_events(engine, count)
            async for message in quick:
                last = message
                if message.startswith(f"id: {count}\n".encode()):
                    break
            return [message async for message in slow], last

    received, last = asyncio.run(run())

    assert f'"document_id": {count - 1}'.encode() in last
    assert received[0].startswith(b"id: 0\nretry: ")
    assert len(received) == 1 + MAX_WAITING_EVENTS


def test_e33_waiting_events_are_bounded_by_their_bytes(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    # A document of an older base may have this much metadata.
    monkeypatch.setattr(documents, "MAX_METADATA_BYTES", 2_000_000)
    metadata = {"long": "x" * 1_000_000}
    document = add(engine.store, note("The mill.", metadata=metadata))

    async def run() -> tuple[list[bytes], bytes]:
        feed = Feed()
        working = replace(engine, is_stopping=lambda: False)
        async with feed.listen(working, None) as slow, feed.listen(working, None) as quick:
            for number in range(5):
                last = f"title {number}"
                engine.store.update_document(
                    document.id, DocumentChange(title=last), expected_version=None, now=engine.clock()
                )
                async for message in quick:
                    if last.encode() in message:
                        break
            return [message async for message in slow], message

    received, last = asyncio.run(run())

    assert b"title 4" in last
    assert len(received) == 1 + MAX_WAITING_BYTES // len(last)
