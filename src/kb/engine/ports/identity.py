"""What the base is known by, how it is and how much it holds."""

from typing import Protocol

from kb.engine.model import Statistics


class Identity(Protocol):
    def find_trouble(self) -> str | None:
        """Why nothing can be written, if it could not last time and still cannot: a sentence for a person."""
        ...

    def read_mark_of_originals(self) -> str | None:
        """Of the place where its originals are, if it has been told."""
        ...

    def adopt_originals(self, mark: str) -> str:
        """Have the base know, if it does not yet, the mark of the place where its originals are; returns what it
        knows."""
        ...

    def read_base_id(self) -> str:
        """What tells this base from all others, copies of it among them, for as long as it lives."""
        ...

    def read_statistics(self) -> Statistics: ...
