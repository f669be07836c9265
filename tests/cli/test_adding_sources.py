"""What `kb add` takes for files to add: names, folders, patterns, standard input."""

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Kb

NOWHERE = "http://127.0.0.1:1"


def write(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{folder.name} tells of {name}.")


def planned(kb: Kb, *arguments: str) -> list[str]:
    """Which files would be sent."""
    return kb("add", *arguments, "--dry-run", KB_ENGINE_URL=NOWHERE).stdout.splitlines()


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("*.md", ["a.md", "b.md"]),
        ("**/*.md", ["a.md", "b.md", "deep/c.md", "deep/er/d.md"]),
        ("d*", ["deep/c.md", "deep/x.txt", "deep/er/d.md"]),
        ("**", ["a.md", "b.md", "deep/c.md", "deep/er/d.md", "deep/x.txt"]),
        ("[ab].md", ["a.md", "b.md"]),
    ],
)
def test_a_pattern_that_the_shell_left_alone_is_expanded(
    kb: Kb, tmp_path: Path, pattern: str, names: list[str]
) -> None:
    """C1"""
    write(tmp_path, "a.md", "b.md", "deep/c.md", "deep/er/d.md", "deep/x.txt")

    sent = planned(kb, f"{tmp_path}/{pattern}")

    assert sent == [f"{tmp_path}/{name}" for name in names]


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(kb: Kb, tmp_path: Path) -> None:
    write(tmp_path, "[1].txt", "1.txt")

    assert planned(kb, f"{tmp_path}/[1].txt") == [f"{tmp_path}/[1].txt"]


def test_files_are_taken_in_the_order_of_the_paths_and_each_only_once(kb: Kb, tmp_path: Path) -> None:
    write(tmp_path, "b.txt", "a.txt")
    (tmp_path / "link.txt").symlink_to("a.txt")

    named = [str(tmp_path / name) for name in ("b.txt", "link.txt")]
    sent = planned(kb, *named, str(tmp_path), f"{tmp_path}/../{tmp_path.name}/a.txt")

    assert sent == named


def test_a_plan_lists_what_is_sent_and_what_not_and_asks_no_engine(kb: Kb, tmp_path: Path) -> None:
    write(tmp_path, "a.txt", ".hidden.txt")
    (tmp_path / "empty.txt").touch()

    told = kb("add", str(tmp_path), "--dry-run", KB_ENGINE_URL=NOWHERE)
    told_more = kb("add", str(tmp_path), "--dry-run", "-v", KB_ENGINE_URL=NOWHERE)

    assert (told.exit_code, told.stdout) == (0, f"{tmp_path}/a.txt\n")
    assert "1 file (" in told.stderr
    assert "1 hidden, 1 empty" in told.stderr
    assert f"{tmp_path}/empty.txt: skipped, empty." in told_more.stderr.splitlines()


def test_what_a_folder_leaves_out_can_be_named_beside_it(kb: Kb, tmp_path: Path) -> None:
    write(tmp_path, ".hidden.txt")

    result = kb("add", str(tmp_path), str(tmp_path / ".hidden.txt"), "--dry-run", KB_ENGINE_URL=NOWHERE)

    assert result.stdout == f"{tmp_path}/.hidden.txt\n"
    assert "kipped" not in result.stderr


def test_every_path_that_leads_nowhere_is_told_and_nothing_is_sent(kb: Kb, tmp_path: Path) -> None:
    """C3"""
    write(tmp_path, "there.txt")
    os.mkfifo(tmp_path / "pipe")
    missing = [str(tmp_path / name) for name in ("gone.txt", "*.pdf", "pipe", "x" * 300)]

    result = kb("add", str(tmp_path / "there.txt"), *missing, KB_ENGINE_URL=NOWHERE)

    assert (result.exit_code, result.stdout) == (3, "")
    assert all(path in result.stderr for path in missing)
    assert "there.txt" not in result.stderr


