"""What documents are filed under."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from kb.engine.model import Document, Page, Ref, TagCount
from kb.engine.model.limits import MAX_LISTED_TAGS


class Tags(Protocol):
    def change_tags(
        self,
        ref: Ref,
        *,
        add: Sequence[str],
        remove: Sequence[str],
        expected_version: int | None,
        now: datetime,
    ) -> Document: ...

    def replace_tags(
        self, ref: Ref, tags: Sequence[str], *, expected_version: int | None, now: datetime
    ) -> Document: ...

    def list_tags(self, *, limit: int = MAX_LISTED_TAGS, offset: int = 0) -> Page[TagCount]:
        """By name."""
        ...
