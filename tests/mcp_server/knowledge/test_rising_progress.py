"""What is reported of a job rises, whatever the job tells of itself."""

import asyncio
import uuid
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import groupby
from pathlib import Path

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.mcp_server.recording import PretendedEngine

from kb.client import EngineClient, Json
from kb.client import engine as engine_client
from kb.mcp.file_roots import FileRoots
from kb.mcp.tools import Call
from kb.mcp.toolsets import jobs
from kb.mcp.toolsets.jobs import follow_job
from kb.mcp.uploads import Uploads


class EngineThatTells(PretendedEngine):
    """Of one job, as it stands next each time that it is asked."""

    told: Iterator[Json]

    @property
    def answer(self) -> httpx.Response:  # type: ignore[override]  # it changes by itself
        return httpx.Response(200, json=next(self.told))


@pytest.fixture(scope="module")
def telling_engine() -> Iterator[EngineThatTells]:
    engine = EngineThatTells()
    with engine.running(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine_client, "FIRST_POLL_SECONDS", 0.0)
        patch.setattr(engine_client, "LONGEST_POLL_SECONDS", 0.0)
        yield engine


def job(status: str, progress: float, message: str) -> Json:
    return {"uuid": str(uuid.UUID(int=7)), "status": status, "progress": progress, "message": message}


def follow(engine: EngineThatTells, told: Sequence[Json]) -> list[tuple[float, str]]:
    """What is reported of a job that the engine tells of in this way."""
    reported: list[tuple[float, str]] = []

    async def report(done: float, message: str) -> None:
        reported.append((done, message))

    async def run() -> Json:
        async with EngineClient(engine.url) as client:
            call = Call(
                client,
                Uploads(Path("nowhere"), timedelta()),
                FileRoots(()),
                "agent",
                lambda later: later.close(),
                report,
            )
            return await follow_job(call, told[0])

    engine.told = iter(told)
    assert asyncio.run(run()) == told[-1]
    return reported


def test_what_is_reported_rises_even_where_the_jobs_own_number_falls(telling_engine: EngineThatTells) -> None:
    """M23: pages that turn out to be scans are more work than was thought."""
    told = [
        job("queued", 0.0, ""),
        job("running", 0.5, "Processing page 5 of 10"),
        job("running", 0.2, "Processing page 6 of 10"),
        job("running", 0.2, "Processing page 6 of 10"),
        job("running", 0.8, "Processing page 9 of 10"),
        job("completed", 1.0, "Processing page 10 of 10"),
    ]

    reported = follow(telling_engine, told)

    done, messages = zip(*reported, strict=True)
    assert (*done[:2], *done[3:]) == (0.0, 0.5, 0.8, 1.0)
    assert 0.5 < done[2] < 0.51
    assert messages == ("Waiting for its turn", *(f"Processing page {page} of 10" for page in (5, 6, 9, 10)))


def test_a_job_without_words_of_its_own_is_told_of_by_its_state(telling_engine: EngineThatTells) -> None:
    """M23"""
    told = [job("queued", 0.0, ""), job("running", 0.0, ""), job("completed", 1.0, "")]

    messages = [message for _, message in follow(telling_engine, told)]

    assert messages == ["Waiting for its turn", "Starting", "Done"]


def test_a_job_that_goes_on_at_its_last_percent_is_told_of_time_and_again(
    telling_engine: EngineThatTells, monkeypatch: pytest.MonkeyPatch
) -> None:
    """M23: a client that hears nothing for a minute gives up."""
    monkeypatch.setattr(jobs, "REPEAT_AFTER_SECONDS", 0.0)
    told = [*[job("running", 1.0, "Processing page 9 of 9")] * 50, job("completed", 1.0, "Processing page 9 of 9")]

    done = [done for done, _ in follow(telling_engine, told)]

    assert len(done) == 51
    assert done == sorted(set(done))
    assert done[-1] == 1.0


WORDS = {"queued": "Waiting for its turn", "running": "Starting", "failed": "Ended", "cancelled": "Ended"}
running_jobs = st.builds(
    job, st.sampled_from(["queued", "running"]), st.floats(0, 1), st.sampled_from(["", "Reading", "Page 1", "Page 2"])
)
ends = st.builds(job, st.sampled_from(["failed", "cancelled"]), st.floats(0, 1), st.sampled_from(["", "Page 2"]))


# Each example opens connections of its own.
@settings(max_examples=50, deadline=None)
@given(st.lists(running_jobs, max_size=8), ends | st.just(job("completed", 1.0, "Page 2")))
def test_whatever_a_job_tells_what_is_reported_rises_and_leaves_no_message_out(
    telling_engine: EngineThatTells, course: list[Json], end: Json
) -> None:
    """M23"""
    told = [*course, end]

    reported = follow(telling_engine, told)

    done = [done for done, _ in reported]
    assert done == sorted(set(done))
    assert all(0 <= number <= 1 for number in done)
    assert (done[-1] == 1.0) == (end["status"] == "completed")
    messages = [each["message"] or WORDS[each["status"]] for each in told]
    assert [first for first, _ in groupby(message for _, message in reported)] == [
        first for first, _ in groupby(messages)
    ]
