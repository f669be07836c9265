"""SPEC M16: only files below the allowed folders are read, whatever path is given and whoever changes the disk."""

import os
import socket
import stat
import sys
import tempfile
import threading
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_core import to_json

from kb.mcp.errors import ToolError
from kb.mcp.file_roots import FileRoots

GOOD, SECRET = b"for everybody", b"for nobody"
NOBODY = 65534
CODES = {"path_not_allowed", "file_not_found", "file_not_readable"}

NAMES_LIKE_ANY = (
    *("two words.txt", " ", "line\nbreak\r\n.txt", "%2e%2e%2fclosed%2fa.txt", "&period;", "sub\\..\\a.txt", "file:"),
    *("$HOME", "-rf", "*?[a]", "\x1b[31m", "\u202egnp.exe", "💾"),
    *(unicodedata.normalize(form, "Übung.txt") for form in ("NFC", "NFD")),
)
OUTSIDE = """
../closed/{} ./../closed/{} sub/../../closed/{} missing/../../closed/{} a.txt/../../closed/{} ../open/../closed/{}
../closed/sub/../{} ../closed/{}/. ../open-too/{} {top}/closed/{} /{top}/closed/{} /../../..{top}/closed/{}
//{top}/open/..//closed/{} {top}/closed/sub/../../open/../closed/{}
""".split()
HIDDEN = """
.hidden/a.txt .hidden/none .hidden .none/a.txt .none ... sub/..a sub/.a/../a.txt .hidden/../a.txt ./.hidden/a.txt
a.txt/.a link/.a link/a.txt
""".split()
OF_SYSTEM = """
/dev/zero /dev/stdin /dev/fd/0 /dev/none /DEV/zero //dev/zero /./dev/../dev//zero /none/../../dev/zero
/proc/self/environ /proc/self/fd/0 /proc/self/cwd/pyproject.toml /proc/none /proc /sys/kernel /sys/none
""".split()
TARGETS = {
    "": "a.txt {top}/open/sub/a.txt sub/../sub/../a.txt chain ../inward/a.txt",
    "file_not_found": "missing sub/missing a.txt/a.txt",
    "file_not_readable": "sub .",
    "path_not_allowed": """
        link circle .. ../closed/a.txt ../closed/missing outward/a.txt outward/missing .hidden/a.txt .hidden/missing
        /dev/zero /proc/self/environ /proc/self/root{top}/closed/a.txt
    """,
}


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """Holds `open`, which is a root in most tests, and `closed`, which never is."""
    for folder, content in (("open/sub", GOOD), ("open/.hidden", SECRET), ("closed/sub", SECRET)):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "a.txt").write_bytes(content)
    (tmp_path / "open/a.txt").write_bytes(GOOD)
    (tmp_path / "closed/a.txt").write_bytes(SECRET)
    return tmp_path


@pytest.fixture
def root(top: Path) -> Path:
    return top / "open"


def read(path: Path | str, *roots: Path) -> bytes:
    with FileRoots(roots).open_file(str(path)) as opened:
        content = opened.content.read()
        assert opened.size_bytes == len(content)
    return content


def refuse(path: Path | str, *roots: Path) -> ToolError:
    """The error, after a look at what it says."""
    with pytest.raises(ToolError) as caught, FileRoots(roots).open_file(str(path)):
        pass
    assert caught.value.code in CODES
    assert set(caught.value.details) == {"file_path"}
    assert len(to_json(caught.value.as_answer())) < 10_000
    return caught.value


def test_what_is_opened_is_told_with_its_real_place_and_its_size(root: Path) -> None:
    (root / "link.txt").symlink_to("sub/a.txt")

    with FileRoots((root,)).open_file(str(root / "link.txt")) as opened:
        assert opened.path == root.resolve() / "sub/a.txt"
        assert opened.size_bytes == len(GOOD)
        assert opened.content.read() == GOOD

    assert opened.content.closed


