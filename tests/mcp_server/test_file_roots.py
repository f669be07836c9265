"""M16: only files below the allowed folders are read, whatever path is given."""

import os
import socket
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.mcp_server.file_root import CODES, GOOD, SECRET, read, refuse
from tests.mcp_server.file_root import root as root

from kb.mcp.errors import ToolError
from kb.mcp.file_roots import FileRoots

NOBODY = 65534

# What becomes of a path that begins in `open`, separated by spaces.
PATHS = {
    "": """
        a.txt ./a.txt sub//a.txt sub/../a.txt sub/../../open/a.txt none/../a.txt a.txt/../a.txt out/../a.txt
        ../closed/elsewhere/../../open/a.txt chain out/in/a.txt ../closed/in/a.txt {top}/open/a.txt //{top}/open/a.txt
    """,
    "file_not_found": "none none/none sub/none a.txt/none pipe/none dangling dangling/none out/in/none",
    "file_not_readable": "sub . sub/.. out/in pipe",
    "path_not_allowed": """
        .. ../closed ../closed/a.txt ../closed/none ../closed/none/none ./../closed/a.txt ./../closed/none
        sub/../../closed/a.txt sub/../../closed/none none/../../closed/a.txt none/../../closed/none ../open-too/a.txt
        a.txt/../../closed/a.txt ../open/../closed/a.txt ../closed/sub/../a.txt ../closed/elsewhere ../closed/a.txt/.
        {top}/closed/a.txt {top}/closed/none //{top}/closed/a.txt /../..{top}/closed/a.txt //{top}/open/..//closed/a.txt
        out out/a.txt out/none out-file out-dangling out-by-proc environ zero
        .hidden .hidden/a.txt .hidden/none .none .none/a.txt ... sub/..a sub/.a/../a.txt .hidden/../a.txt a.txt/.a
        out/.a shown shown/a.txt shown/none shown-file shown-dangling
    """,
    "never": """
        /dev/zero /dev/stdin /dev/fd/0 /dev/none /DEV/zero //dev/zero /./dev/../dev//zero /none/../../dev/zero
        /proc/self/environ /proc/self/fd/0 /proc/self/cwd/pyproject.toml /proc/none /proc /sys/kernel /sys/none
    """,
}


def test_what_is_opened_is_told_with_its_real_place_and_closed_at_the_end(root: Path) -> None:
    with FileRoots((root,)).open_file("chain") as opened:
        assert opened.path == root.resolve() / "a.txt"

    assert opened.content.closed


def test_a_tilde_is_the_home_when_it_stands_alone_in_front(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "~").mkdir()
    for path in ("~/b.txt", "~root"):
        (root / path).write_bytes(GOOD)
    monkeypatch.setenv("HOME", str(root / "sub"))

    assert read("~/a.txt", root) == read("~//a.txt", root) == read("~/../a.txt", root) == GOOD
    assert read("./~/b.txt", root) == read(root / "~/b.txt", root) == read("~root", root) == GOOD
    assert [refuse(path, root).code for path in ("~", "~/b.txt")] == ["file_not_readable", "file_not_found"]


def test_a_name_is_taken_as_it_is(root: Path) -> None:
    for name in (
        *("two words", " ", "line\nbreak\r\n", "%2e%2e%2fa.txt", "&period;", "sub\\..\\a", "file:", "$HOME"),
        *("-rf", "*?", "\x1b[31m", "\u202egnp.exe", "💾", "\u00dc", "U\u0308"),
    ):
        (root / name).write_bytes(GOOD)

        assert read(name, root) == GOOD


def test_what_can_be_no_path_is_not_found(root: Path) -> None:
    impossible = ["", "\0", "a\0.txt", "\ud800", "sub/\udcff.txt", "~/\udfff"]
    too_long = [f"{part * length}x" for part in ("x", "x/", "sub/../") for length in (300, 4_000, 5_000, 1_000_000)]

    errors = [refuse(path, root) for path in (*impossible, *too_long)]

    assert {error.code for error in errors} == {"file_not_found"}
    assert max(len(str(error.details["file_path"])) for error in errors) < 600


