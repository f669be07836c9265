"""A plan carried out, and what became of each of its steps."""

import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

import httpx

from kb.cli.adding.sources import Source
from kb.cli.adding.submitting import UNSUPPORTED_FORMAT, Journey, Submission, Wishes
from kb.cli.calling import Failure, failure_of
from kb.cli.exits import Exit
from kb.cli.patience import Patience
from kb.cli.render.progress import Board, progress_of_files
from kb.cli.syncing.looking import Look
from kb.cli.syncing.memory import FAILED_BEFORE, UNSUPPORTED, Memory, Refusal
from kb.cli.syncing.planning import GONE, Add, Delete, FolderContent, Keep, Plan, Rename, Replace, Skip, Step
from kb.cli.watching_jobs import Outcome
from kb.client import EngineClient

# These tell of the engine on that day and not of the file: it is worth another try.
PASSING_FAILURES = frozenset({"internal_error", "storage_full", "unavailable"})
# Somebody has changed or deleted the document since it was read.
OUTDATED = frozenset({404, 412})
# What the engine says of one document; anything else it would say of the next one too.
REFUSALS_OF_ONE_DOCUMENT = OUTDATED | {409, 422}
IS_BACK = "it is back"
# The board has a line for each file that is sent; what is renamed or deleted has none.
NO_LINE = -1


@dataclass(frozen=True)
class Result:
    """A step that was done or, if there is an error, not."""

    step: Step
    document_id: int | None = None
    error: str | None = None
    exit: Exit = Exit.DONE
    is_outdated: bool = False
    """Whether the base has changed since the step was planned."""


Tell: TypeAlias = Callable[[Board, Result], None]


@dataclass
class Totals:
    """What became of all steps."""

    done: Counter[type[Step]] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    """Why files were skipped."""
    kept: Counter[str] = field(default_factory=Counter)
    """Why documents were kept that have no file to be sent."""
    exits: set[Exit] = field(default_factory=set)
    failed: int = 0
    unchanged: int | None = None
    """How many files were last seen to be; None before the first plan."""
    jobs_under_way: int = 0
    undone: int = 0
    began_at: float = field(default_factory=time.monotonic)

    def count(self, result: Result) -> None:
        self.exits.add(result.exit)
        if result.error is not None:
            self.failed += 1
        elif isinstance(result.step, Skip):
            self.reasons[result.step.reason] += 1
        elif isinstance(result.step, Keep):
            self.kept[result.step.reason] += 1
        else:
            self.done[type(result.step)] += 1

    @property
    def exit(self) -> Exit:
        return next((code for code in (Exit.JOB_FAILED, Exit.REFUSED) if code in self.exits), Exit.DONE)


class Carrier:
    """Carries out a plan that was made of this content, and notes what the engine will never take.

    `tell` gets each step as it ends. If the work ends before its time, `jobs_under_way` is what the engine still
    works on, and `undone` what nobody does.
    """

    def __init__(
        self,
        engine: EngineClient,
        look: Look,
        content: FolderContent,
        *,
        memory: Memory,
        tags: Sequence[str],
        tell: Tell,
    ) -> None:
        self.jobs_under_way = 0
        self._left = 0
        self._engine = engine
        self._look = look
        self._content = content
        self._memory = memory
        self._tags = tags
        self._tell = tell

    @property
    def undone(self) -> int:
        return self._left - self.jobs_under_way

    async def carry_out(self, plan: Plan) -> None:
        """What can be lost is deleted last. Nothing is renamed or deleted that somebody has changed since."""
        sending: list[Add | Replace] = [*plan.adds, *plan.replaces]
        sources = [self._source_of(step.path) for step in sending]
        self._left = len(plan.renames) + len(sending) + len(plan.deletes)
        if not self._left:
            return
        with progress_of_files(self._left, sum(source.size_bytes for source in sources)) as board:
            patience = Patience(self._engine, board.complain)
            for rename in plan.renames:
                await self._change(board, patience, rename, partial(self._rename, rename))
            await self._send(board, sending, sources)
            for delete in plan.deletes:
                # The look may be hours old by now.
                if delete.reason == GONE and self._look.is_outdated(delete.document.source_path):
                    board.count_done(NO_LINE)
                    self._end(board, Result(Keep(delete.document, IS_BACK)))
                else:
                    await self._change(board, patience, delete, partial(self._delete, delete))

    async def _rename(self, rename: Rename) -> None:
        number, version = rename.document.id, rename.document.version
        try:
            await self._engine.update_document(number, source_path=rename.path, expected_version=version)
        except httpx.HTTPStatusError as error:
            if error.response.status_code != httpx.codes.PRECONDITION_FAILED:
                raise
            # Perhaps it was renamed by the first try, whose answer was lost.
            if (await self._engine.get_document(number, chunks=False))["source_path"] != rename.path:
                raise

    async def _delete(self, delete: Delete) -> None:
        try:
            await self._engine.delete_document(delete.document.id, expected_version=delete.document.version)
        except httpx.HTTPStatusError as error:
            if error.response.status_code != httpx.codes.NOT_FOUND:
                raise

    async def _change(
        self, board: Board, patience: Patience, step: Rename | Delete, change: Callable[[], Awaitable[None]]
    ) -> None:
        result = Result(step, step.document.id)
        try:
            await patience.call(change)
        except httpx.HTTPStatusError as error:
            status = error.response.status_code
            if status not in REFUSALS_OF_ONE_DOCUMENT:
                raise
            sentence = failure_of(error.response).sentence
            result = Result(step, step.document.id, sentence, Exit.REFUSED, is_outdated=status in OUTDATED)
        board.count_done(NO_LINE)
        self._end(board, result)

    async def _send(self, board: Board, steps: Sequence[Add | Replace], sources: Sequence[Source]) -> None:
        def take(place: int, submission: Submission) -> None:
            self._end(board, self._judge(steps[place], submission.outcome))

        wishes = Wishes(title=None, tags=self._tags, force_ocr=False, wait=True)
        journey = Journey(self._engine, sources, wishes, board, take)
        try:
            await journey.run()
        finally:
            self.jobs_under_way = journey.jobs_under_way

    def _end(self, board: Board, result: Result) -> None:
        self._left -= 1
        self._tell(board, result)

    def _source_of(self, path: str) -> Source:
        file = self._look.files[path]
        return Source(path, file.path, path, is_named=False, size_bytes=file.size_bytes, folder=self._look.folder)

    def _judge(self, step: Add | Replace, outcome: Outcome) -> Result:
        if isinstance(outcome, Failure):
            return self._judge_refusal(step, outcome)
        if outcome["status"] == "completed":
            return Result(step, outcome["document_id"])
        error = outcome["error"] or {"code": "cancelled", "message": f"The job was {outcome['status']}."}
        if outcome["status"] == "failed" and error["code"] not in PASSING_FAILURES:
            self._note(step.path, FAILED_BEFORE, error["message"])
        return Result(step, error=error["message"], exit=Exit.JOB_FAILED)

    def _judge_refusal(self, step: Add | Replace, failure: Failure) -> Result:
        if failure.code == UNSUPPORTED_FORMAT:
            self._note(step.path, UNSUPPORTED, failure.sentence)
            return Result(Skip(step.path, UNSUPPORTED, failure.sentence))
        return Result(step, error=failure.sentence, exit=Exit.JOB_FAILED)

    def _note(self, path: str, reason: str, detail: str) -> None:
        self._memory.note_refusal(path, Refusal(self._content.files[path], reason, detail))
