"""Whether all is still what was stored."""

from typing import Protocol

from kb.engine.model import CheckCursor, CheckedBatch, Scrub


class Integrity(Protocol):
    def check_batch(self, cursor: CheckCursor) -> CheckedBatch:
        """Check some of what is stored: what stands at the cursor."""
        ...

    def mend_full_text(self) -> None:
        """Make the full-text index anew if it does not fit the text; of a base that is too large to compare the two
        while writers wait, nothing is done."""
        ...

    def read_scrub(self) -> Scrub: ...

    def write_scrub(self, scrub: Scrub) -> None: ...