def test_a_path_may_begin_at_the_home_or_at_the_working_directory(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """M16"""
    monkeypatch.setenv("HOME", str(root))
    monkeypatch.chdir(root / "sub")

    assert read("~/a.txt", root) == read("~//a.txt", root) == GOOD
    assert read("a.txt", root) == read("./a.txt", root) == read("../a.txt", root) == GOOD
    assert refuse("~", root).code == "file_not_readable"


def test_a_tilde_is_the_home_only_when_it_stands_alone_in_front(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "~").mkdir()
    for path in ("~/b.txt", "~root"):
        (root / path).write_bytes(GOOD)
    monkeypatch.setenv("HOME", str(root / "sub"))
    monkeypatch.chdir(root)

    assert read("./~/b.txt", root) == read(root / "~/b.txt", root) == read("~root", root) == GOOD
    assert refuse("~/b.txt", root).code == "file_not_found"


@pytest.mark.parametrize("name", NAMES_LIKE_ANY)
def test_a_name_is_taken_as_it_is(root: Path, name: str) -> None:
    (root / name).write_bytes(GOOD)

    assert read(root / name, root) == GOOD


@pytest.mark.parametrize("name", ["", "\0", "a\0.txt", "\ud800", "sub/\udcff.txt", "~/\udfff"])
def test_what_can_be_no_path_is_not_found(root: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)

    assert refuse(name, root).code == "file_not_found"


@pytest.mark.parametrize("length", [300, 4_000, 5_000, 10_000_000])
def test_a_path_that_is_too_long_is_not_found(root: Path, length: int) -> None:
    for path in (
        f"{root}/{'x' * length}",
        f"{root}/{'x/' * (length // 2)}x",
        f"{root}/{'../' * (length // 3)}{root}/x",
    ):
        error = refuse(path, root)

        assert error.code == "file_not_found"
        assert len(str(error.details["file_path"])) < 600


@pytest.mark.skipif(sys.platform == "darwin", reason="There all names are Unicode.")
def test_a_file_whose_name_no_answer_could_hold_is_not_read(root: Path) -> None:
    undecodable = os.fsencode(root) + b"/sub/\xff.txt"
    os.close(os.open(undecodable, os.O_CREAT | os.O_WRONLY))
    os.symlink(undecodable, root / "link.txt")

    assert refuse(root / "link.txt", root).code == "file_not_readable"


@pytest.mark.parametrize("path", OUTSIDE)
def test_what_lies_outside_is_refused_in_the_same_words_whether_it_exists_or_not(
    top: Path, root: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """M16"""
    (top / "open-too").mkdir()
    (top / "open-too/a.txt").write_bytes(SECRET)
    monkeypatch.chdir(root)

    errors = [refuse(path.format(name, top=top), root) for name in ("a.txt", "sub", "none", "none/none", "sub/a.txt")]

    assert {error.code for error in errors} == {"path_not_allowed"}
    assert len({error.message for error in errors}) == 1
    assert f"'{root.resolve()}'" in errors[0].message
    assert "KB_MCP_FILE_ROOTS" in errors[0].message
    assert errors[0].details["file_path"] == path.format("a.txt", top=top)


def test_a_part_is_taken_back_by_dots_even_if_it_is_a_link_or_missing(top: Path, root: Path) -> None:
    (root / "link").symlink_to(top / "closed/sub")
    (top / "closed/link").symlink_to("/usr/bin")

    for path in ("link/../a.txt", "missing/../a.txt", "a.txt/../a.txt", "../closed/link/../../open/a.txt"):
        assert read(root / path, root) == GOOD


def test_a_folder_counts_from_when_it_exists_and_for_where_it_is_at_that_moment(top: Path, root: Path) -> None:
    """M16"""
    files = FileRoots((top / "later", top / "closed/a.txt"))
    with pytest.raises(ToolError, match="no folder"), files.open_file(str(root / "a.txt")):
        pass
    (top / "later").symlink_to("open/sub")

    with files.open_file(str(root / "sub/a.txt")) as by_its_place, files.open_file(f"{top}/later/a.txt") as by_its_name:
        assert by_its_place.path == by_its_name.path
    (top / "later").unlink()

    with pytest.raises(ToolError, match="no folder"), files.open_file(str(root / "sub/a.txt")):
        pass


@pytest.mark.parametrize(("target", "code"), [(target, code) for code in TARGETS for target in TARGETS[code].split()])
def test_a_link_counts_as_what_it_leads_to(top: Path, root: Path, target: str, code: str) -> None:
    """M16"""
    (top / "inward").symlink_to("open/sub")
    (root / "chain").symlink_to("chain2")
    (root / "chain2").symlink_to("sub/chain3")
    (root / "sub/chain3").symlink_to("../a.txt")
    (root / "circle").symlink_to("sub/circle2")
    (root / "sub/circle2").symlink_to(root / "circle")
    (root / "outward").symlink_to("../closed")
    (root / "link").symlink_to(target.format(top=top))

    if code:
        assert refuse(root / "link", root).code == code
    else:
        assert read(root / "link", root) == GOOD


def test_links_that_lead_outside_and_back_in_are_fine(top: Path, root: Path) -> None:
    (root / "out").symlink_to("../closed")
    (top / "closed/in").symlink_to("../open/sub")

    assert read(root / "out/in/a.txt", root) == read(top / "closed/in/a.txt", root) == GOOD
    assert refuse(root / "out/in/missing.txt", root).code == "file_not_found"


def test_a_very_long_chain_of_links_does_no_harm(root: Path) -> None:
    (root / "0").symlink_to("a.txt")
    for number in range(1, 3_000):
        (root / str(number)).symlink_to(str(number - 1))

    with suppress(ToolError):
        assert read(root / "2999", root) == GOOD


@pytest.mark.parametrize("path", HIDDEN)
def test_hidden_parts_are_refused_in_the_same_words_whether_they_exist_or_not(root: Path, path: str) -> None:
    """M16"""
    (root / "link").symlink_to(".hidden")

    error = refuse(f"{root}/{path}", root)

    assert error.code == "path_not_allowed"
    assert error.message == refuse("/none", root).message


def test_a_relative_path_does_not_hide_that_the_working_directory_is_hidden(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(root / ".hidden"))
    monkeypatch.chdir(root / ".hidden")

    assert refuse("a.txt", root).code == refuse("~/a.txt", root).code == "path_not_allowed"
    assert read("../a.txt", root) == GOOD


def test_a_root_may_be_hidden_and_shows_nothing_else_that_is(root: Path) -> None:
    """M16"""
    hidden = root / ".hidden"
    (hidden / "kb/.deep").mkdir(parents=True)
    (hidden / "kb/b.txt").write_bytes(GOOD)
    (hidden / "kb/.deep/b.txt").write_bytes(SECRET)
    (root / "docs").symlink_to(".hidden/kb")

    assert read(hidden / "kb/b.txt", root, hidden / "kb") == GOOD
    assert read(root / "docs/b.txt", root, hidden / "kb") == GOOD
    assert read(root / "docs/b.txt", root / "docs") == read(hidden / "kb/b.txt", root / "docs") == GOOD
    for path in (hidden / "a.txt", hidden / "kb/.deep/b.txt", root / "docs/.deep/b.txt", hidden):
        assert refuse(path, root, hidden / "kb").code == "path_not_allowed"


@pytest.mark.parametrize("path", OF_SYSTEM)
def test_the_systems_own_folders_are_never_read(root: Path, path: str) -> None:
    """M16"""
    for roots in ((root,), (Path("/"),), (Path("/dev"), Path("/proc/self"), Path("/sys/kernel"))):
        assert refuse(path, *roots).code == "path_not_allowed"


def test_the_whole_disk_may_be_a_root(root: Path) -> None:
    assert read(root / "a.txt", Path("/")) == GOOD
    assert refuse(root / ".hidden/a.txt", Path("/")).code == "path_not_allowed"
    assert refuse("/", Path("/")).code == "file_not_readable"


@contextmanager
def socket_at(path: Path) -> Iterator[None]:
    # Such an address is short, and the paths of tests are long.
    with tempfile.TemporaryDirectory() as short, socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{short}/s")
        os.replace(f"{short}/s", path)
        yield


def test_what_is_no_file_is_named_at_once_and_not_waited_for(root: Path) -> None:
    """M16"""
    os.mkfifo(root / "pipe")

    with socket_at(root / "socket"):
        errors = {name: refuse(root / name, root) for name in ("pipe", "socket", "sub", "")}

    assert {error.code for error in errors.values()} == {"file_not_readable"}
    assert "a pipe" in errors["pipe"].message
    assert "a socket" in errors["socket"].message
    assert "a folder" in errors["sub"].message
    assert errors["sub"].message == errors[""].message
    assert refuse(root / "pipe/a.txt", root).code == "file_not_found"


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
    """M16"""
    with without_privileges() as folder:
        for name in ("file", "sub/file"):
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(SECRET)
        (folder / "file").chmod(0)
        (folder / "sub").chmod(0)

        errors = [refuse(folder / name, folder) for name in ("file", "sub/file", "sub/none", "sub/none/none")]
        (folder / "file").chmod(stat.S_IRUSR)

        assert read(folder / "file", folder, folder / "sub/none") == SECRET
    assert {error.code for error in errors} == {"file_not_readable"}
    assert {"permission" in error.message for error in errors} == {True}


@pytest.mark.skipif(
    not hasattr(os, "O_PATH"), reason="Folders are listed to pass through them where there is no O_PATH."
)
def test_a_folder_that_cannot_be_listed_can_be_passed_through() -> None:
    with without_privileges() as folder:
        (folder / "sub").mkdir()
        (folder / "sub/a.txt").write_bytes(GOOD)
        for passed in (folder / "sub", folder):
            passed.chmod(stat.S_IXUSR)

        assert read(folder / "sub/a.txt", folder) == GOOD


def test_refusals_leave_no_descriptor_open(root: Path) -> None:
    os.mkfifo(root / "pipe")
    (root / "circle").symlink_to("circle")
    before = len(os.listdir("/dev/fd"))

    for name in ("a.txt", "sub/a.txt"):
        read(root / name, root)
    for name in ("sub/none", "sub/none/none", "a.txt/a", "pipe", "sub", "circle", "circle/a.txt", ".hidden/a.txt"):
        refuse(root / name, root)

    assert len(os.listdir("/dev/fd")) == before


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


@pytest.mark.parametrize("exchange", [exchange_file_for_link, exchange_folder_for_link, exchange_root_for_link])
def test_what_becomes_a_link_after_it_was_checked_is_refused(
    root: Path, monkeypatch: pytest.MonkeyPatch, exchange: Exchange
) -> None:
    """M16"""
    resolve = os.path.realpath

    def resolve_and_exchange(path: str) -> str:
        resolved = resolve(path)
        if resolved.endswith("a.txt"):
            exchange(root)
        return resolved

    monkeypatch.setattr(os.path, "realpath", resolve_and_exchange)

    assert refuse(root / "sub/a.txt", root).code == "path_not_allowed"


@pytest.mark.parametrize(
    ("exchange", "code"),
    [(exchange_file_for_link, "path_not_allowed"), (exchange_file_for_pipe, "file_not_readable")],
)
def test_what_is_exchanged_after_it_was_looked_at_is_refused(
    root: Path, monkeypatch: pytest.MonkeyPatch, exchange: Exchange, code: str
) -> None:
    """M16"""
    look = os.stat

    def look_and_exchange(
        path: str | int, *, dir_fd: int | None = None, follow_symlinks: bool = True
    ) -> os.stat_result:
        found = look(path, dir_fd=dir_fd, follow_symlinks=follow_symlinks)
        if dir_fd is not None:
            exchange(root)
        return found

    before = len(os.listdir("/dev/fd"))
    with monkeypatch.context() as patched:
        patched.setattr(os, "stat", look_and_exchange)
        error = refuse(root / "sub/a.txt", root)

    assert error.code == code
    assert len(os.listdir("/dev/fd")) == before


def put_back(root: Path) -> None:
    if (root / "aside").exists():
        (root / "sub").unlink()
        os.rename(root / "aside", root / "sub")
    else:
        os.link(root / "a.txt", root / "new")
        os.replace(root / "new", root / "sub/a.txt")


@pytest.mark.parametrize("exchange", [exchange_file_for_link, exchange_file_for_pipe, exchange_folder_for_link])
def test_whoever_swaps_the_path_all_the_while_never_gets_another_file_read(root: Path, exchange: Exchange) -> None:
    """M16"""
    is_over = threading.Event()
    seen: set[bytes | str] = set()

    def keep_swapping() -> None:
        while not is_over.is_set():
            exchange(root)
            put_back(root)

    swapping = threading.Thread(target=keep_swapping)
    swapping.start()
    try:
        for _ in range(4_000):
            try:
                seen.add(read(root / "sub/a.txt", root))
            except ToolError as error:
                seen.add(error.code)
    finally:
        is_over.set()
        swapping.join()

    assert GOOD in seen
    assert seen <= {GOOD, *CODES}
    assert len(seen) > 1


NAMES = st.sampled_from(["a", "b", ".h"])
PLACES = st.tuples(st.sampled_from(["open", "closed"]), st.lists(NAMES, min_size=1, max_size=3)).map(
    lambda place: "/".join([place[0], *place[1]])
)
WAYS = st.lists(st.one_of(NAMES, st.sampled_from(["..", "open", "closed"])), min_size=1, max_size=5).map("/".join)


def build(top: Path, files: set[str], links: dict[str, str]) -> set[tuple[int, int]]:
    """What may be read below `open`, as device and number. Links come last, so nothing is written through them."""
    (top / "open").mkdir()
    for place in (*files, *links):
        with suppress(OSError):
            (top / place).parent.mkdir(parents=True, exist_ok=True)
    for place in files:
        with suppress(OSError):
            (top / place).touch()
    for place, target in links.items():
        with suppress(OSError):
            (top / place).symlink_to(target.format(top=top))
    return {
        (found.st_dev, found.st_ino)
        for folder, _, names in os.walk(top / "open")
        for path in (Path(folder, name) for name in names)
        if "/." not in str(path.relative_to(top)) and stat.S_ISREG((found := path.lstat()).st_mode)
    }


@settings(max_examples=200, deadline=None)
@given(
    files=st.sets(PLACES, max_size=6),
    links=st.dictionaries(PLACES, st.one_of(WAYS, WAYS.map("{{top}}/{}".format)), max_size=5),
    path=st.one_of(PLACES, PLACES, WAYS, WAYS.map("open/{}".format)),
)
def test_in_any_tree_just_the_files_that_really_lie_below_a_root_and_are_not_hidden_are_opened(
    files: set[str], links: dict[str, str], path: str
) -> None:
    """M16"""
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder).resolve()
        allowed = build(top, files, links)
        opened: tuple[int, int] | None = None

        with suppress(ToolError), FileRoots((top / "open",)).open_file(f"{top}/{path}") as file:
            found = os.fstat(file.content.fileno())
            opened = (found.st_dev, found.st_ino)
            assert opened == (file.path.lstat().st_dev, file.path.lstat().st_ino)

        assert opened is None or opened in allowed
        if ".." not in path:
            assert opened == look_up(top / path, allowed)


def look_up(path: Path, allowed: set[tuple[int, int]]) -> tuple[int, int] | None:
    """What the system itself finds there, if it may be read."""
    try:
        found = path.stat()
    except OSError:
        return None
    is_shown = (found.st_dev, found.st_ino) in allowed and ".h" not in path.parts
    return (found.st_dev, found.st_ino) if is_shown else None


@settings(deadline=None)
@given(path=st.text(st.characters(exclude_categories=())), start=st.sampled_from(["", "~/", "/", "./", "{root}/"]))
def test_any_text_is_answered_with_an_error_of_ours(path: str, start: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        refuse(start.replace("{root}", folder) + path, Path(folder))
