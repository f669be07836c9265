"""A plan carried out, and what became of each of its steps."""

import time
from collections import Counter
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field

import httpx

from kb.cli.adding.sources import Source
from kb.cli.adding.submitting import UNSUPPORTED_FORMAT, Outcome, submit_files
from kb.cli.calling import Failure, failure_of
from kb.cli.exits import Exit
from kb.cli.syncing.looking import Look
from kb.cli.syncing.memory import Memory, Refusal
from kb.cli.syncing.planning import Add, Delete, FolderContent, Plan, Rename, Replace, Skip, Step
from kb.client import EngineClient, Json

UNSUPPORTED = "unsupported"
FAILED_BEFORE = "failed before"
# These tell of the engine on that day and not of the file: it is worth another try.
PASSING_FAILURES = frozenset({"internal_error", "storage_full", "unavailable"})
# What the engine says of one document; anything else it would say of the next one too.
REFUSALS_OF_ONE_DOCUMENT = frozenset({409, 412, 422})


@dataclass(frozen=True)
class Result:
    """A step that was done or, if there is an error, not."""

    step: Step
    document_id: int | None = None
    error: str | None = None
    exit: Exit = Exit.DONE


@dataclass
class Totals:
    """What became of all steps."""

    done: Counter[type[Step]] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    """Why files were skipped."""
    exits: set[Exit] = field(default_factory=set)
    failed: int = 0
    unchanged: int = 0
    began_at: float = field(default_factory=time.monotonic)

    def count(self, results: Sequence[Result], unchanged: int) -> None:
        """Of what is unchanged only the last time counts."""
        self.unchanged = unchanged
        for result in results:
            self.exits.add(result.exit)
            if result.error is not None:
                self.failed += 1
            elif isinstance(result.step, Skip):
                self.reasons[result.step.reason] += 1
            else:
                self.done[type(result.step)] += 1

    @property
    def exit(self) -> Exit:
        return next((code for code in (Exit.JOB_FAILED, Exit.REFUSED) if code in self.exits), Exit.DONE)


class Carrier:
    """Carries plans out that were made of this content, and notes what the engine will never take."""

    def __init__(
        self, engine: EngineClient, look: Look, content: FolderContent, memory: Memory, tags: Sequence[str]
    ) -> None:
        self._engine = engine
        self._look = look
        self._content = content
        self._memory = memory
        self._tags = tags

    async def carry_out(self, plan: Plan) -> list[Result]:
        """What can be lost is deleted last. Nothing is renamed or deleted that somebody has changed since."""
        renamed = [await self._rename(rename) for rename in plan.renames]
        sent = await self._send([*plan.adds, *plan.replaces])
        deleted = [await self._delete(delete) for delete in plan.deletes]
        told = [*(Result(skip) for skip in plan.skips), *(Result(keep, keep.document.id) for keep in plan.keeps)]
        return [*told, *renamed, *sent, *deleted]

    async def _rename(self, rename: Rename) -> Result:
        document = rename.document
        change = self._engine.update_document(document.id, source_path=rename.path, expected_version=document.version)
        return await _change(rename, document.id, change)

    async def _delete(self, delete: Delete) -> Result:
        document = delete.document
        change = self._engine.delete_document(document.id, expected_version=document.version)
        return await _change(delete, document.id, change)

    async def _send(self, steps: Sequence[Add | Replace]) -> list[Result]:
        if not steps:
            return []
        sources = [self._source_of(step.path) for step in steps]
        submissions = await submit_files(self._engine, sources, title=None, tags=self._tags, force_ocr=False, wait=True)
        return [self._judge(step, sent.outcome) for step, sent in zip(steps, submissions, strict=True)]

    def _source_of(self, path: str) -> Source:
        file = self._look.files[path]
        return Source(path, file.path, path, is_named=False, size_bytes=file.size_bytes)

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


async def _change(step: Step, document_id: int, change: Awaitable[Json]) -> Result:
    try:
        await change
    except httpx.HTTPStatusError as error:
        status = error.response.status_code
        if status == httpx.codes.NOT_FOUND and isinstance(step, Delete):
            return Result(step, document_id)
        if status not in REFUSALS_OF_ONE_DOCUMENT and status != httpx.codes.NOT_FOUND:
            raise
        return Result(step, document_id, failure_of(error.response).sentence, Exit.REFUSED)
    return Result(step, document_id)
