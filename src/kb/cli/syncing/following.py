"""One pass after another over a folder: look, compare, ask, carry out, tell."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import typer

from kb.cli.calling import Failure, call_engine, end
from kb.cli.exits import Exit
from kb.cli.render import syncing as words
from kb.cli.render.terminal import complain
from kb.cli.syncing.carrying import Carrier, Result, Totals
from kb.cli.syncing.looking import VANISHED, Look, look_at, read_content, to_source_path
from kb.cli.syncing.memory import Memory
from kb.cli.syncing.planning import FolderContent, Keep, KnownDocument, Plan, plan_sync
from kb.client import EngineClient

DOCUMENTS_A_PAGE = 1_000
BYTES_PER_MB = 1 << 20
GONE = "its file is gone"
UNSETTLED = "still being written"
# Fewer files than these may well be all that a person wanted to delete.
NOT_MANY = 10


@dataclass(frozen=True)
class Wishes:
    engine_url: str | None
    tags: Sequence[str]
    yes: bool
    dry_run: bool
    allow_empty: bool
    retry: bool
    verbose: bool
    as_json: bool


@dataclass(frozen=True)
class Base:
    """What the engine has of the folder, and what it takes."""

    documents: Sequence[KnownDocument]
    max_bytes: int
    version: str


class Follower:
    """Makes the base follow one folder. To be called again and again: it knows what it was told before."""

    def __init__(self, folder: Path, place_of_memory: Path, wishes: Wishes) -> None:
        self.folder = folder
        self.totals = Totals()
        self.may_be_empty = wishes.allow_empty
        self._max_bytes = sys.maxsize
        self._wishes = wishes
        self._memory = Memory(place_of_memory)
        self._refused_to_delete: set[int] = set()

    def look(self) -> Look:
        """Raises `OSError` if the folder is not there."""
        return look_at(self.folder, self._max_bytes)

    def begin(self) -> Look:
        """The first pass, in which the user is asked before anything is deleted."""
        base = self._read_base()
        try:
            look = self.look()
        except OSError as error:
            raise end(Failure(words.folder_is_away(str(self.folder), error), Exit.FAILED)) from None
        count = sum(not document.is_note for document in base.documents)
        if look.is_empty and count and not self.may_be_empty:
            raise end(Failure(words.folder_is_empty(str(self.folder), count), Exit.REFUSED))
        plan, content = self._plan(base, look, frozenset())
        if self._wishes.dry_run:
            self._tell([Result(step) for step in plan.steps()], plan)
            return look
        self._carry_out(self._ask_before_deleting(plan), look, content)
        return look

    def go_on(self, look: Look, unsettled: set[str]) -> None:
        """A later pass. What changed between the last two looks is left alone until it has settled."""
        base = self._read_base()
        plan, content = self._plan(base, look, unsettled)
        deletes = [delete for delete in plan.deletes if delete.document.id not in self._refused_to_delete]
        vanished = len(unsettled - look.files.keys())
        if vanished and len(deletes) + vanished > max(NOT_MANY, len(base.documents) / 2):
            # More and more of the folder goes away: let us see where that ends.
            deletes = []
        # What is left alone was told in the first pass.
        self._carry_out(replace(plan, deletes=deletes, keeps=(), skips=()), look, content)

    def _read_base(self) -> Base:
        base = call_engine(self._wishes.engine_url, lambda engine: read_base(engine, to_source_path(self.folder)))
        self._max_bytes = base.max_bytes
        self._memory.use_version(base.version)
        return base

    def _plan(self, base: Base, look: Look, unsettled: set[str] | frozenset[str]) -> tuple[Plan, FolderContent]:
        settled = {path: file for path, file in look.files.items() if path not in unsettled}
        with words.show_reading() as on_read:
            content = read_content(Look(settled, look.skips), self._memory, retry=self._wishes.retry, on_read=on_read)
        waiting = {path: UNSETTLED if path in look.files else VANISHED for path in unsettled}
        content = replace(content, present={**content.present, **waiting})
        plan = plan_sync(content, base.documents)
        return replace(plan, skips=[*look.skips, *plan.skips]), content

    def _ask_before_deleting(self, plan: Plan) -> Plan:
        if not plan.deletes or self._wishes.yes:
            return plan
        documents = [delete.document for delete in plan.deletes]
        if sys.stdin.isatty():
            words.list_before_deleting(documents, self.folder)
            if typer.confirm(words.question_before_deleting(len(documents)), err=True):
                return plan
            complain(words.kept_on_request(len(documents)))
        else:
            complain(words.kept_unasked(len(documents)))
        self._refused_to_delete = {document.id for document in documents}
        self.totals.exits.add(Exit.REFUSED)
        return replace(plan, deletes=(), keeps=[*plan.keeps, *(Keep(document, GONE) for document in documents)])

    def _carry_out(self, plan: Plan, look: Look, content: FolderContent) -> None:
        memory, tags = self._memory, self._wishes.tags
        try:
            results = call_engine(
                self._wishes.engine_url,
                lambda engine: Carrier(engine, look, content, memory, tags).carry_out(plan),
            )
        finally:
            memory.save(look.files)
        self._tell(results, plan)

    def _tell(self, results: Sequence[Result], plan: Plan) -> None:
        self.totals.count(results, plan.unchanged)
        words.show_results(results, self.folder, as_json=self._wishes.as_json, verbose=self._wishes.verbose)


async def read_base(engine: EngineClient, folder: str) -> Base:
    status = await engine.get_status()
    documents: dict[int, KnownDocument] = {}
    offset = 0
    while True:
        page = await engine.list_documents(
            source_folder=folder, sort="source_path", limit=DOCUMENTS_A_PAGE, offset=offset
        )
        for told in page["documents"]:
            documents[told["id"]] = KnownDocument(
                told["id"], told["source_path"], told["content_hash"], told["version"], told["doc_type"] == "note"
            )
        offset += DOCUMENTS_A_PAGE
        if offset >= page["total"]:
            break
    max_bytes = status["configuration"]["max_file_size_mb"] * BYTES_PER_MB
    return Base([*documents.values()], max_bytes, status["version"])


@contextmanager
def be_only_one_following(place_of_memory: Path, folder: Path) -> Iterator[None]:
    """End the command with exit code 4 if another one follows this folder for the same engine."""
    import fcntl

    from kb.engine.locks import hold

    with ExitStack() as held:
        try:
            place_of_memory.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            held.enter_context(hold(place_of_memory.with_suffix(".lock"), fcntl.LOCK_EX | fcntl.LOCK_NB))
        except BlockingIOError:
            raise end(Failure(words.is_followed_already(str(folder)), Exit.REFUSED)) from None
        except OSError as error:
            raise end(Failure(words.no_place_for_memory(str(place_of_memory.parent), error), Exit.FAILED)) from None
        yield
