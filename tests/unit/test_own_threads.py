"""Waiting for a disk that may not answer."""

import asyncio
import threading

import pytest

from kb.client.sending import run_in_own_thread

LONG_SECONDS = 60.0


def test_what_takes_too_long_is_given_up_however_many_there_are() -> None:
    """M16: no pool of threads is filled by them, and the program can end while they hang."""
    never = threading.Event()

    async def wait_for_many() -> list[str | BaseException]:
        hanging = [run_in_own_thread(never.wait, within_seconds=0.05) for _ in range(50)]
        outcomes = await asyncio.gather(*hanging, return_exceptions=True)
        assert all(isinstance(outcome, OSError) for outcome in outcomes)
        return [await run_in_own_thread(lambda: "answered", within_seconds=LONG_SECONDS)]

    assert asyncio.run(wait_for_many()) == ["answered"]
    assert all(thread.daemon for thread in threading.enumerate() if thread.name == "file")
    never.set()


def test_what_it_raises_is_raised_where_somebody_waits() -> None:
    def fail() -> None:
        raise PermissionError("no")

    with pytest.raises(PermissionError):
        asyncio.run(run_in_own_thread(fail, within_seconds=LONG_SECONDS))


def test_an_answer_that_comes_when_nobody_waits_any_more_is_dropped() -> None:
    is_free = threading.Event()

    async def give_up() -> None:
        with pytest.raises(OSError, match="disk"):
            await run_in_own_thread(is_free.wait, within_seconds=0.05)
        is_free.set()
        for thread in [thread for thread in threading.enumerate() if thread.name == "file"]:
            await asyncio.to_thread(thread.join)

    asyncio.run(give_up())
