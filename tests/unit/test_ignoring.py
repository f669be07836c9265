"""What git says about these rules (`git check-ignore --no-index`), which ours must say as well."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.cli.folders.ignoring import is_ignored, parse_rules

TREE = (
    "a",
    "a.txt",
    "b.txt",
    "ab.c",
    "#x",
    "!x",
    "[x]",
    "a\\b",
    "*.y",
    "docs/a.txt",
    "docs/b.md",
    "docs/deep/a.txt",
    "docs/deep/er/a.txt",
    "build/out.o",
    "src/build/out.o",
    "src/a/b/c/z",
    "x/y/z",
    "sp/ace",
    "sp/end ",
    "1/2/3",
    "-/]",
    "with space.txt",
    "x-y",
    "Ab.C",
    "café",
)
CASES: dict[str, set[str]] = {
    "a.txt": {"a.txt", "docs/a.txt", "docs/deep/a.txt", "docs/deep/er/a.txt"},
    "*.txt": {"a.txt", "b.txt", "docs/a.txt", "docs/deep/a.txt", "docs/deep/er/a.txt", "with space.txt"},
    "/a.txt": {"a.txt"},
    "docs/": {"docs/a.txt", "docs/b.md", "docs/deep/a.txt", "docs/deep/er/a.txt"},
    "docs": {"docs/a.txt", "docs/b.md", "docs/deep/a.txt", "docs/deep/er/a.txt"},
    "/docs/a.txt": {"docs/a.txt"},
    "docs/*": {"docs/a.txt", "docs/b.md", "docs/deep/a.txt", "docs/deep/er/a.txt"},
    "docs/*.txt": {"docs/a.txt"},
    "docs/**": {"docs/a.txt", "docs/b.md", "docs/deep/a.txt", "docs/deep/er/a.txt"},
    "**/a.txt": {"a.txt", "docs/a.txt", "docs/deep/a.txt", "docs/deep/er/a.txt"},
    "**/deep/a.txt": {"docs/deep/a.txt"},
    "docs/**/a.txt": {"docs/a.txt", "docs/deep/a.txt", "docs/deep/er/a.txt"},
    "docs/**/er": {"docs/deep/er/a.txt"},
    "a/**/z": set(),
    "src/**/z": {"src/a/b/c/z"},
    "**/build": {"build/out.o", "src/build/out.o"},
    "build/": {"build/out.o", "src/build/out.o"},
    "/build/": {"build/out.o"},
    "**/build/**": {"build/out.o", "src/build/out.o"},
    "src/*/out.o": {"src/build/out.o"},
    "src/*": {"src/build/out.o", "src/a/b/c/z"},
    "*/a.txt": {"docs/a.txt"},
    "*/*": {
        "docs/a.txt",
        "docs/b.md",
        "docs/deep/a.txt",
        "docs/deep/er/a.txt",
        "build/out.o",
        "src/build/out.o",
        "src/a/b/c/z",
        "x/y/z",
        "sp/ace",
        "sp/end ",
        "1/2/3",
        "-/]",
    },
    "**": {*TREE},
    "/**": {*TREE},
    "/*": {*TREE},
    "*": {*TREE},
    "/": set(),
    "//": set(),
    "!": set(),
    "!a.txt": set(),
    "# a.txt": set(),
    "\\#x": {"#x"},
    "#x": set(),
    "\\!x": {"!x"},
    "!x": set(),
    "\\[x\\]": {"[x]"},
    "[x]": {"x/y/z"},
    "[[]x]": {"[x]"},
    "a\\\\b": {"a\\b"},
    "\\*.y": {"*.y"},
    "*.y": {"*.y"},
    "?.txt": {"a.txt", "b.txt", "docs/a.txt", "docs/deep/a.txt", "docs/deep/er/a.txt"},
    "??.?": {"ab.c", "Ab.C"},
    "[ab].txt": {"a.txt", "b.txt", "docs/a.txt", "docs/deep/a.txt", "docs/deep/er/a.txt"},
    "[!a].txt": {"b.txt"},
    "[^a].txt": {"b.txt"},
    "[a-b].txt": {"a.txt", "b.txt", "docs/a.txt", "docs/deep/a.txt", "docs/deep/er/a.txt"},
    "[b-a].txt": {"b.txt"},
    "[]-].txt": set(),
    "-/[]]": {"-/]"},
    "-/[!a]": {"-/]"},
    "[[:digit:]]": {"1/2/3"},
    "[[:alpha:]].txt": {"a.txt", "b.txt", "docs/a.txt", "docs/deep/a.txt", "docs/deep/er/a.txt"},
    "[[:upper:]]b.C": {"Ab.C"},
    "[[:nope:]].txt": set(),
    "[a": set(),
    "a[": set(),
    "[]": set(),
    "a\\": set(),
    "with space.txt": {"with space.txt"},
    "with\\ space.txt": {"with space.txt"},
    "a.txt   ": {"a.txt", "docs/a.txt", "docs/deep/a.txt", "docs/deep/er/a.txt"},
    "sp/end\\ ": {"sp/end "},
    "sp/end ": set(),
    "sp/end\\  ": {"sp/end "},
    "a.txt\t": set(),
    "a.txt\r": {"a.txt", "docs/a.txt", "docs/deep/a.txt", "docs/deep/er/a.txt"},
    "\ufeffa.txt": {"a.txt", "docs/a.txt", "docs/deep/a.txt", "docs/deep/er/a.txt"},
    "docs/deep/**/": {"docs/deep/er/a.txt"},
    "docs//a.txt": set(),
    "docs/a.txt/": set(),
    "x/y": {"x/y/z"},
    "x/y/": {"x/y/z"},
    "/x/y/z": {"x/y/z"},
    "y/z": set(),
    "x/**/z": {"x/y/z"},
    "x/*/z": {"x/y/z"},
    "x/?/z": {"x/y/z"},
    "x?y": {"x-y"},
    "x[/]y": set(),
    "x[-/]y": {"x-y"},
    "a*b*c": {"ab.c"},
    "*a*": {
        "a",
        "a.txt",
        "ab.c",
        "a\\b",
        "docs/a.txt",
        "docs/deep/a.txt",
        "docs/deep/er/a.txt",
        "src/a/b/c/z",
        "sp/ace",
        "with space.txt",
        "café",
    },
    "*.*": {
        "a.txt",
        "b.txt",
        "ab.c",
        "*.y",
        "docs/a.txt",
        "docs/b.md",
        "docs/deep/a.txt",
        "docs/deep/er/a.txt",
        "build/out.o",
        "src/build/out.o",
        "with space.txt",
        "Ab.C",
    },
    "***": {*TREE},
    "x/***": {"x/y/z"},
    "***/z": {"src/a/b/c/z", "x/y/z"},
    "**/**/z": {"src/a/b/c/z", "x/y/z"},
    "**/*.txt": {"a.txt", "b.txt", "docs/a.txt", "docs/deep/a.txt", "docs/deep/er/a.txt", "with space.txt"},
    "**foo": set(),
    "a**": {
        "a",
        "a.txt",
        "ab.c",
        "a\\b",
        "docs/a.txt",
        "docs/deep/a.txt",
        "docs/deep/er/a.txt",
        "src/a/b/c/z",
        "sp/ace",
    },
    "deep/a.txt": set(),
    "er": {"docs/deep/er/a.txt"},
    "café": {"café"},
    "*\n!a.txt": {*TREE} - {"a.txt"},
    "*\n!*/\n!*.txt": {*TREE}
    - {"a.txt", "b.txt", "docs/a.txt", "docs/deep/a.txt", "docs/deep/er/a.txt", "with space.txt"},
    "docs/\n!docs/a.txt": {"docs/a.txt", "docs/b.md", "docs/deep/a.txt", "docs/deep/er/a.txt"},
    "docs/*\n!docs/a.txt": {"docs/b.md", "docs/deep/a.txt", "docs/deep/er/a.txt"},
    "/*\n!/docs": {*TREE} - {"docs/a.txt", "docs/b.md", "docs/deep/a.txt", "docs/deep/er/a.txt"},
    "/*\n!/docs\n/docs/*\n!/docs/b.md": {*TREE} - {"docs/b.md"},
    "*.txt\n!a.txt\n/a.txt": {"a.txt", "b.txt", "with space.txt"},
    "!a.txt\na.txt": {"a.txt", "docs/a.txt", "docs/deep/a.txt", "docs/deep/er/a.txt"},
    "docs/deep\n!docs/deep/": set(),
    "a.txt\n\n   \n# c\n!docs/a.txt": {"a.txt", "docs/deep/a.txt", "docs/deep/er/a.txt"},
    "A.TXT": set(),
    "ab.c": {"ab.c"},
    "1/2": {"1/2/3"},
    "1/**/3": {"1/2/3"},
    "**/2/**": {"1/2/3"},
    "1/*/*": {"1/2/3"},
}

# Made of what patterns are made of, so that many of them mean something.
PATTERNS = st.lists(
    st.sampled_from([*"ab*?/[]!\\ #-^", "**", "**/", "/**", "[ab]", "[!a]", "[[:alpha:]]"]), max_size=12
).map("".join)
PATHS = st.lists(st.text("ab -", min_size=1, max_size=5), min_size=1, max_size=5).map("/".join)


def is_left_out(path: str, text: str) -> bool:
    """As a walk finds it out: from above, and not into a folder that is ignored."""
    rules, parts = parse_rules(text, ""), path.split("/")
    places = range(1, len(parts) + 1)
    return any(is_ignored("/".join(parts[:end]), [rules], is_folder=end < len(parts)) for end in places)


@pytest.mark.parametrize("text", CASES)
def test_rules_leave_out_what_git_leaves_out(text: str) -> None:
    assert {path for path in TREE if is_left_out(path, text)} == CASES[text]


def test_stars_in_a_part_are_one_star_as_the_manual_of_git_says() -> None:
    assert not is_left_out("src/a/b/c/z", "src/a**/z")
    assert is_left_out("src/abc/z", "src/a**/z")


def test_a_question_mark_is_a_letter_however_many_bytes_that_has() -> None:
    assert is_left_out("café", "caf?")
    assert is_left_out("na\udcffme", "na?me")


def test_rules_of_a_folder_speak_of_paths_below_it_and_come_after_those_above() -> None:
    above, below = parse_rules("*.log\n/top", ""), parse_rules("!keep.log\n/inner", "sub/")

    assert is_ignored("sub/other.log", [above, below], is_folder=False)
    assert not is_ignored("sub/keep.log", [above, below], is_folder=False)
    assert is_ignored("sub/inner", [above, below], is_folder=False)
    assert not is_ignored("sub/top", [above, below], is_folder=False)


@given(PATTERNS, PATHS)
def test_a_rule_behind_a_rule_takes_it_back(pattern: str, path: str) -> None:
    """Whatever is left out by a pattern is not, if the same pattern follows with an exclamation mark."""
    pattern = pattern.lstrip("!#").rstrip()

    taken_back = parse_rules(f"{pattern}\n!{pattern}", "")

    assert not is_ignored(path, [taken_back], is_folder=True)


@given(PATTERNS, PATHS)
def test_two_stars_before_a_name_find_it_at_any_depth(pattern: str, path: str) -> None:
    name = pattern.replace("/", "").lstrip("!#").rstrip(" \\")

    anywhere, by_name = parse_rules(f"**/{name}", ""), parse_rules(name, "")

    assert is_ignored(path, [anywhere], is_folder=False) == is_ignored(path, [by_name], is_folder=False)


@pytest.mark.parametrize(
    "pattern",
    [
        "*a" * 60 + "b",
        "**/a*a*a*a*/" * 30 + "b",
        "**/*/" * 300 + "b",
        "[a-z]*" * 100 + "0",
        "?*" * 120 + "!",
        "(a+)+$",
        "a" + " " * 100_000 + "b",
        "[[:" * 20_000,
    ],
)
def test_no_pattern_takes_long(pattern: str) -> None:
    began_at = time.process_time()

    for path in ("a" * 255, "/".join(["a" * 15] * 255), "a/" * 2_047 + "a"):
        is_left_out(path[:64], pattern)
        is_ignored(path, [parse_rules(pattern, "")], is_folder=False)

    # Tried in every possible way these would take longer than the universe is old.
    assert time.process_time() - began_at < 5
