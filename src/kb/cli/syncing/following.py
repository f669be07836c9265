"""One pass after another over a folder: look, compare, ask, carry out, tell."""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import typer

from kb.cli.calling import call_engine
from kb.cli.ending import end_with
from kb.cli.exits import Exit
from kb.cli.folders.mounting import find_mounted
from kb.cli.folders.scanning import Reason, path_as_text
from kb.cli.render import syncing as words
from kb.cli.render.progress import Board
from kb.cli.render.terminal import complain
from kb.cli.syncing.carrying import Carrier, Result, Totals
from kb.cli.syncing.looking import IGNORED_NOW, Look, look_at, read_content
from kb.cli.syncing.memory import Memory, hold
from kb.cli.syncing.planning import FolderContent, Plan, plan_sync
from kb.cli.syncing.synced_documents import SyncedDocuments, apply_results, read_synced_documents
from kb.client import EngineClient

UNSETTLED = "still being written"
CHANGING = "the folder is changing"
NOT_MOUNTED = "its disk is not mounted"
# How often a folder is looked at until two looks see the same.
LOOKS_AT_MOST = 5
# Fewer files than these may well be all that a person wanted to delete.
NOT_MANY = 10
# Somebody else may have changed the base: deleted a document, cleared it, restored a backup.
COMPARE_ALL_AFTER_SECONDS = 600.0


@dataclass(frozen=True, kw_only=True)
class SyncOptions:
    engine_url: str
    tags: Sequence[str]
    yes: bool
    dry_run: bool
    allow_empty: bool
    delete_ignored: bool
    retry: bool
    verbose: bool
    as_json: bool


