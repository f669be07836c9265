"""How far the work on a document is, in steps and in words."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from kb.engine.ingestion.extraction.workload import Workload
from kb.engine.ingestion.sections import Section
from kb.engine.model import Progress


class Report(Protocol):
    def __call__(self, progress: Progress, *, at_once: bool = False) -> None:
        """Take note of it; raise `ClaimLost` if the job is no longer ours. What is told `at_once` reaches everybody,
        the rest only who looks before the next is told."""


class Course:
    """One document's way into the store. Its steps are its parts, each in proportion to its work, or the chunks of its
    only one; the last is saving.

    Of several parts, the last one's message stays to the end: whoever follows the job is sure to see it.
    """

    def __init__(self, report: Report, filename: str) -> None:
        self._report = report
        self._workload = Workload(part_count=1)
        self._is_read = False
        self._latest = Progress("Extracting text", 0, 1, f"Reading {filename}")
        self.watch()

    def watch(self) -> None:
        """Nothing is new, but somebody may have cancelled the job."""
        self._report(self._latest)

    def follow(
        self, parts: Iterable[Sequence[Section]], *, unit: str, workload: Workload
    ) -> Iterator[Sequence[Section]]:
        """The same parts, each announced before it is waited for."""
        self._workload = workload
        count = workload.part_count
        remaining = iter(parts)
        for number in range(1, count + 1):
            if self._has_parts:
                message = f"Processing {unit} {number} of {count}"
                self._tell("Extracting text", workload.done, workload.total + 1, message, at_once=number == count)
            yield next(remaining)
        self._is_read = True

    def embed(self, embedded: int, known: int) -> None:
        is_waiting_for_parts = self._has_parts and not self._is_read
        if is_waiting_for_parts or embedded == known:
            self.watch()
            return
        if self._has_parts:
            steps = self._workload.total
            self._tell("Generating embeddings", steps, steps + 1, self._latest.message)
        else:
            message = f"Embedding chunk {embedded + 1} of {known}"
            self._tell("Generating embeddings", embedded, known + 1, message)

    def save(self, chunks: int) -> None:
        steps = self._latest.total_steps
        message = self._latest.message if self._has_parts else f"Saving {chunks} chunks"
        self._tell("Saving", steps - 1, steps, message)

    @property
    def _has_parts(self) -> bool:
        return self._workload.part_count > 1

    def _tell(self, step: str, completed: int, total: int, message: str, *, at_once: bool = False) -> None:
        self._latest = Progress(step, completed, total, message)
        self._report(self._latest, at_once=at_once)
