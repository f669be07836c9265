"""M16: only files below the allowed folders are read, whoever changes the disk meanwhile and whatever lies there."""

import os
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.amounts import amount
from tests.mcp_server.file_root import CODES, GOOD, read, refuse
from tests.mcp_server.file_root import root as root

from kb.mcp.errors import ToolError
from kb.mcp.file_roots import FileRoots

WITHIN_SECONDS = 60
READINGS = amount(selection=1_000, full=10_000)


def exchange_file_for_link(root: Path) -> None:
    (root / "new").symlink_to(root.parent / "closed/a.txt")
    os.replace(root / "new", root / "sub/a.txt")


def exchange_file_for_pipe(root: Path) -> None:
    os.mkfifo(root / "new")
    os.replace(root / "new", root / "sub/a.txt")


def exchange_folder_for_link(root: Path) -> None:
    os.rename(root / "sub", root / "aside")
    (root / "sub").symlink_to(root.parent / "closed/sub")


def exchange_root_for_link(root: Path) -> None:
    os.rename(root, root.parent / "aside")
    root.symlink_to(root.parent / "closed")


Exchange = Callable[[Path], None]


@pytest.mark.parametrize(
    ("part", "exchange"),
    [
        ("open", exchange_root_for_link),
        ("sub", exchange_folder_for_link),
        ("a.txt", exchange_file_for_link),
        ("a.txt", exchange_file_for_pipe),
    ],
)
def test_what_is_exchanged_after_it_was_checked_is_refused(
    root: Path, monkeypatch: pytest.MonkeyPatch, part: str, exchange: Exchange
) -> None:
    open_part = os.open

    def exchange_and_open(path: Path | str, flags: int, *, dir_fd: int | None = None) -> int:
        if Path(path).name == part:
            exchange(root)
        return open_part(path, flags, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", exchange_and_open)

    code = "file_not_readable" if exchange is exchange_file_for_pipe else "path_not_allowed"
    assert refuse("sub/a.txt", root / "sub", root).code == code


def put_back(root: Path) -> None:
    if (root / "aside").exists():
        (root / "sub").unlink()
        os.rename(root / "aside", root / "sub")
    else:
        os.link(root / "a.txt", root / "new")
        os.replace(root / "new", root / "sub/a.txt")


@pytest.mark.parametrize("exchange", [exchange_file_for_link, exchange_file_for_pipe, exchange_folder_for_link])
def test_whoever_swaps_the_path_all_the_while_never_gets_another_file_read(root: Path, exchange: Exchange) -> None:
    is_over = threading.Event()
    seen: list[bytes | str] = []

    def keep_swapping() -> None:
        while not is_over.is_set():
            exchange(root)
            put_back(root)

    swapping = threading.Thread(target=keep_swapping)
    swapping.start()
    deadline = time.monotonic() + WITHIN_SECONDS
    try:
        while time.monotonic() < deadline and (len(seen) < READINGS or not {GOOD} < set(seen)):
            try:
                seen.append(read("sub/a.txt", root))
            except ToolError as error:
                seen.append(error.code)
    finally:
        is_over.set()
        swapping.join()

    assert {GOOD} < set(seen) <= {GOOD, *CODES}


NAMES = st.sampled_from(["a", "b", ".h"])
INNER = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
PLACES = st.builds("{}/{}".format, st.sampled_from(["open", "closed"]), INNER)
WAYS = st.lists(st.one_of(NAMES, st.sampled_from(["..", "open", "closed"])), min_size=1, max_size=5).map("/".join)


def build(top: Path, files: set[str], links: dict[str, str]) -> set[int]:
    """The inodes that may be read below `open`. Links come last, so that nothing is written through them."""
    for place in ("open/a", *files, *links):
        with suppress(OSError):
            (top / place).parent.mkdir(parents=True, exist_ok=True)
    for place in files:
        with suppress(OSError):
            (top / place).touch()
    for place, target in links.items():
        with suppress(OSError):
            (top / place).symlink_to(target.format(top=top))
    found = (Path(folder, name) for folder, _, names in os.walk(top / "open") for name in names)
    return {path.lstat().st_ino for path in found if not path.is_symlink() and ".h" not in path.parts}


@settings(max_examples=200, deadline=None)
@given(
    files=st.sets(PLACES, max_size=6),
    links=st.dictionaries(PLACES, st.one_of(WAYS, WAYS.map("{{top}}/{}".format)), max_size=5),
    path=st.one_of(PLACES, PLACES, WAYS, WAYS.map("open/{}".format)),
)
def test_in_any_tree_just_the_files_that_really_lie_below_a_root_and_are_not_hidden_are_opened(
    files: set[str], links: dict[str, str], path: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder).resolve()
        allowed = build(top, files, links)
        opened = expected = None

        with suppress(ToolError), FileRoots((top / "open",)).open_file(f"{top}/{path}") as file:
            opened = os.fstat(file.content.fileno()).st_ino
            assert opened == file.path.lstat().st_ino
        with suppress(OSError):
            expected = (top / path).stat().st_ino

        assert opened is None or opened in allowed
        # With dots the system looks elsewhere when the part before them is a link.
        if ".." not in path:
            assert opened == (expected if expected in allowed and ".h" not in path.split("/") else None)


@settings(deadline=None)
@given(path=st.text(st.characters(exclude_categories=())), start=st.sampled_from(["", "~/", "/", "./", "{root}/"]))
def test_any_text_is_answered_with_an_error_of_ours(path: str, start: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        refuse(start.replace("{root}", folder) + path, Path(folder))
