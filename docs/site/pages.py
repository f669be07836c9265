"""Which pages the site has, and where each stands in its navigation.

A new page in a folder of `docs/` is taken in by itself, at the end of its section; a page in a folder that has no
section is refused. Pages outside of `docs/` have their place in `PROJECT`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TypeAlias

# What the generator takes: pages, and titles of sections with what is in them.
Navigation: TypeAlias = Sequence["str | Mapping[str, str | Navigation]"]

PROJECT = {
    "README.md": "project/readme.md",
    "ARCHITECTURE.md": "project/architecture.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "CHANGELOG.md": "project/changelog.md",
    "bench/RESULTS.md": "project/benchmarks.md",
}
DECISIONS = "decisions/index.md"
# In the order in which somebody needs them; a page that is not named here stands behind the others, under `More`.
HOW_TO = {
    "Use it": ("use-the-page", "use-the-command-line", "script-it", "follow-a-folder"),
    "With agents": ("connect-an-agent",),
    "Run it": (
        "install",
        "run-as-a-service",
        "run-in-containers",
        "secure-with-tls",
        "harden",
        "scale-out",
        "use-a-gpu",
        "watch-it",
    ),
    "Keep it": ("troubleshoot", "back-up", "move-a-base", "repair", "measure-search", "change-the-model"),
}
REST_OF_HOW_TO = "More"
START = ("index.md", "tutorial.md", "comparison.md")
# Of docs/ itself, what is not for the start.
DESIGN = ("reliability.md",)


class NoPlace(Exception):
    """A page that the navigation does not know; the message says what to do."""


def find_pages(root: Path) -> dict[str, str]:
    """Where each page of the repository stands in the site, both as paths with `/`."""
    inside = {f"docs/{page}": page for page in _list_pages(root / "docs")}
    return inside | {page: place for page, place in PROJECT.items() if (root / page).is_file()}


def _list_pages(folder: Path) -> list[str]:
    found = sorted(path.relative_to(folder) for path in folder.rglob("*.md"))
    return [PurePosixPath(page).as_posix() for page in found]


def arrange(places: Iterable[str], titles: Mapping[str, str]) -> Navigation:
    """The navigation over all these pages, each in exactly one place. Raises `NoPlace`."""
    left = set(places)

    def take(wanted: Iterable[str]) -> list[Mapping[str, str | Navigation]]:
        there = [place for place in wanted if place in left]
        left.difference_update(there)
        return [{titles[place]: place} for place in there]

    def take_folder(folder: str) -> list[Mapping[str, str | Navigation]]:
        return take(sorted(place for place in left if place.startswith(f"{folder}/")))

    groups = {group: take(f"how-to/{name}.md" for name in names) for group, names in HOW_TO.items()}
    groups[REST_OF_HOW_TO] = take_folder("how-to")
    sections: dict[str, list[Mapping[str, str | Navigation]]] = {
        "Start": take(START),
        "How-to": [{group: pages} for group, pages in groups.items() if pages],
        "Reference": take_folder("reference"),
        "Design": [*take_folder("design"), *take(DESIGN)],
        "Decisions": [*take([DECISIONS]), *take_folder("decisions")],
        "Project": take(PROJECT.values()),
    }
    if left:
        told = ", ".join(f"docs/{place}" for place in sorted(left))
        raise NoPlace(f"No section of the site holds {told}: give it one in docs/site/pages.py, or move it.")
    return [{title: pages} for title, pages in sections.items() if pages]


def read_title(text: str) -> str | None:
    """What the page calls itself: its first heading, without marks of code."""
    heading = re.search(r"^# (.+)$", text, flags=re.MULTILINE)
    return heading[1].strip().replace("`", "") if heading else None
