"""Files on their way into the engine: several are sent at a time, and all are waited for together.

Few things are held for each file, so that ten thousand of them cost little: a few tasks share the files among
themselves, and of the jobs that are waited for only the numbers are kept. No more are under way than the engine tells
of in one list, so that one answer tells of all of them.

A call whose answer was lost is made again: each file has a key of its own, by which the engine knows it again.
"""

import asyncio
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import httpx

from kb.cli.adding.sources import Source
from kb.cli.calling import Failure, failure_of
from kb.cli.exits import Exit
from kb.cli.patience import Patience
from kb.cli.render import adding
from kb.cli.render.problems import cannot_be_read
from kb.cli.render.progress import Board, progress_of_files
from kb.cli.render.terminal import complain, print_json
from kb.client import EngineClient, Json

Outcome: TypeAlias = Json | Failure

# What the engine refuses about one file. Anything else it would say of the next one too.
REFUSALS_OF_ONE_FILE = frozenset({400, 409, 413, 415, 422})
UNSUPPORTED_FORMAT = "unsupported_format"
FINISHED = frozenset({"completed", "failed", "cancelled"})

# More made it no faster: the engine writes what it gets one after the other.
UPLOADS_AT_ONCE = 4
MOST_UNDER_WAY = JOBS_IN_A_LIST = 1_000
# So few are asked for one by one: a list of all jobs would tell of many others.
ASKED_ONE_BY_ONE = 4
FIRST_PAUSE_SECONDS = 0.02
LONGEST_PAUSE_SECONDS = 0.5
# Looking takes work from the engine: so much of the time at most goes into it.
SHARE_OF_LOOKING = 0.1
# A look that takes longer has waited for an engine that was away.
LONGEST_REST_SECONDS = 2.0


@dataclass(frozen=True)
class Submission:
    """How a source fared: its job, or why there is none."""

    source: Source
    outcome: Outcome


@dataclass(frozen=True)
class Wishes:
    """What holds for all files of a command."""

    title: str | None
    tags: Sequence[str]
    force_ocr: bool
    wait: bool