@pytest.mark.skipif(sys.platform == "darwin", reason="There all names are Unicode.")
def test_a_file_whose_name_no_answer_could_hold_is_not_read(root: Path) -> None:
    undecodable = os.fsencode(root) + b"/sub/\xff.txt"
    os.close(os.open(undecodable, os.O_CREAT | os.O_WRONLY))
    os.symlink(undecodable, root / "link.txt")

    assert refuse(root / "link.txt", root).code == "file_not_readable"


@pytest.mark.parametrize(("path", "code"), [(path, code) for code in ("", *CODES) for path in PATHS[code].split()])
def test_a_path_counts_as_what_it_leads_to(root: Path, path: str, code: str) -> None:
    relative = path.format(top=root.parent)

    for told in (relative, os.path.join(root, relative)):
        assert refuse(told, root).code == code if code else read(told, root) == GOOD


def test_what_is_outside_or_hidden_is_refused_in_the_same_words_whether_it_exists_or_not(root: Path) -> None:
    errors = [refuse(path.format(top=root.parent), root) for path in PATHS["path_not_allowed"].split()]

    assert len({error.message for error in errors}) == 1
    assert f"'{root.resolve()}'" in errors[0].message
    assert "KB_MCP_FILE_ROOTS" in errors[0].message
    assert errors[1].details["file_path"] == "../closed"


def test_links_that_lead_in_a_circle_are_refused(root: Path) -> None:
    for path in ("circle", "sub/circle", "circle/a.txt"):
        assert "circle" in refuse(path, root).message


def test_very_many_links_lead_to_the_file_or_are_refused(root: Path) -> None:
    (root / "0").symlink_to("a.txt")
    for number in range(1, 3_000):
        (root / str(number)).symlink_to(str(number - 1))

    # Not every Python goes such a long way.
    try:
        outcome: bytes | str = read("2999", root)
    except ToolError as error:
        outcome = error.code

    assert outcome in (GOOD, "path_not_allowed")
    assert read("30", root) == GOOD


def test_a_folder_counts_from_when_it_exists_and_for_where_it_is_at_that_moment(root: Path) -> None:
    top = root.parent
    files = FileRoots((top / "later", top / "closed/a.txt"))
    with pytest.raises(ToolError, match="no folder"), files.open_file(str(root / "a.txt")):
        pass
    (top / "later").symlink_to("open/sub")

    with files.open_file(str(root / "sub/a.txt")) as by_its_place, files.open_file(f"{top}/later/a.txt") as by_its_name:
        assert by_its_place.path == by_its_name.path
    (top / "later").unlink()

    with pytest.raises(ToolError, match="no folder"), files.open_file(str(root / "sub/a.txt")):
        pass


def test_a_hidden_working_directory_is_hidden(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(root / ".hidden"))
    monkeypatch.chdir(root / ".hidden")

    assert refuse("a.txt", root).code == refuse("~/a.txt", root).code == "path_not_allowed"
    assert read("../a.txt", root) == GOOD


def test_a_root_may_be_hidden_and_shows_nothing_else_that_is(root: Path) -> None:
    hidden = root / ".hidden"
    (hidden / "kb/.deep").mkdir(parents=True)
    (hidden / "kb/b.txt").write_bytes(GOOD)
    (hidden / "kb/.deep/b.txt").write_bytes(SECRET)
    (root / "docs").symlink_to(".hidden/kb")
    (root / ".sub").symlink_to("sub")

    assert read(hidden / "kb/b.txt", root, hidden / "kb") == read("docs/b.txt", root, hidden / "kb") == GOOD
    assert read(root / "docs/b.txt", root / "docs") == read(hidden / "kb/b.txt", root / "docs") == GOOD
    assert read(root / ".sub/a.txt", root / ".sub") == GOOD
    for path in (hidden / "a.txt", hidden / "kb/.deep/b.txt", root / "docs/.deep/b.txt", hidden):
        assert refuse(path, root, hidden / "kb").code == "path_not_allowed"


