"""Cost curves from the figures of `python -m bench.contest`, as pictures for the docs.

    python -m bench.contest.plots FIGURES docs/design/curves

Both scales are logarithmic, so that a cost in proportion to the size is a straight line at 45 degrees of a square.
The colours stand out against white and against black alike; the background is left to the page.
"""

import json
import math
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from bench.contest.measuring import median

WIDTH, HEIGHT = 760, 440
LEFT, RIGHT, TOP, BOTTOM = 70, 150, 44, 52
GREY = "#808080"
COLOURS = {
    "kb": "#2f81f7",
    "recipe": "#d29922",
    "chromadb": "#a371f7",
    "lancedb": "#3fb950",
    "lancedb-ivf": "#1f9d8a",
    "txtai": "#f0616d",
}
LABEL_GAP = 16

Point = tuple[float, float]
Curves = Mapping[str, Sequence[Point]]


def main() -> None:
    figures = json.loads(Path(sys.argv[1]).read_text())["figures"]
    folder = Path(sys.argv[2])
    pictures: dict[str, tuple[str, str, Curves]] = {
        f"cost-{mode}{suffix}": (f"{mode} search, {filtered}", "CPU ms, p50", read_searches(figures, mode, percent))
        for mode in ("keyword", "vector", "hybrid")
        for percent, suffix, filtered in ((None, "", "no filter"), (1, "-filtered", "filter of 1 %"))
    }
    pictures["cost-update"] = ("update of a document", "CPU ms, p50", read_values(figures, "update_cpu_ms"))
    pictures["cost-memory"] = ("memory that cannot be taken back", "MB", read_values(figures, "anonymous_mb"))
    for name, (title, unit, curves) in pictures.items():
        if curves:
            (folder / f"{name}.svg").write_text(draw(title, unit, curves), encoding="utf-8")


def read_searches(figures: list[dict[str, Any]], mode: str, percent: int | None) -> Curves:
    curves = defaultdict(list)
    for one in figures:
        for searches in one["searches"]:
            if (searches["mode"], searches["percent"]) == (mode, percent):
                curves[one["contestant"]].append((one["chunks"], median(searches["cpu_ms"])))
    return {name: sorted(points) for name, points in curves.items()}


def read_values(figures: list[dict[str, Any]], name: str) -> Curves:
    curves = defaultdict(list)
    for one in figures:
        value = median(one[name]) if isinstance(one[name], list) else one[name]
        if value > 0:
            curves[one["contestant"]].append((one["chunks"], value))
    return {contestant: sorted(points) for contestant, points in curves.items()}


def draw(title: str, unit: str, curves: Curves) -> str:
    points = [point for curve in curves.values() for point in curve]
    across = Scale([x for x, _ in points], LEFT, WIDTH - RIGHT)
    upwards = Scale([y for _, y in points], HEIGHT - BOTTOM, TOP)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="13"><title>{escape(title)}</title>'
    )
    heading = f'<text x="{LEFT}" y="20" font-size="15" fill="{GREY}">{escape(title)} ({escape(unit)})</text>'
    below = f'<text x="{LEFT}" y="{HEIGHT - 12}" fill="{GREY}">chunks in the base</text>'
    lines = [head, heading, below, *draw_grid(across, upwards), *draw_curves(curves, across, upwards), "</svg>"]
    return "\n".join(lines) + "\n"


class Scale:
    """From values to pixels, by their logarithm; from a power of ten to another."""

    def __init__(self, values: Sequence[float], begin: float, end: float) -> None:
        self.low = math.floor(math.log10(min(values)))
        self.high = max(math.ceil(math.log10(max(values))), self.low + 1)
        self._begin, self._end = begin, end

    def place(self, value: float) -> float:
        return self._begin + (math.log10(value) - self.low) / (self.high - self.low) * (self._end - self._begin)

    @property
    def marks(self) -> list[float]:
        return [10.0**power for power in range(self.low, self.high + 1)]


def draw_grid(across: Scale, upwards: Scale) -> Iterator[str]:
    for value in across.marks:
        x = across.place(value)
        yield f'<path d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="{GREY}" stroke-opacity=".3"/>'
        yield f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle" fill="{GREY}">{name(value)}</text>'
    for value in upwards.marks:
        y = upwards.place(value)
        yield f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="{GREY}" stroke-opacity=".3"/>'
        yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end" fill="{GREY}">{name(value)}</text>'


def draw_curves(curves: Curves, across: Scale, upwards: Scale) -> Iterator[str]:
    lowest = math.inf
    # From the bottom upwards, so that a label that would lie on another moves up.
    for contestant, points in sorted(curves.items(), key=lambda curve: curve[1][-1][1]):
        colour = COLOURS.get(contestant, GREY)
        places = [(across.place(x), upwards.place(y)) for x, y in points]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        thick = 3.5 if contestant == "kb" else 1.8
        yield f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="{thick}"/>'
        yield from (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places)
        lowest = min(places[-1][1], lowest - LABEL_GAP)
        yield (
            f'<text x="{WIDTH - RIGHT + 12}" y="{lowest + 4:.1f}" fill="{colour}">'
            f"{contestant} {render_value(points[-1][1])}</text>"
        )


def name(value: float) -> str:
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def render_value(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


if __name__ == "__main__":
    main()
