"""Makes the site: a copy of the pages with the site's links, and HTML out of it by the generator."""

import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from docs.site.links import lead, resolve, rewrite_links
from docs.site.pages import DECISIONS, arrange, find_pages, read_title

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
_DECISIONS_HEAD = """\
# Decisions

Why it is as it is, a page for each: what the matter was, what was decided, and what was given up. A page is not
changed once it is decided; a later one takes its place.

"""
_FILES = "files"
_STYLE = "style.css"
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class NotBuilt(Exception):
    """The site cannot be made; the message says what to mend."""


def build_site(target: Path, *, root: Path = ROOT) -> None:
    """Make `target` the site of the pages in `root`, in the place of what it was. Raises `NotBuilt`, also if the
    generator only warns.
    """
    with TemporaryDirectory() as scratch:
        source = Path(scratch)
        staged = stage_pages(root, source / "pages")
        navigation = arrange(staged, staged)
        shutil.copy(HERE / _STYLE, source / "pages" / _STYLE)
        settings = (HERE / "zensical.toml").read_text(encoding="utf-8")
        (source / "zensical.toml").write_text(settings.replace("nav = []", f"nav = {_as_toml(navigation)}"), "utf-8")
        _generate(source)
        # It leads to places of the server that it is on, and nobody knows where that will be.
        (source / "site/404.html").unlink(missing_ok=True)
        shutil.rmtree(target, ignore_errors=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(source / "site", target)


def _generate(source: Path) -> None:
    generator = [sys.executable, "-m", "zensical", "build", "--strict"]
    ended = subprocess.run(generator, cwd=source, capture_output=True, text=True, check=False)  # noqa: S603 - ours
    told = _COLOUR.sub("", ended.stdout + ended.stderr)
    if ended.returncode or re.search(r"\b(warning|error)\b", told, flags=re.IGNORECASE):
        raise NotBuilt(f"The generator does not take the pages:\n{told.partition('Traceback')[0]}")


def _as_toml(navigation: object) -> str:
    """JSON is TOML but for the colon of an object."""
    if isinstance(navigation, str):
        return json.dumps(navigation, ensure_ascii=False)
    if isinstance(navigation, dict):
        return "{ " + ", ".join(f"{_as_toml(name)} = {_as_toml(value)}" for name, value in navigation.items()) + " }"
    assert isinstance(navigation, list)  # noqa: S101 - a navigation has nothing else
    return "[" + ", ".join(_as_toml(entry) for entry in navigation) + "]"


def stage_pages(root: Path, folder: Path) -> dict[str, str]:
    """Copy the pages of `root`, and what they link to, into `folder`: the title of each, by its place in the site."""
    staging = _Staging(root, folder, find_pages(root))
    for page in staging.places:
        staging.stage_page(page)
    decisions = {place: title for place, title in sorted(staging.titles.items()) if place.startswith("decisions/")}
    if decisions:
        listed = "".join(f"- [{title}]({PurePosixPath(place).name})\n" for place, title in decisions.items())
        staging.write_page(DECISIONS, _DECISIONS_HEAD + listed)
    if staging.broken:
        raise NotBuilt("Links that lead nowhere:\n" + "\n".join(staging.broken))
    return staging.titles


@dataclass
class _Staging:
    root: Path
    folder: Path
    places: dict[str, str]
    titles: dict[str, str] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)

    def stage_page(self, page: str) -> None:
        text = (self.root / page).read_text(encoding="utf-8")
        self.write_page(self.places[page], rewrite_links(text, lambda target: self._find_place(page, target)))

    def write_page(self, place: str, text: str) -> None:
        title = read_title(text)
        if title is None:
            raise NotBuilt(f"{place} has no heading that could be its title (`# ...`).")
        self.titles[place] = title
        self._path_of(place).write_text(text, encoding="utf-8")

    def _path_of(self, place: str) -> Path:
        path = self.folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def _find_place(self, page: str, target: str) -> str:
        path, anchor = resolve(page, target)
        here = self.places[page]
        if path in self.places:
            return lead(here, self.places[path]) + anchor
        if path == "docs/decisions" and (self.root / path).is_dir():
            return lead(here, DECISIONS)
        if path.startswith("..") or not (self.root / path).is_file():
            self.broken.append(f"{page}: {target}")
            return target
        return lead(here, self._stage_file(path))

    def _stage_file(self, path: str) -> str:
        """A picture of docs/ keeps its place; any other file is shown by browsers only if it is called a text."""
        is_picture = path.startswith("docs/") and path.endswith((".png", ".svg"))
        place = path.removeprefix("docs/") if is_picture else f"{_FILES}/{path}.txt"
        shutil.copy(self.root / path, self._path_of(place))
        return place
