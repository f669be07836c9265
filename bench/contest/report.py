"""The figures as Markdown tables: processor time, and how it compares with kb's."""

from collections.abc import Callable, Sequence

from bench.contest.contestant import MODES, TOP, Mode
from bench.contest.measuring import PERCENTAGES, Figures, Searches, median
from bench.contest.processes import OURS
from bench.figures import p95

NONE = "-"


def render(figures: Sequence[Figures]) -> str:
    sizes = sorted({one.chunks for one in figures})
    return "\n\n".join(render_size([one for one in figures if one.chunks == size], size) for size in sizes) + "\n"


def render_size(figures: Sequence[Figures], chunks: int) -> str:
    query_count = max((len(searches.cpu_ms) for one in figures for searches in one.searches), default=0)
    parts = [
        f"### {chunks:,} chunks",
        f"CPU ms a search, p50 / p95 of {query_count} queries, and p50 as a multiple of {OURS}'s. Each is asked "
        "twice, with all others in between; in brackets the p50 of the first time.",
        render_searches(figures),
        f"Recall@{TOP} of vector search against comparing with every vector, and how many of {TOP} hits a filtered "
        "search gives (keyword, vector, hybrid; fewest of any query).",
        render_recalls(figures),
        "The rest. A document is ten chunks; a cold start is CPU seconds from the start of the process to its first "
        "answer; anonymous memory is what the machine cannot take back.",
        render_rest(figures),
    ]
    return "\n\n".join(parts)


def render_searches(figures: Sequence[Figures]) -> str:
    rows = []
    for mode in MODES:
        for percent in PERCENTAGES:
            ours = next((find(one, mode, percent) for one in figures if one.contestant == OURS), None)
            cells = [_render_search(find(one, mode, percent), ours) for one in figures]
            rows.append([f"{mode}, {name_filter(percent)}", *cells])
    return render_table(["search", *(one.contestant for one in figures)], rows)


def render_recalls(figures: Sequence[Figures]) -> str:
    rows = []
    for percent in PERCENTAGES:
        cells = []
        for one in figures:
            found = find(one, "vector", percent)
            recall = f"{sum(found.recalls) / len(found.recalls):.3f}" if found and found.recalls else NONE
            fewest = [min(searches.hits) if (searches := find(one, mode, percent)) else None for mode in MODES]
            cells.append(f"{recall} ({', '.join(NONE if few is None else str(few) for few in fewest)})")
        rows.append([name_filter(percent), *cells])
    return render_table(["filter", *(one.contestant for one in figures)], rows)


def render_rest(figures: Sequence[Figures]) -> str:
    measures: list[tuple[str, Callable[[Figures], float], str]] = [
        ("filled, chunks a CPU second", lambda one: one.chunks / one.fill_cpu_seconds, ",.0f"),
        ("a document updated, CPU ms p50", lambda one: median(one.update_cpu_ms), ".1f"),
        ("a document deleted, CPU ms p50", lambda one: median(one.delete_cpu_ms), ".1f"),
        ("cold start, CPU s", lambda one: one.cold_start_cpu_seconds, ".2f"),
        ("memory, MB", lambda one: one.rss_mb, ",.0f"),
        ("of it anonymous, MB", lambda one: one.anonymous_mb, ",.0f"),
        ("disk, bytes a chunk", lambda one: one.disk_bytes / one.chunks, ",.0f"),
    ]
    rows = []
    for name, measure, digits in measures:
        values = [measure(one) for one in figures]
        rows.append([name, *(NONE if value != value else format(value, digits) for value in values)])
    return render_table(["", *(one.contestant for one in figures)], rows)


def find(figures: Figures, mode: Mode, percent: int | None) -> Searches | None:
    return next((one for one in figures.searches if (one.mode, one.percent) == (mode, percent)), None)


def name_filter(percent: int | None) -> str:
    return "no filter" if percent is None else f"filter of {percent} %"


def render_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in [heads, ["---"] * len(heads), *rows])


def _render_search(searches: Searches | None, ours: Searches | None) -> str:
    if searches is None:
        return NONE
    ratio = "" if ours is None or ours is searches else f", {median(searches.cpu_ms) / median(ours.cpu_ms):.2f} x"
    first = f" ({median(searches.first_cpu_ms):.1f})" if searches.first_cpu_ms else ""
    return f"{median(searches.cpu_ms):.1f} / {p95(searches.cpu_ms):.1f}{first}{ratio}"
