"""The tree in ARCHITECTURE.md is the one that is there, and its advice names places that exist."""

import re
from pathlib import Path, PurePosixPath

from tests.repository_files import repository_files

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
ADVICE = PAGE.partition("## Where to add something")[2]
ANY_FOLDER = "*/"


def drawn_paths() -> list[str]:
    """What the tree names, from the root: folders end in a slash."""
    (tree,) = re.findall(r"^```\n(src/kb/.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    above: list[str] = []
    paths = []
    for line in tree.splitlines():
        indented, name = re.findall(r"^( *)(\S+)", line)[0]
        del above[len(indented) // 2 :]
        above.append(name)
        paths.append("".join(above))
    return paths


def folders() -> set[str]:
    """Every folder that holds files of the project, and those above it."""
    holding = {path.relative_to(ROOT).parent for path in repository_files()}
    every = {folder.as_posix() for one in holding for folder in (one, *one.parents)}
    # The tree begins below the first two, and the third is what CI runs.
    return {f"{folder}/" for folder in every - {".", "src", ".ci"}}


def folder_of(path: str) -> str:
    return f"{PurePosixPath(path).parent.as_posix()}/"


def test_the_tree_shows_every_folder_and_none_that_is_not_there() -> None:
    drawn = {path for path in drawn_paths() if path.endswith("/")}
    with_any_folder = {path.removesuffix(ANY_FOLDER) for path in drawn if path.endswith(ANY_FOLDER)}
    there = folders()

    undrawn = {folder for folder in there - drawn if folder_of(folder) not in with_any_folder}
    gone = {path for path in drawn if not path.endswith(ANY_FOLDER)} - there

    assert not undrawn, "Draw these in ARCHITECTURE.md."
    assert not gone, "Take these out of ARCHITECTURE.md."
    assert with_any_folder <= {folder_of(folder) for folder in there - drawn}


def test_where_the_tree_shows_modules_it_shows_all_of_them() -> None:
    drawn = {path for path in drawn_paths() if path.endswith(".py")}
    told_by_modules = {folder_of(path) for path in drawn}

    files = {path.relative_to(ROOT).as_posix() for path in repository_files() if path.name != "__init__.py"}
    there = {file for file in files if file.endswith(".py") and folder_of(file) in told_by_modules}

    assert told_by_modules == {"src/kb/", "src/kb/engine/"}
    assert drawn == there


def test_the_last_section_says_where_to_add_something_and_all_these_places_are_there() -> None:
    anywhere = ["", "src/kb/", "src/kb/engine/", "src/kb/engine/ingestion/extraction/", "src/kb/engine/storage/"]
    named = [path for path in re.findall(r"`([\w/.]+(?:/|\.py|\.js))`", ADVICE) if "<" not in path]

    missing = [path for path in named if not any((ROOT / PurePosixPath(start + path)).exists() for start in anywhere)]

    assert "\n## " not in ADVICE
    assert len(named) > 20
    assert missing == []
    for wanted in ("a file format", "a tool", "a ranking idea", "an option"):
        assert f"| {wanted} |" in ADVICE


def test_what_contributing_tells_to_make_can_be_made() -> None:
    pages = [(ROOT / page).read_text(encoding="utf-8") for page in ("CONTRIBUTING.md", "README.md")]
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))

    told = {name for page in pages for name in re.findall(r"`make ([a-z-]+)", page)}

    assert len(told) > 15
    assert told <= targets