@pytest.mark.parametrize("path", PATHS["never"].split())
def test_the_systems_own_folders_are_never_read(root: Path, path: str) -> None:
    for roots in ((root,), (Path("/"),), (Path("/dev"), Path("/proc/self"), Path("/sys/kernel"))):
        assert refuse(path, *roots).code == "path_not_allowed"
    assert {refuse(link, Path("/")).code for link in ("zero", "environ")} == {"path_not_allowed"}
    assert read("a.txt", Path("/")) == GOOD


def test_what_is_no_file_is_named_at_once_and_not_waited_for(root: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        errors = {name: refuse(root / name, root) for name in ("pipe", "socket", "sub", "")}

    assert {error.code for error in errors.values()} == {"file_not_readable"}
    assert all(f"a {name}" in errors[name].message for name in ("pipe", "socket"))
    assert "a folder" in errors["sub"].message == errors[""].message


@pytest.mark.parametrize(
    ("path", "is_read"),
    [
        ("a.txt", True),
        ("key", False),
        ("other-name", False),
        ("link", False),
        ("sub/../key", False),
        ("data", False),
        ("data/kb.sqlite", False),
        ("data/originals/ab", False),
        ("data/none", False),
        ("shown.sqlite", False),
        ("data-too/a.txt", True),
    ],
)
def test_own_files_of_kb_are_not_read_by_any_name(root: Path, path: str, is_read: bool) -> None:  # noqa: FBT001
    """M27"""
    private = (root / "key", root / "data", root / "none")
    (root / "data/originals").mkdir(parents=True)
    (root / "data-too").mkdir()
    for name in ("key", "data/kb.sqlite", "data/originals/ab"):
        (root / name).write_bytes(SECRET)
    (root / "data-too/a.txt").write_bytes(GOOD)
    os.link(root / "key", root / "other-name")
    os.link(root / "data/kb.sqlite", root / "shown.sqlite")
    (root / "link").symlink_to("key")
    files = FileRoots((root,), private)

    if is_read:
        with files.open_file(path) as opened:
            assert opened.content.read() == GOOD
    else:
        with pytest.raises(ToolError) as caught, files.open_file(path):
            pass
        assert caught.value.message == refuse("../closed/a.txt", root).message
        assert (caught.value.code, caught.value.details) == ("path_not_allowed", {"file_path": path})


@contextmanager
def without_privileges() -> Iterator[Path]:
    """A folder of a user whom permissions bind, and for the time being we are that user."""
    with tempfile.TemporaryDirectory() as folder:
        is_superuser = os.geteuid() == 0
        if is_superuser:
            os.chown(folder, NOBODY, NOBODY)
            os.seteuid(NOBODY)
        try:
            yield Path(folder)
        finally:
            if is_superuser:
                os.seteuid(0)


def test_without_permission_a_file_is_not_readable() -> None:
    with without_privileges() as folder:
        (folder / "a.txt").write_bytes(GOOD)
        (folder / "a.txt").chmod(0)
        (folder / "sub").mkdir(mode=0)

        errors = [refuse(folder / name, folder) for name in ("a.txt", "sub/a.txt", "sub/none/none")]
        (folder / "a.txt").chmod(stat.S_IRUSR)

        # A root that cannot be looked at is none, and the others remain.
        assert read(folder / "a.txt", folder / "sub/none", folder) == GOOD
    assert {(error.code, "permission" in error.message) for error in errors} == {("file_not_readable", True)}


@pytest.mark.skipif(not hasattr(os, "O_PATH"), reason="Elsewhere a folder must be listed to be passed through.")
def test_a_folder_that_cannot_be_listed_can_be_passed_through() -> None:
    with without_privileges() as folder:
        (folder / "sub").mkdir()
        (folder / "sub/a.txt").write_bytes(GOOD)
        (folder / "sub").chmod(stat.S_IXUSR)
        folder.chmod(stat.S_IXUSR)

        assert read(folder / "sub/a.txt", folder) == GOOD
