"""What search must not fall below: the scores in `accepted.json`, and those of its own parts.

Of each set `accepted.json` keeps the means of hybrid search and the nDCG@10 of each query. A mean may fall by
`TOLERANCE` and be no finding. But it is one if many queries fall a little and few rise, and only a comparison query
by query tells that.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from evaluation.bootstrap import bootstrap_mean
from evaluation.scores import HYBRID, MEASURES, NDCG, RECALL, SetScores

ACCEPTED = Path(__file__).with_name("accepted.json")

# Scores move by less than this when a tie falls another way; a change of ranking worth its name moves more.
TOLERANCE = 0.01
# Whoever searches by one method alone must not be much better off, whatever the set is made of.
MOST_BELOW_SINGLE_METHOD = 0.02
DIGITS_OF_QUERIES = 3
DIGITS_OF_MEANS = 4


@dataclass(frozen=True)
class Accepted:
    means: dict[str, float]
    """The measures, and `Recall@10 de` for each language."""
    ndcg_of_queries: list[float]


def accept(scores: SetScores) -> Accepted:
    means = {measure: scores.mean(HYBRID, measure) for measure in MEASURES}
    means |= {f"{RECALL} {language}": scores.mean(HYBRID, RECALL, language) for language in scores.languages}
    return Accepted(
        {measure: round(mean, DIGITS_OF_MEANS) for measure, mean in means.items()},
        [round(float(figure), DIGITS_OF_QUERIES) for figure in scores.figures[HYBRID][NDCG]],
    )


def find_faults(scores: SetScores, accepted: Accepted | None) -> list[str]:
    """A sentence for each way in which search is worse than it must be; a set never accepted cannot fall."""
    falls = [] if accepted is None else _find_falls(accept(scores), accepted)
    return [f"{scores.name}: {fault}" for fault in [*falls, *_find_lag(scores)]]


def _find_falls(now: Accepted, before: Accepted) -> list[str]:
    if len(now.ndcg_of_queries) != len(before.ndcg_of_queries) or now.means.keys() != before.means.keys():
        return ["it is not the set whose scores were accepted. Look at its scores and accept them with --accept."]
    falls = [
        f"{measure} fell from {mean:.4f} to {now.means[measure]:.4f}, by more than {TOLERANCE}."
        for measure, mean in before.means.items()
        if now.means[measure] < mean - TOLERANCE
    ]
    # Both are rounded alike: otherwise the same figures would all seem to have moved by a trifle, and all one way.
    changes = np.array(now.ndcg_of_queries) - np.array(before.ndcg_of_queries)
    noise = bootstrap_mean(changes)
    if noise.high < 0:
        falls.append(
            f"{NDCG} fell beyond noise: by {-changes.mean():.4f}, and in 95 of 100 samples of its queries by "
            f"{-noise.high:.4f} to {-noise.low:.4f}."
        )
    return falls


def _find_lag(scores: SetScores) -> list[str]:
    single = scores.better_single_method
    hybrid, better = scores.mean(HYBRID, NDCG), scores.mean(single, NDCG)
    if better - hybrid <= MOST_BELOW_SINGLE_METHOD:
        return []
    return [f"{NDCG} is {hybrid:.4f}, more than {MOST_BELOW_SINGLE_METHOD} below the {better:.4f} of {single} alone."]


def read_accepted(path: Path = ACCEPTED) -> dict[str, Accepted]:
    return {name: Accepted(**entry) for name, entry in json.loads(path.read_text(encoding="utf-8")).items()}


def write_accepted(accepted: Mapping[str, Accepted], path: Path = ACCEPTED) -> None:
    """Two lines a set, so that a change shows which sets it moved."""
    entries = []
    for name, entry in sorted(accepted.items()):
        fields = (f"    {json.dumps(field)}: {json.dumps(value)}" for field, value in asdict(entry).items())
        entries.append(f"  {json.dumps(name)}: {{\n" + ",\n".join(fields) + "\n  }")
    path.write_text("{\n" + ",\n".join(entries) + "\n}\n", encoding="utf-8")
