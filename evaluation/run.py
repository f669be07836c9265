"""Measure search on judged sets, and fail if it got worse.

    python -m evaluation.run DATA [SET ...] [--accept]

For each set a base is made and every query is searched in each mode; beside them stands reciprocal rank fusion
of the same two lists. The scores of hybrid search are held against `accepted.json`; `--accept` writes them
there. Exit status 1 says that a score fell by more than `TOLERANCE`.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean

from evaluation.bases import JudgedBase, open_base, open_cached_embedder
from evaluation.metrics import Judgments, fuse_ranks, ndcg, recall, reciprocal_rank
from evaluation.sets import JudgedQuery, JudgedSet, find_sets, load_set
from kb.engine.ports import Embedder
from kb.engine.search.hybrid import Mode

ACCEPTED = Path(__file__).with_name("accepted.json")
# Scores move by less than this when a tie falls another way; a change of ranking worth its name moves more.
TOLERANCE = 0.01

METRICS: dict[str, Callable[[Sequence[str], Judgments], float]] = {
    "nDCG@10": lambda ranking, judgments: ndcg(ranking, judgments, 10),
    "Recall@10": lambda ranking, judgments: recall(ranking, judgments, 10),
    "MRR@10": lambda ranking, judgments: reciprocal_rank(ranking, judgments, 10),
    "Recall@100": lambda ranking, judgments: recall(ranking, judgments, 100),
}

Scores = dict[str, float]
RANK_FUSION = "RRF k=60"


def main() -> int:
    options = _parse_options()
    accepted: dict[str, Scores] = json.loads(ACCEPTED.read_text(encoding="utf-8")) if ACCEPTED.exists() else {}
    measured: dict[str, Scores] = {}
    with open_cached_embedder() as embedder:
        for name in options.sets or [folder.name for folder in find_sets(options.data)]:
            by_method = measure(load_set(options.data / name), embedder)
            measured[name] = by_method[Mode.HYBRID]
            print(render(name, by_method), flush=True)
    if options.accept:
        content = json.dumps({**accepted, **measured}, indent=2, sort_keys=True)
        ACCEPTED.write_text(content + "\n", encoding="utf-8")
        return 0
    falls = find_falls(measured, accepted)
    print("\n".join(falls) or "No accepted score fell.")
    return 1 if falls else 0


def measure(judged: JudgedSet, embedder: Embedder) -> dict[str, Scores]:
    """The mean of each metric over the queries, for each mode and for rank fusion."""
    with open_base(judged, embedder) as base:
        rankings = [_rank(base, query) for query in judged.queries]
    return {
        method: _score([ranking[method] for ranking in rankings], judged.queries)
        for method in (*map(str, Mode), RANK_FUSION)
    }


def _rank(base: JudgedBase, query: JudgedQuery) -> dict[str, list[str]]:
    by_method = {str(mode): base.find_items(query, mode) for mode in Mode}
    by_method[RANK_FUSION] = fuse_ranks(by_method[Mode.KEYWORD], by_method[Mode.VECTOR])
    return by_method


def _score(rankings: Sequence[Sequence[str]], queries: Sequence[JudgedQuery]) -> Scores:
    judged = list(zip(rankings, queries, strict=True))
    scores = {
        name: fmean(metric(ranking, query.judgments) for ranking, query in judged) for name, metric in METRICS.items()
    }
    for language in sorted({query.language for query in queries if query.language}):
        found = (recall(ranking, query.judgments, 10) for ranking, query in judged if query.language == language)
        scores[f"Recall@10 {language}"] = fmean(found)
    return {name: round(score, 4) for name, score in scores.items()}


def find_falls(measured: Mapping[str, Scores], accepted: Mapping[str, Scores]) -> list[str]:
    """A sentence for each measured score that lies too far below the accepted one."""
    return [
        f"{name}: {metric} fell from {before:.4f} to {measured[name].get(metric, 0.0):.4f}."
        for name in measured
        for metric, before in accepted.get(name, {}).items()
        if measured[name].get(metric, 0.0) < before - TOLERANCE
    ]


def render(name: str, by_method: Mapping[str, Scores]) -> str:
    metrics = list(by_method[Mode.HYBRID])
    lines = [_render_row(name, metrics)]
    lines += [
        _render_row(method, [f"{scores[metric]:.3f}" for metric in metrics]) for method, scores in by_method.items()
    ]
    return "\n".join(lines) + "\n"


def _render_row(label: str, cells: Iterable[str]) -> str:
    return label.ljust(10) + "".join(cell.removeprefix("Recall@10 ").rjust(11) for cell in cells)


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m evaluation.run", description="Measure search on judged sets.")
    parser.add_argument("data", type=Path, help="the folder that holds a folder for each set")
    parser.add_argument("sets", nargs="*", help="which sets (all)", metavar="SET")
    parser.add_argument("--accept", action="store_true", help="write the scores to accepted.json instead of comparing")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
