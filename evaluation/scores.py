"""What each way of searching scored on a set, query by query. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.bootstrap import Floats
from evaluation.rank_fusion import RRF_K, fuse_ranks
from evaluation.sets import JudgedQuery
from kb.cli.evaluating.measures import Judgments, ndcg, recall, reciprocal_rank
from kb.engine.search.hybrid import Mode

NDCG, RECALL = "nDCG@10", "Recall@10"
MEASURES: dict[str, Callable[[Sequence[str], Judgments[str]], float]] = {
    NDCG: lambda ranking, judgments: ndcg(ranking, judgments, 10),
    RECALL: lambda ranking, judgments: recall(ranking, judgments, 10),
    "MRR@10": lambda ranking, judgments: reciprocal_rank(ranking, judgments, 10),
    "Recall@100": lambda ranking, judgments: recall(ranking, judgments, 100),
}

HYBRID = str(Mode.HYBRID)
SINGLE_METHODS = (str(Mode.KEYWORD), str(Mode.VECTOR))
RANK_FUSION = f"RRF k={RRF_K}"

Rankings = list[list[str]]
"""For each query the items found, best first."""


@dataclass(frozen=True)
class SetScores:
    name: str
    figures: Mapping[str, Mapping[str, Floats]]
    """Of each method and measure, one for each query."""
    query_languages: Sequence[str | None]

    @property
    def languages(self) -> list[str]:
        return sorted({language for language in self.query_languages if language})

    @property
    def better_single_method(self) -> str:
        return max(SINGLE_METHODS, key=lambda method: self.mean(method, NDCG))

    def mean(self, method: str, measure: str, language: str | None = None) -> float:
        """Over all queries, or over those in one language."""
        figures = self.figures[method][measure]
        if language is not None:
            figures = figures[[one == language for one in self.query_languages]]
        return float(figures.mean())

    def ndcg_gains(self, over: str) -> Floats:
        """How far hybrid search stands above another method, in each query."""
        return self.figures[HYBRID][NDCG] - self.figures[over][NDCG]


def score(name: str, queries: Sequence[JudgedQuery], by_mode: Mapping[Mode, Rankings]) -> SetScores:
    """Beside the modes stands reciprocal rank fusion of what the two single methods found."""
    by_method = {str(mode): rankings for mode, rankings in by_mode.items()}
    single = zip(*(by_method[method] for method in SINGLE_METHODS), strict=True)
    by_method[RANK_FUSION] = [fuse_ranks(*rankings) for rankings in single]
    figures = {method: _measure(rankings, queries) for method, rankings in by_method.items()}
    return SetScores(name, figures, [query.language for query in queries])


def _measure(rankings: Rankings, queries: Sequence[JudgedQuery]) -> dict[str, Floats]:
    judged = list(zip(rankings, queries, strict=True))
    return {
        name: np.array([measure(ranking, query.judgments) for ranking, query in judged])
        for name, measure in MEASURES.items()
    }
