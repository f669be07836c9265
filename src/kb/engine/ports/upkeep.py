"""Who looks after the base, and what workers lack."""

from datetime import datetime
from typing import Protocol


class Upkeep(Protocol):
    def claim_upkeep(self, owner: str, *, now: datetime, lease_until: datetime) -> bool:
        """Whether it is for this worker, until then, to do what one worker is enough for."""
        ...

    def was_looked_after(self, *, since: datetime) -> bool:
        """Whether there has been such a worker since then, as far as can be told."""
        ...

    def report_shortfall(self, worker: str, shortfall: str | None, *, now: datetime, until: datetime) -> None:
        """Have it known until then what the worker lacks, a sentence for a person; None if it lacks nothing."""
        ...

    def list_shortfalls(self, *, now: datetime) -> list[str]:
        """What workers lack, each sentence once."""
        ...
