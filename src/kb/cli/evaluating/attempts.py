"""One search for a document, and what came of it."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean
from typing import NamedTuple

from kb.cli.evaluating.asking import DEPTH
from kb.cli.evaluating.measures import all_alike, recall, reciprocal_rank


class By(StrEnum):
    TITLE = "title"
    PHRASE = "phrase"


class Hit(NamedTuple):
    document_id: int
    title: str


@dataclass(frozen=True)
class Attempt:
    by: By
    query: str
    document_id: int
    hits: tuple[Hit, ...]
    """At most `DEPTH`."""

    @property
    def ranking(self) -> list[int]:
        return [hit.document_id for hit in self.hits]

    @property
    def is_found(self) -> bool:
        return self.document_id in self.ranking


@dataclass(frozen=True)
class Miss:
    """An attempt that failed, and what was asked because of it."""

    attempt: Attempt
    place: int | None
    """Where the document stands further down, if it does."""
    is_found_by_words: bool
    is_found_by_meaning: bool


@dataclass(frozen=True)
class Figures:
    asked: int
    found: int
    recall: float
    mrr: float


def measure(attempts: Iterable[Attempt], by: By) -> Figures:
    """Where nothing was asked, all are 0."""
    asked = [attempt for attempt in attempts if attempt.by is by]
    if not asked:
        return Figures(0, 0, 0.0, 0.0)
    return Figures(
        asked=len(asked),
        found=sum(attempt.is_found for attempt in asked),
        recall=fmean(recall(attempt.ranking, all_alike([attempt.document_id]), DEPTH) for attempt in asked),
        mrr=fmean(reciprocal_rank(attempt.ranking, all_alike([attempt.document_id]), DEPTH) for attempt in asked),
    )
