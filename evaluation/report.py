"""The scores of a set, as the terminal shows them: at most 120 columns."""

from collections.abc import Iterable

from evaluation.bootstrap import Floats, bootstrap_mean
from evaluation.scores import HYBRID, MEASURES, RANK_FUSION, RECALL, SetScores

LABEL_COLUMNS, FIGURE_COLUMNS = 20, 25


def render(scores: SetScores) -> str:
    methods = list(scores.figures)
    lines = [_render_row("", MEASURES)]
    lines += [
        _render_row(method, [_render_mean(scores, method, measure) for measure in MEASURES]) for method in methods
    ]
    lines += [
        _render_row(f"hybrid - {method}", [_render_interval(scores.ndcg_gains(method), sign="+")])
        for method in (scores.better_single_method, RANK_FUSION)
    ]
    if scores.languages:
        lines.append(_render_row(f"{RECALL} in", methods))
    for language in scores.languages:
        lines.append(_render_row(language, [f"{scores.mean(method, RECALL, language):.3f}" for method in methods]))
    return "\n".join([f"{scores.name}, {len(scores.query_languages)} queries", *(f"  {line}" for line in lines), ""])


def _render_mean(scores: SetScores, method: str, measure: str) -> str:
    """With its interval, where it is about hybrid search."""
    figures = scores.figures[method][measure]
    return _render_interval(figures) if method == HYBRID else f"{figures.mean():.3f}"


def _render_interval(figures: Floats, *, sign: str = "") -> str:
    interval = bootstrap_mean(figures)
    mean, low, high = (f"{figure:{sign}.3f}" for figure in (figures.mean(), interval.low, interval.high))
    return f"{mean} [{low}, {high}]"


def _render_row(label: str, cells: Iterable[str]) -> str:
    return (label.ljust(LABEL_COLUMNS) + "".join(cell.ljust(FIGURE_COLUMNS) for cell in cells)).rstrip()
