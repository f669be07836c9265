"""What is told of the files of `kb add`: of each as it ends, and of all of them in the end."""

import sys
import time
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from functools import partial

from kb.cli.adding.sources import Source
from kb.cli.adding.submitting import Journey, Submission, Wishes, is_unsupported
from kb.cli.calling import Failure
from kb.cli.exits import Exit
from kb.cli.folders.scanning import SkippedFile, path_as_text
from kb.cli.jobs import report_job
from kb.cli.render import adding
from kb.cli.render.progress import Board, progress_of_files
from kb.cli.render.terminal import complain
from kb.client import EngineClient


class Report:
    """Tells in the order of the paths; on a terminal at once, since somebody is looking on.

    It holds only what has ended before its turn.
    """

    def __init__(self, files: int, skipped: Sequence[SkippedFile], *, as_json: bool, is_verbose: bool) -> None:
        self.jobs_under_way = 0
        self._files = files
        self._as_json = as_json
        self._is_verbose = is_verbose
        self._is_in_order = as_json or not sys.stdout.isatty()
        self._early: dict[int, Submission] = {}
        self._next = 0
        self._fates: Counter[str] = Counter()
        self._skipped = [(path_as_text(one.path), one.reason) for one in skipped]
        self._first_failure = Exit.DONE
        self._began_at: float | None = None

    def begin(self) -> None:
        """The engine is there, and can be sent files."""
        self._began_at = time.monotonic()

    def take(self, board: Board, place: int, submission: Submission) -> None:
        if not self._is_in_order:
            self._tell(board, submission)
            return
        self._early[place] = submission
        while self._next in self._early:
            self._tell(board, self._early.pop(self._next))
            self._next += 1

    def tell_early(self, board: Board) -> None:
        """What ended before its turn, if that will not come any more."""
        for place in sorted(self._early):
            self._tell(board, self._early.pop(place))

    def conclude(self) -> Exit:
        """Tell of all of them together, if it came to that, and answer with what a script should know."""
        if self._began_at is None:
            return Exit.DONE
        self.tell_skipped()
        ended = self._fates.total()
        unsent = self._files - ended - self.jobs_under_way
        if ended and self._files + len(self._skipped) > 1:
            took = timedelta(seconds=time.monotonic() - self._began_at)
            complain(adding.summary({**self._fates, "skipped": len(self._skipped)}, took))
        if unsent or self.jobs_under_way:
            complain(adding.left_behind(self.jobs_under_way, unsent))
        return self._exit

    def tell_skipped(self) -> None:
        """Each of them, or how many for each reason."""
        if self._is_verbose:
            for label, reason in self._skipped:
                complain(adding.skipped_one(label, reason))
        elif self._skipped:
            complain(adding.skipped_by_reason(Counter(reason for _, reason in self._skipped)))

    @property
    def _exit(self) -> Exit:
        if self._fates["failed"]:
            return self._first_failure if self._files == 1 else Exit.JOB_FAILED
        # Of those that were only found kb could read none.
        return Exit.REFUSED if self._fates["skipped"] == self._files else Exit.DONE

    def _tell(self, board: Board, submission: Submission) -> None:
        label, outcome = submission.source.label, submission.outcome
        if is_unsupported(submission):
            self._fates["skipped"] += 1
            self._skipped.append((label, adding.OF_NO_KNOWN_KIND))
        elif isinstance(outcome, Failure):
            self._count_failure(outcome.exit)
            board.complain(adding.failure(label, outcome.sentence))
        elif code := report_job(board, outcome, label, as_json=self._as_json):
            self._count_failure(code)
        else:
            self._fates[adding.fate_of(outcome)] += 1

    def _count_failure(self, code: Exit) -> None:
        self._first_failure = self._first_failure or code
        self._fates["failed"] += 1


async def add_files(engine: EngineClient, sources: Sequence[Source], wishes: Wishes, report: Report) -> None:
    with progress_of_files(len(sources), sum(source.size_bytes for source in sources)) as board:
        report.begin()
        journey = Journey(engine, sources, wishes, board, partial(report.take, board))
        try:
            await journey.run()
        finally:
            report.jobs_under_way = journey.jobs_under_way
            report.tell_early(board)
