"""Files on their way into the engine: several are sent at a time, and all are waited for together.

Few things are held for each file, so that ten thousand of them cost little: a few tasks share the files among
themselves, and of the jobs that are waited for only the numbers are kept. No more are under way than the engine tells
of in one list, so that one answer tells of all of them.

A call whose answer was lost is made again: each file has a key of its own, by which the engine knows it again.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from kb.cli.adding.sources import Source
from kb.cli.calling import Failure, failure_of
from kb.cli.exits import Exit
from kb.cli.folders.opening import open_below
from kb.cli.patience import Patience
from kb.cli.render.problems import cannot_be_read
from kb.cli.render.progress import Board
from kb.cli.watching_jobs import JOBS_IN_A_LIST, JobWatch, Outcome
from kb.client import FINISHED, EngineClient, Json, NamedFile
from kb.client.sending import open_file

# What the engine refuses about one file. Anything else it would say of the next one too.
REFUSALS_OF_ONE_FILE = frozenset({400, 409, 413, 415, 422})
UNSUPPORTED_FORMAT = "unsupported_format"

# More made it no faster: the engine writes what it gets one after the other.
UPLOADS_AT_ONCE = 4
# One list tells of so many.
MOST_UNDER_WAY = JOBS_IN_A_LIST


@dataclass(frozen=True)
class Submission:
    """How a source fared: its job, or why there is none."""

    source: Source
    outcome: Outcome


@dataclass(frozen=True, kw_only=True)
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
        self._places: dict[int, int] = {}
        self._watch = JobWatch(engine, self._patience, self._show, self._end_job)
        self._room = asyncio.Semaphore(MOST_UNDER_WAY)

    @property
    def jobs_under_way(self) -> int:
        """How many files the engine has accepted and is not done with."""
        return len(self._watch)

    async def run(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._watch.run())
                await asyncio.wait([group.create_task(self._send_files()) for _ in range(UPLOADS_AT_ONCE)])
                self._watch.close()
        except BaseExceptionGroup as errors:
            # They fail for the same reason: the engine is gone, or does not want us.
            raise errors.exceptions[0] from None

    async def _send_files(self) -> None:
        for place in self._unsent:
            await self._room.acquire()
            outcome = await self._send(place, self._sources[place])
            if isinstance(outcome, Failure) or not self._wishes.wait or outcome["status"] in FINISHED:
                self._end(place, outcome)
            else:
                self._places[outcome["id"]] = place
                self._show(outcome)
                self._watch.add([outcome["id"]])

    async def _send(self, place: int, source: Source) -> Outcome:
        async def submit() -> Json:
            async with _opened(source) as file:
                return await self._engine.submit_file(
                    file,
                    title=self._wishes.title,
                    tags=self._wishes.tags,
                    source_path=source.source_path,
                    force_ocr=self._wishes.force_ocr,
                    idempotency_key=f"{self._key}-{place}",
                    on_progress=self._board.show_sending(place, source.label, source.size_bytes),
                )

        try:
            return await self._patience.call(submit)
        except OSError as error:
            return Failure(cannot_be_read(error), Exit.FAILED)
        except httpx.HTTPStatusError as error:
            if error.response.status_code not in REFUSALS_OF_ONE_FILE:
                raise
            return failure_of(error.response)

    def _show(self, job: Json) -> None:
        place = self._places[job["id"]]
        self._board.show_job(place, self._sources[place].label, job)

    def _end_job(self, job_id: int, outcome: Outcome) -> None:
        self._end(self._places.pop(job_id), outcome)

    def _end(self, place: int, outcome: Outcome) -> None:
        source = self._sources[place]
        self._room.release()
        self._board.count_done(place, source.size_bytes)
        self._on_end(place, Submission(source, outcome))


@asynccontextmanager
async def _opened(source: Source) -> AsyncIterator[Path | NamedFile]:
    if source.folder is None or isinstance(source.file, tuple):
        yield source.file
        return
    folder, path = source.folder, source.file
    async with open_file(path, lambda _path, _flags: open_below(folder, path)) as file:
        yield path.name, file


def is_unsupported(submission: Submission) -> bool:
    """Whether it was only found, and is of a kind that kb cannot read: nobody has asked for it."""
    outcome = submission.outcome
    return isinstance(outcome, Failure) and outcome.code == UNSUPPORTED_FORMAT and not submission.source.is_named