class Follower:
    """Makes the base follow one folder. To be called again and again: it knows what it was told before."""

    def __init__(self, folder: Path, place_of_memory: Path, options: SyncOptions) -> None:
        self.folder = folder
        self.totals = Totals()
        self.may_be_empty = options.allow_empty
        self._max_bytes = sys.maxsize
        self._options = options
        self._synced: SyncedDocuments | None = None
        self._due_at = 0.0
        self._memory = Memory(place_of_memory)
        self._refused_to_delete: set[int] = set()
        self._not_mounted: frozenset[str] = frozenset()
        self._told_not_mounted: frozenset[str] = frozenset()

    def look(self) -> Look:
        """Raises `OSError` if the folder is not there."""
        return look_at(self.folder, self._max_bytes)

    def begin(self) -> Look:
        """The first pass, in which the user is asked before anything is deleted."""
        synced = self._read_synced()
        first = self._look_or_end()
        with self._remembering(first):
            look, plan, content = self._plan_on_two_looks(synced, first)
            missing = len(plan.deletes) + sum(keep.reason == NOT_MOUNTED for keep in plan.keeps)
            if look.is_empty and missing and not self.may_be_empty:
                end_with(words.folder_is_empty(self.folder, look.skips, missing), Exit.REFUSED)
            self._tell_not_mounted(plan)
            if self._options.dry_run:
                self._tell_planned(plan)
            else:
                self._carry_out(self._ask_before_deleting(plan), look, content)
        return look

    def _look_or_end(self) -> Look:
        try:
            return self.look()
        except OSError as error:
            end_with(words.folder_is_away(self.folder, error), Exit.FAILED)

    def _plan_on_two_looks(self, synced: SyncedDocuments, look: Look) -> tuple[Look, Plan, FolderContent]:
        """Nothing is deleted but what two looks in a row did not find: one may have missed a file that was moved."""
        plan, content = self._plan(synced, look, frozenset())
        for _ in range(LOOKS_AT_MOST):
            if not plan.deletes and not plan.renames:
                break
            again = self._look_or_end()
            if again.identity != look.identity:
                end_with(words.folder_is_another(self.folder), Exit.FAILED)
            if again.paths == look.paths:
                break
            look = again
            plan, content = self._plan(synced, look, frozenset())
        else:
            complain(words.folder_is_changing(self.folder))
            self.totals.exits.add(Exit.REFUSED)
            plan = plan.keeping_all(CHANGING)
        return look, plan, content

    def go_on(self, look: Look, before: Look) -> None:
        """A later pass. What changed between the last two looks is left alone until it has settled."""
        unsettled = look.differing(before)
        synced = self._read_synced() if self._synced is None or self.is_due else self._synced
        # What is known of it is true again when all has been done.
        self._synced = None
        with self._remembering(look):
            plan, content = self._plan(synced, look, unsettled)
            deletes = [delete for delete in plan.deletes if delete.document.id not in self._refused_to_delete]
            vanished = len(unsettled - look.files.keys())
            is_dwindling = vanished and len(deletes) + vanished > max(NOT_MANY, len(synced.documents) / 2)
            has_come = not look.files.keys() <= before.files.keys()
            if is_dwindling or has_come or (look.is_empty and not self.may_be_empty):
                # More and more of the folder goes away: let us see where that ends. Or something has come: perhaps
                # it is what seems to be gone.
                deletes = []
            self._tell_not_mounted(plan)
            # What is left alone was told in the first pass.
            results = self._carry_out(replace(plan, deletes=deletes, keeps=(), skips=()), look, content)
        if any(result.is_outdated for result in results):
            self._due_at = time.monotonic()
        else:
            self._synced = call_engine(self._options.engine_url, lambda engine: apply_results(engine, synced, results))

    @property
    def is_due(self) -> bool:
        """Whether all should be compared again, although the folder has not changed."""
        return time.monotonic() >= self._due_at

    def forget_synced_documents(self) -> None:
        """What was known of it may be true no more."""
        self._synced = None

    def _read_synced(self) -> SyncedDocuments:
        synced = call_engine(
            self._options.engine_url, lambda engine: read_synced_documents(engine, path_as_text(self.folder))
        )
        self._due_at = time.monotonic() + COMPARE_ALL_AFTER_SECONDS
        self._max_bytes = synced.max_bytes
        self._memory.use_version(synced.version)
        return synced

    def _plan(
        self, synced: SyncedDocuments, look: Look, unsettled: set[str] | frozenset[str]
    ) -> tuple[Plan, FolderContent]:
        settled = {path: file for path, file in look.files.items() if path not in unsettled}
        with words.show_reading() as on_read:
            settled_look = replace(look, files=settled)
            content = read_content(settled_look, self._memory, retry=self._options.retry, on_read=on_read)
        waiting = {path: UNSETTLED if path in look.files else Reason.VANISHED for path in unsettled}
        self._note_mounts(look)
        not_mounted = dict.fromkeys(self._not_mounted, NOT_MOUNTED)
        content = replace(content, present={**content.present, **waiting, **not_mounted})
        plan = plan_sync(content, synced.documents)
        if self._options.delete_ignored:
            plan = plan.deleting_kept(IGNORED_NOW)
        return replace(plan, skips=[*look.skips, *plan.skips]), content

    def _note_mounts(self, look: Look) -> None:
        """And find the folders that were disks when they were last seen, and are not now."""
        noted = frozenset() if self.may_be_empty else self._memory.mounts
        mounted = find_mounted(look.folders | noted)
        self._not_mounted = noted - mounted
        if not self._options.dry_run:
            self._memory.note_mounts(mounted | noted)

    def _tell_not_mounted(self, plan: Plan) -> None:
        """Once for each absence."""
        self._told_not_mounted &= self._not_mounted
        kept = sum(keep.reason == NOT_MOUNTED for keep in plan.keeps)
        if kept and self._not_mounted != self._told_not_mounted:
            complain(words.disks_are_away(sorted(self._not_mounted), kept))
            self._told_not_mounted = self._not_mounted

    def _ask_before_deleting(self, plan: Plan) -> Plan:
        if not plan.deletes or self._options.yes:
            return plan
        if sys.stdin.isatty():
            words.list_before_deleting(plan.deletes, self.folder)
            if typer.confirm(words.question_before_deleting(plan.deletes), err=True):
                return plan
            complain(words.kept_on_request(plan.deletes))
        else:
            complain(words.kept_unasked(plan.deletes))
        self._refused_to_delete = {delete.document.id for delete in plan.deletes}
        self.totals.exits.add(Exit.REFUSED)
        return plan.keeping_all()

    def _carry_out(self, plan: Plan, look: Look, content: FolderContent) -> Sequence[Result]:
        results: list[Result] = []

        def tell(board: Board, result: Result) -> None:
            results.append(result)
            self._tell(board, result)

        async def work(engine: EngineClient) -> None:
            carrier = Carrier(engine, look, content, memory=self._memory, tags=self._options.tags, tell=tell)
            try:
                await carrier.carry_out(plan)
            finally:
                self.totals.jobs_under_way, self.totals.undone = carrier.jobs_under_way, carrier.undone

        self._tell_planned(Plan(skips=plan.skips, keeps=plan.keeps, unchanged=plan.unchanged))
        call_engine(self._options.engine_url, work)
        return results

    def _tell_planned(self, plan: Plan) -> None:
        self.totals.unchanged = plan.unchanged
        board = Board()
        for step in plan.steps():
            self._tell(board, Result(step))

    def _tell(self, board: Board, result: Result) -> None:
        self.totals.count(result)
        words.show_result(
            board,
            result,
            self.folder,
            as_json=self._options.as_json,
            verbose=self._options.verbose,
            is_planned=self._options.dry_run,
        )

    @contextmanager
    def _remembering(self, look: Look) -> Iterator[None]:
        """However the work ends: what was read once need not be read again."""
        try:
            yield
        finally:
            # Without files it may be a disk that is not mounted, and is back the next time.
            if not look.is_empty:
                self._memory.save(look.files)


@contextmanager
def be_only_one_following(place_of_memory: Path, folder: Path) -> Iterator[None]:
    """End the command with exit code 4 if another one follows this folder for the same engine."""
    with ExitStack() as held:
        try:
            held.enter_context(hold(place_of_memory))
        except BlockingIOError:
            end_with(words.is_followed_already(str(folder)), Exit.REFUSED)
        except OSError as error:
            end_with(words.no_place_for_memory(str(place_of_memory.parent), error), Exit.FAILED)
        yield