@pytest.mark.parametrize("is_linked", [True, False])
def test_a_file_is_known_by_its_real_path_also_below_a_linked_folder(
    kb: Kb, tmp_path: Path, *, is_linked: bool
) -> None:
    write(tmp_path / "real", "deep/cormorant.txt")
    (tmp_path / "linked").symlink_to("real")
    folder = tmp_path / ("linked" if is_linked else "real")

    by_folder = json.loads(kb("add", str(folder), "--json").stdout)
    by_name = json.loads(kb("add", str(folder / "deep" / "cormorant.txt"), "--json").stdout)

    document = json.loads(kb("get", str(by_folder["document_id"]), "--json").stdout)
    assert document["source_path"] == str(tmp_path / "real" / "deep" / "cormorant.txt")
    assert (by_name["document_id"], by_name["duplicate"]) == (document["id"], True)


def test_a_name_that_is_no_text_is_sent_as_well_as_can_be(kb: Kb, tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/gannet\xff.txt"
    Path(os.fsdecode(path)).write_text("The gannet dives from a great height.")

    result = kb("add", str(tmp_path))

    assert result.exit_code == 0
    assert "gannet\\xff.txt" in result.stdout


def test_a_name_cannot_move_the_cursor_or_make_lines_of_its_own(kb: Kb, tmp_path: Path) -> None:
    (tmp_path / "shag\x1b[2J\nDocument 1 added.txt").write_text("The shag has a crest in spring.")

    result = kb("add", str(tmp_path))

    assert len(result.stdout.splitlines()) == 1
    assert "\x1b" not in result.stdout


def test_a_file_that_cannot_be_read_is_told_and_the_others_are_added(
    kb: Kb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C3"""
    write(tmp_path, "dipper1.txt", "dipper2.txt", "dipper3.txt")
    broken, pread = os.stat(tmp_path / "dipper2.txt"), os.pread

    def read(descriptor: int, count: int, position: int) -> bytes:
        if os.path.samestat(os.fstat(descriptor), broken):
            raise OSError(errno.EIO, "Input/output error")
        return pread(descriptor, count, position)

    monkeypatch.setattr(os, "pread", read)
    result = kb("add", str(tmp_path))

    assert result.exit_code == 7
    assert f"{tmp_path}/dipper2.txt: It cannot be read: Input/output error." in result.stderr.splitlines()
    assert [line.rpartition(" (")[0][-11:] for line in result.stdout.splitlines()] == ["dipper1.txt", "dipper3.txt"]


def test_standard_input_given_twice_is_one_file(kb: Kb) -> None:
    result = kb("add", "-", "-", "--name", "twice.txt", "--json", stdin="Given twice, read once.")

    assert [json.loads(line)["filename"] for line in result.stdout.splitlines()] == ["twice.txt"]


@pytest.mark.parametrize("exchanged", ["sub", "sub/a.txt"])
def test_a_link_that_takes_the_place_of_a_found_file_is_not_followed(
    kb: Kb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchanged: str
) -> None:
    """I9: another user may be allowed to write to the folder."""
    top, closed = tmp_path / "top", tmp_path / "closed"
    write(top, "sub/a.txt", "sub/b.txt")
    write(closed, "a.txt", "sub/a.txt", "sub/b.txt")
    open_file = os.open

    def exchange_and_open(path: Path | str, *arguments: Any, **more: Any) -> int:  # Any: as os.open takes them
        if path == top and not (top / exchanged).is_symlink():
            (top / exchanged).rename(tmp_path / "aside")
            (top / exchanged).symlink_to(closed / exchanged)
        return open_file(path, *arguments, **more)

    monkeypatch.setattr(os, "open", exchange_and_open)
    added = kb("add", str(top))
    found = kb("search", "closed tells", "--json").stdout

    assert added.exit_code != 0
    assert "cannot be read" in added.stderr
    assert "closed tells" not in found
