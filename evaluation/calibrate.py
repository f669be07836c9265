"""Fit the curves that `kb/engine/search/relevance.py` holds, and tell how far they can be trusted.

    python -m evaluation.calibrate DATA [SET ...]

Each of the first hits of each query is a sample: its cosine, its keyword score as a share of the best possible,
and whether it was judged relevant. Sets count equally, and within a set the relevant samples weigh as much as the
others. The second is because the sets judge one or two answers to a question and leave others unjudged: how
rare the relevant are tells of the judges' patience and not of the hits.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from evaluation.bases import JudgedBase, open_base
from evaluation.cached_embedder import open_cached_embedder
from evaluation.sets import JudgedQuery, find_sets, load_set
from kb.engine.search.hybrid import Mode

FIRST_HITS = 20
THRESHOLDS = (0.3, 0.5, 0.7)
NEWTON_STEPS = 25
COSINE, SHARE, IS_RELEVANT = range(3)

# Which features each kind of search has to go by.
FEATURES = {Mode.HYBRID: [COSINE, SHARE], Mode.KEYWORD: [SHARE], Mode.VECTOR: [COSINE]}
NAMES = {COSINE: "cosine", SHARE: "share"}

Floats = npt.NDArray[np.float64]
Samples = Floats
"""One row a hit: cosine, share, and 1 if it was judged relevant."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m evaluation.calibrate", description="Fit the relevance curves.")
    parser.add_argument("data", type=Path, help="the folder that holds a folder for each set")
    parser.add_argument("sets", nargs="*", help="which sets (all)", metavar="SET")
    options = parser.parse_args()
    by_mode: dict[Mode, list[Samples]] = {mode: [] for mode in Mode}
    with open_cached_embedder() as embedder:
        for folder in [options.data / name for name in options.sets] or find_sets(options.data):
            judged = load_set(folder)
            with open_base(judged, embedder) as base:
                for mode in Mode:
                    rows = [row for query in judged.queries for row in _sample(base, query, mode)]
                    by_mode[mode].append(np.array(rows, np.float64))
    for mode, samples_by_set in by_mode.items():
        print(render(mode, samples_by_set))


def _sample(base: JudgedBase, query: JudgedQuery, mode: Mode) -> Iterator[tuple[float, float, bool]]:
    outcome = base.search(query, mode, top=FIRST_HITS)
    best_possible = outcome.best_possible_keyword_score
    for hit in outcome.hits:
        share = (hit.keyword_score or 0.0) / best_possible if best_possible else 0.0
        is_relevant = query.judgments.get(base.item_of(hit), 0) > 0
        yield float(np.clip(hit.cosine or 0.0, 0, 1)), float(np.clip(share, 0, 1)), is_relevant


def render(mode: Mode, samples_by_set: list[Samples]) -> str:
    samples = np.vstack(samples_by_set)
    features, is_relevant = samples[:, FEATURES[mode]], samples[:, IS_RELEVANT]
    curve = fit_logistic(features, is_relevant, np.concatenate([_even_odds(rows) for rows in samples_by_set]))
    relevance = predict(curve, features)
    weights = np.concatenate([np.full(len(rows), 1 / len(rows)) for rows in samples_by_set])
    names = ["intercept", *(NAMES[feature] for feature in FEATURES[mode])]
    lines = [f"{mode}: " + ", ".join(f"{name} {value:.2f}" for name, value in zip(names, curve, strict=True))]
    for threshold in THRESHOLDS:
        kept = weights * (relevance >= threshold)
        precision = (kept * is_relevant).sum() / max(kept.sum(), 1e-9)
        recall = (kept * is_relevant).sum() / (weights * is_relevant).sum()
        share = kept.sum() / weights.sum()
        lines.append(
            f"  from {threshold}: {share:.2f} of the hits, {recall:.2f} of the relevant; precision {precision:.2f}"
        )
    return "\n".join(lines)


def _even_odds(rows: Samples) -> Floats:
    """Weights that sum to 1, half of it on the relevant rows."""
    relevant = rows[:, IS_RELEVANT] > 0
    weights: Floats = np.where(relevant, 0.5 / max(relevant.sum(), 1), 0.5 / max((~relevant).sum(), 1))
    return weights


def fit_logistic(features: Floats, targets: Floats, weights: Floats) -> Floats:
    """The intercept and the weights of the features that make the targets most likely, by Newton's method."""
    inputs = np.column_stack([np.ones(len(features)), features])
    curve = np.zeros(inputs.shape[1])
    for _ in range(NEWTON_STEPS):
        predicted = predict(curve, features)
        gradient = inputs.T @ (weights * (targets - predicted))
        curvature = (inputs * (weights * predicted * (1 - predicted))[:, None]).T @ inputs
        curve += np.linalg.solve(curvature, gradient)
    return curve


def predict(curve: Floats, features: Floats) -> Floats:
    result: Floats = 1 / (1 + np.exp(-(curve[0] + features @ curve[1:])))
    return result


if __name__ == "__main__":
    main()
