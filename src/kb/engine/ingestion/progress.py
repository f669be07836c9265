"""How far the work on a document is, in steps and in words."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from kb.engine.ingestion.sections import Section
from kb.engine.model import Progress


class Report(Protocol):
    def __call__(self, progress: Progress, *, at_once: bool = False) -> None:
        """Take note of it; raise `ClaimLost` if the job is no longer ours. What is told `at_once` reaches everybody,
        the rest only who looks before the next is told."""


class Course:
    """One document's way into the store. Its steps are its parts, or the chunks of its only one; the last is saving.

    Of several parts, the last one's message stays to the end: whoever follows the job is sure to see it.
    """

    def __init__(self, report: Report, filename: str) -> None:
        self._report = report
        self._part_count = 1
        self._is_read = False
        self._latest = Progress("Extracting text", 0, 1, f"Reading {filename}")
        self.look_up()

    def look_up(self) -> None:
        """Nothing is new, but somebody may have cancelled the job."""
        self._report(self._latest)

    def follow(self, parts: Iterable[Sequence[Section]], *, part_count: int, unit: str) -> Iterator[Sequence[Section]]:
        """The same parts, each announced before it is waited for."""
        self._part_count = part_count
        remaining = iter(parts)
        for number in range(1, part_count + 1):
            if part_count > 1:
                message = f"Processing {unit} {number} of {part_count}"
                is_last = number == part_count
                self._tell("Extracting text", number - 1, part_count + 1, message, at_once=is_last)
            yield next(remaining)
        self._is_read = True

    def embed(self, embedded: int, known: int) -> None:
        is_waiting_for_parts = self._part_count > 1 and not self._is_read
        if is_waiting_for_parts or embedded == known:
            self.look_up()
            return
        if self._part_count > 1:
            self._tell("Generating embeddings", self._part_count, self._part_count + 1, self._latest.message)
        else:
            message = f"Embedding chunk {embedded + 1} of {known}"
            self._tell("Generating embeddings", embedded, known + 1, message)

    def save(self, chunks: int) -> None:
        steps = self._latest.total_steps
        message = self._latest.message if self._part_count > 1 else f"Saving {chunks} chunks"
        self._tell("Saving", steps - 1, steps, message)

    def _tell(self, step: str, completed: int, total: int, message: str, *, at_once: bool = False) -> None:
        self._latest = Progress(step, completed, total, message)
        self._report(self._latest, at_once=at_once)