class Journey:
    """The way of all files of a command. `on_end` gets the place of each among the sources, and how it fared."""

    def __init__(
        self,
        engine: EngineClient,
        sources: Sequence[Source],
        wishes: Wishes,
        board: Board,
        on_end: Callable[[int, Submission], None],
    ) -> None:
        self._engine = engine
        self._sources = sources
        self._wishes = wishes
        self._board = board
        self._on_end = on_end
        self._patience = Patience(engine, board.complain)
        self._unsent = iter(range(len(sources)))
        self._key = secrets.token_hex(12)
        self._under_way: dict[int, int] = {}
        self._room = asyncio.Semaphore(MOST_UNDER_WAY)
        self._may_have_news = asyncio.Event()
        self._is_all_sent = False

    @property
    def jobs_under_way(self) -> int:
        """How many files the engine has accepted and is not done with."""
        return len(self._under_way)

    async def run(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._watch_jobs())
                await asyncio.wait([group.create_task(self._send_files()) for _ in range(UPLOADS_AT_ONCE)])
                self._is_all_sent = True
                self._may_have_news.set()
        except BaseExceptionGroup as errors:
            # They fail for the same reason: the engine is gone, or does not want us.
            raise errors.exceptions[0] from None

    async def _send_files(self) -> None:
        for place in self._unsent:
            await self._room.acquire()
            source = self._sources[place]
            outcome = await self._send(place, source)
            if isinstance(outcome, Failure) or not self._wishes.wait or outcome["status"] in FINISHED:
                self._end(place, outcome)
            else:
                self._under_way[outcome["id"]] = place
                self._board.show_job(place, source.label, outcome)
                self._may_have_news.set()

    async def _send(self, place: int, source: Source) -> Outcome:
        async def submit() -> Json:
            show = self._board.show_sending(place, source.label, source.size_bytes)
            return await self._engine.submit_file(
                source.file,
                title=self._wishes.title,
                tags=self._wishes.tags,
                source_path=source.source_path,
                force_ocr=self._wishes.force_ocr,
                idempotency_key=f"{self._key}-{place}",
                on_progress=show,
            )

        try:
            return await self._patience.call(submit)
        except OSError as error:
            return Failure(cannot_be_read(error), Exit.FAILED)
        except httpx.HTTPStatusError as error:
            if error.response.status_code not in REFUSALS_OF_ONE_FILE:
                raise
            return failure_of(error.response)

    async def _watch_jobs(self) -> None:
        """Look at them more and more seldom while none of them ends, and never for more than a share of the time."""
        pause = FIRST_PAUSE_SECONDS
        while self._under_way or not self._is_all_sent:
            if not self._under_way:
                self._may_have_news.clear()
                await self._may_have_news.wait()
                continue
            began_at, before = time.monotonic(), len(self._under_way)
            await self._look_at_jobs([*self._under_way])
            looked = time.monotonic() - began_at
            is_moving = len(self._under_way) != before
            pause = FIRST_PAUSE_SECONDS if is_moving else min(pause * 1.5, LONGEST_PAUSE_SECONDS)
            await asyncio.sleep(max(pause, min(looked / SHARE_OF_LOOKING, LONGEST_REST_SECONDS)))

    async def _look_at_jobs(self, job_ids: Sequence[int]) -> None:
        unseen = set(job_ids)
        if len(unseen) > ASKED_ONE_BY_ONE:
            for job in (await self._patience.call(partial(self._engine.list_jobs, limit=JOBS_IN_A_LIST)))["jobs"]:
                if job["id"] in unseen:
                    unseen.remove(job["id"])
                    self._note(job["id"], job)
        # Others may have added so many that ours are not in the list; the oldest of them will be done first.
        for job_id in sorted(unseen)[:ASKED_ONE_BY_ONE]:
            self._note(job_id, await self._get_job(job_id))

    async def _get_job(self, job_id: int) -> Outcome:
        try:
            return await self._patience.call(partial(self._engine.get_job, job_id))
        except httpx.HTTPStatusError as error:
            if error.response.status_code != httpx.codes.NOT_FOUND:
                raise
            return failure_of(error.response)

    def _note(self, job_id: int, outcome: Outcome) -> None:
        place = self._under_way[job_id]
        if isinstance(outcome, Failure) or outcome["status"] in FINISHED:
            del self._under_way[job_id]
            self._end(place, outcome)
        else:
            self._board.show_job(place, self._sources[place].label, outcome)

    def _end(self, place: int, outcome: Outcome) -> None:
        source = self._sources[place]
        self._room.release()
        self._board.count_done(place, source.size_bytes)
        self._on_end(place, Submission(source, outcome))


async def submit_files(
    engine: EngineClient,
    sources: Sequence[Source],
    *,
    title: str | None,
    tags: Sequence[str],
    force_ocr: bool,
    wait: bool,
) -> list[Submission]:
    """How each fared, in their order. Raises what would be the same for any of them."""
    ended: dict[int, Submission] = {}
    with progress_of_files(len(sources), sum(source.size_bytes for source in sources)) as board:
        wishes = Wishes(title, tags, force_ocr, wait)
        await Journey(engine, sources, wishes, board, ended.__setitem__).run()
    return [ended[place] for place in range(len(sources))]


def report_job(job: Json, *, label: str, as_json: bool) -> Exit:
    """Tell how the job ended, or that it has not; answer with what a script should know."""
    if as_json:
        print_json(job)
    if has_failed(job):
        complain(adding.job_failure(job, label))
        return Exit.JOB_FAILED
    if not as_json:
        adding.show_job(job, label)
    return Exit.DONE


def has_failed(job: Json) -> bool:
    return job["status"] in {"failed", "cancelled"}


def is_unsupported(submission: Submission) -> bool:
    """Whether it was only found, and is of a kind that kb cannot read: nobody has asked for it."""
    outcome = submission.outcome
    return isinstance(outcome, Failure) and outcome.code == UNSUPPORTED_FORMAT and not submission.source.is_named
