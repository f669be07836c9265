"""What each installed package takes on disk: `python -m deploy.sizes FOLDER`, a site-packages folder.

What pip has compiled is counted with the rest; docs/how-to/install.md shows the tables.
"""

import sys
from importlib.metadata import distributions
from pathlib import Path

from kb.sizes import BYTES_PER_MB


def measure(site_packages: Path) -> dict[str, int]:
    """Bytes by package, the largest first."""
    sizes = {}
    for distribution in distributions(path=[str(site_packages)]):
        files = [Path(file.locate()) for file in distribution.files or []]
        sizes[distribution.metadata["Name"]] = sum(file.stat().st_size for file in files if file.is_file())
    return dict(sorted(sizes.items(), key=lambda size: -size[1]))


def render(sizes: dict[str, int]) -> str:
    """A table in Markdown; the packages below a megabyte share a row."""
    shown = {name: size for name, size in sizes.items() if size >= BYTES_PER_MB}
    rest = len(sizes) - len(shown)
    rows = [
        *shown.items(),
        (f"{rest} others", sum(sizes.values()) - sum(shown.values())),
        ("**all**", sum(sizes.values())),
    ]
    lines = [f"| {name} | {size / BYTES_PER_MB:.1f} |" for name, size in rows]
    return "\n".join(["| package | MB |", "|---|---|", *lines, ""])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m deploy.sizes SITE-PACKAGES")
    sys.stdout.write(render(measure(Path(sys.argv[1]))))
