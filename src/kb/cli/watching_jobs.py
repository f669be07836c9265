"""Waiting for jobs, be it one or a hundred thousand.

Of each only the number is held, and a few questions tell of all of them: one list, and what that does not tell of is
asked for one by one, the oldest first. The engine begins with these, so that some that have not ended are soon met, and
of those behind them nothing more is asked.
"""

import asyncio
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeAlias

import httpx

from kb.cli.calling import Failure, failure_of
from kb.cli.patience import Patience
from kb.client import FINISHED, EngineClient, Json

Outcome: TypeAlias = Json | Failure
"""A job, or why there is none."""

JOBS_IN_A_LIST = 1_000
# So few are asked for one by one: a list would tell of many others.
ASKED_ONE_BY_ONE = 4
FIRST_PAUSE_SECONDS = 0.02
LONGEST_PAUSE_SECONDS = 0.5
# Looking takes work from the engine: so much of the time at most goes into it.
SHARE_OF_LOOKING = 0.1
# A look that takes longer has waited for an engine that was away, or has found very many that ended.
LONGEST_REST_SECONDS = 2.0


class JobWatch:
    """Waits for jobs. More of them may come while it runs, until it is told that these were all.

    `on_progress` gets a job each time it was seen and had not ended, `on_end` the number of one that has, and how.
    """

    def __init__(
        self,
        engine: EngineClient,
        patience: Patience,
        on_progress: Callable[[Json], None],
        on_end: Callable[[int, Outcome], None],
    ) -> None:
        self._engine = engine
        self._patience = patience
        self._on_progress = on_progress
        self._on_end = on_end
        # A set that keeps their order: the oldest come first.
        self._unended: dict[int, None] = {}
        self._has_changed = asyncio.Event()
        self._is_closed = False

    def __len__(self) -> int:
        """How many have not ended, as far as is known."""
        return len(self._unended)

    def add(self, job_ids: Iterable[int]) -> None:
        self._unended.update(dict.fromkeys(job_ids))
        self._has_changed.set()

    def close(self) -> None:
        """No more will come."""
        self._is_closed = True
        self._has_changed.set()

    async def run(self) -> None:
        """Until all have ended. Looks more and more seldom while none does, and never for more than a share of time."""
        pause = FIRST_PAUSE_SECONDS
        while self._unended or not self._is_closed:
            if not self._unended:
                self._has_changed.clear()
                await self._has_changed.wait()
                continue
            began_at, before = time.monotonic(), len(self._unended)
            await self._look()
            looked = time.monotonic() - began_at
            is_moving = len(self._unended) != before
            pause = FIRST_PAUSE_SECONDS if is_moving else min(pause * 1.5, LONGEST_PAUSE_SECONDS)
            if self._unended:
                await asyncio.sleep(rest_after(looked, pause))

    async def _look(self) -> None:
        unseen = self._unended.copy()
        if len(unseen) > ASKED_ONE_BY_ONE:
            for job in await self._list_jobs():
                if job["id"] in unseen:
                    del unseen[job["id"]]
                    self._note(job["id"], job)
        waiting = 0
        for job_id in unseen:
            self._note(job_id, await self._get_job(job_id))
            waiting += job_id in self._unended
            if waiting == ASKED_ONE_BY_ONE:
                return

    async def _list_jobs(self) -> list[Json]:
        # The newest are listed. Of more than a list holds, these are still waiting; but not the newest that are done.
        status = None if len(self._unended) <= JOBS_IN_A_LIST else "completed"
        listed = await self._patience.call(partial(self._engine.list_jobs, status=status, limit=JOBS_IN_A_LIST))
        return list(listed["jobs"])

    async def _get_job(self, job_id: int) -> Outcome:
        try:
            return await self._patience.call(partial(self._engine.get_job, job_id))
        except httpx.HTTPStatusError as error:
            if error.response.status_code != httpx.codes.NOT_FOUND:
                raise
            return failure_of(error.response)

    def _note(self, job_id: int, outcome: Outcome) -> None:
        if isinstance(outcome, Failure) or outcome["status"] in FINISHED:
            del self._unended[job_id]
            self._on_end(job_id, outcome)
        else:
            self._on_progress(outcome)


def rest_after(looked: float, pause: float) -> float:
    """How many seconds to leave the engine alone that was looked at for so many, and is to be for `pause` at least."""
    return max(pause, min(looked / SHARE_OF_LOOKING, LONGEST_REST_SECONDS))
