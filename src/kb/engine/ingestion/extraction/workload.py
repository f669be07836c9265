"""How much of a document is read, and how much is left, in steps that take about equally long."""

from collections import deque

# To recognise a page's text takes some thirty times as long as to embed it.
STEPS_PER_PICTURE = 30


class Workload:
    """Parts are weighed as they become known. Those that are not are taken for as heavy as those that are."""

    def __init__(self, part_count: int) -> None:
        self.part_count = part_count
        self._waiting: deque[int] = deque()
        self._known_parts = 0
        self._known_steps = 0
        self.done = 0

    def add(self, *, pictures: int) -> None:
        steps = 1 + STEPS_PER_PICTURE * pictures
        self._waiting.append(steps)
        self._known_parts += 1
        self._known_steps += steps

    def finish(self) -> None:
        """The first of those that were not finished yet is."""
        self.done += self._waiting.popleft()

    @property
    def total(self) -> int:
        if not self._known_parts:
            return self.part_count
        return round(self._known_steps * self.part_count / self._known_parts)
