"""Tests wait for a condition, never for a time; what does not come about fails them."""

import asyncio
import time
from collections.abc import Awaitable, Callable

import httpx

from kb.client import FINISHED, Json

WITHIN_SECONDS = 60.0
LOOK_EVERY_SECONDS = 0.02


def wait_until(condition: Callable[[], bool], what: str = "", *, within_seconds: float = WITHIN_SECONDS) -> None:
    deadline = time.monotonic() + within_seconds
    while not condition():
        assert time.monotonic() < deadline, f"Not within {within_seconds:g} s: {what}"
        time.sleep(LOOK_EVERY_SECONDS)


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    deadline = time.monotonic() + WITHIN_SECONDS
    while not await condition():
        assert time.monotonic() < deadline, f"Not within {WITHIN_SECONDS:g} s."
        await asyncio.sleep(LOOK_EVERY_SECONDS)


def wait_for_job(http: httpx.Client, job_id: int, *, within_seconds: float = WITHIN_SECONDS) -> Json:
    """The job once it has ended, in whatever way."""
    job: Json = {}

    def has_ended() -> bool:
        job.update(http.get(f"/jobs/{job_id}").raise_for_status().json())
        return job["status"] in FINISHED

    wait_until(has_ended, f"job {job_id} has ended", within_seconds=within_seconds)
    return job


def wait_for_document(http: httpx.Client, job_id: int) -> int:
    """The document that the job has become."""
    job = wait_for_job(http, job_id)
    assert job["status"] == "completed", job
    return int(job["document_id"])
