"""What is seen of a folder, what is remembered of it, and how two at work on one are kept apart."""

import inspect
import os
import sys
import time
from pathlib import Path

import pytest
from tests.cli.conftest import Kb
from tests.cli.terminal import OnTerminal
from tests.engine_program import EngineProgram, own_environment

from kb.cli.folders import mounting
from kb.cli.folders.mounting import find_mounted
from kb.cli.folders.scanning import FoundFile, Reason, SkippedFile, scan_folder
from kb.cli.syncing.memory import Memory, Refusal, hold, place_of_memory


def write(folder: Path, *names: str, text: str = "words") -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def seen(folder: Path) -> tuple[list[str], dict[str, str]]:
    """The files that are found, and why others are not."""
    found = list(scan_folder(folder))
    files = [str(one.path.relative_to(folder)) for one in found if isinstance(one, FoundFile)]
    return files, {str(one.path.relative_to(folder)): one.reason for one in found if isinstance(one, SkippedFile)}


def test_files_come_in_the_order_of_names_and_those_in_folders_after_them(tmp_path: Path) -> None:
    write(tmp_path, "b/z.txt", "b/a/x.txt", "c.txt", "a/y.txt")

    assert seen(tmp_path) == (["c.txt", "a/y.txt", "b/z.txt", "b/a/x.txt"], {})


def test_rules_of_every_folder_count_and_those_for_kb_more_than_those_for_git(tmp_path: Path) -> None:
    write(tmp_path, "a.log", "sub/a.log", "sub/b.log", "sub/c.txt", "out/d.txt")
    write(tmp_path, ".gitignore", text="*.log\nout/\n")
    write(tmp_path, "sub/.gitignore", text="c.txt\n!b.log\n")
    write(tmp_path, ".kbignore", text="!c.txt\n!d.txt\n")
    write(tmp_path, "sub/.kbignore", text="b.log\n")

    files, skipped = seen(tmp_path)

    # A file in an ignored folder cannot be taken back: nobody looks there.
    assert files == ["sub/c.txt"]
    assert {path for path, reason in skipped.items() if reason == Reason.IGNORED} == {
        "a.log",
        "out",
        "sub/a.log",
        "sub/b.log",
    }


def test_rules_of_the_repository_count_in_a_folder_of_it_but_do_not_leave_out_the_folder_itself(
    tmp_path: Path,
) -> None:
    (tmp_path / "repository/.git").mkdir(parents=True)
    write(tmp_path, ".gitignore", text="*")
    write(tmp_path, "repository/.gitignore", text="build/\n/build/papers/draft.txt\n*.tmp\n")
    write(tmp_path, "repository/build/.gitignore", text="!wanted.tmp\n")
    write(tmp_path, *(f"repository/build/papers/{name}" for name in ("a.txt", "draft.txt", "x.tmp", "wanted.tmp")))

    files, _ = seen(tmp_path / "repository/build/papers")

    assert files == ["a.txt", "wanted.tmp"]


def test_links_lead_nowhere_and_a_pipe_with_rules_is_not_waited_for(tmp_path: Path) -> None:
    write(tmp_path, "real/a.txt")
    (tmp_path / "real/loop").symlink_to(tmp_path)
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / ".gitignore")

    files, skipped = seen(tmp_path)

    assert files == ["real/a.txt"]
    assert skipped == {".gitignore": "hidden", "dangling": "link", "real/loop": "link"}


def test_a_folder_may_be_deeper_than_the_interpreter_can_recurse(tmp_path: Path) -> None:
    write(tmp_path.joinpath(*["d"] * 200), "a.txt")
    limit = sys.getrecursionlimit()

    # Deeper folders would be deeper than what clears up behind the tests can recurse, too.
    sys.setrecursionlimit(len(inspect.stack()) + 100)
    try:
        found = list(scan_folder(tmp_path))
    finally:
        sys.setrecursionlimit(limit)

    assert len(found) == 1


def test_a_folder_whose_rules_cannot_be_read_is_not_looked_into(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "sub/.gitignore", "sub/secret.txt", "a.txt")
    # A folder in the place of the path cannot be read as a file by anybody.
    monkeypatch.setattr("builtins.open", lambda *_: os.fdopen(os.open(tmp_path, os.O_RDONLY), "rb"))

    assert seen(tmp_path) == (["a.txt"], {"sub": "cannot be read"})
    assert [one.detail for one in scan_folder(tmp_path) if isinstance(one, SkippedFile)] == [
        ".gitignore: Is a directory"
    ]


def test_what_vanishes_after_it_was_listed_is_told(tmp_path: Path) -> None:
    """It may have been moved to where the walk has been already."""
    write(tmp_path, "a/x.txt", "b.txt", "c.txt")
    walk = scan_folder(tmp_path)
    next(walk)

    (tmp_path / "a").rename(tmp_path / "d")
    (tmp_path / "c.txt").unlink()

    assert [*walk] == [
        SkippedFile(tmp_path / "c.txt", Reason.VANISHED),
        SkippedFile(tmp_path / "a", Reason.VANISHED),
    ]


def test_folders_on_which_something_is_mounted_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listing = tmp_path / "mounts"
    listing.write_bytes(
        b"22 1 8:1 / / rw - ext4 /dev/a rw\n"
        b"23 22 8:1 /home /home/my\\040disk rw - ext4 /dev/a rw\n"
        b"24 22 8:1 /x /mnt/\xff rw shared:1 - ext4 /dev/a rw\n"
    )

    monkeypatch.setattr(mounting, "LINUX_LIST", str(listing))
    assert find_mounted({"/home/my disk", r"/mnt/\xff", "/home"}) == {"/home/my disk", r"/mnt/\xff"}
    monkeypatch.setattr(mounting, "LINUX_LIST", str(tmp_path / "nothing"))
    assert find_mounted({"/", str(tmp_path)}) == {"/"}


def test_a_folder_that_is_exchanged_during_the_walk_is_not_believed(tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    write(folder, "a.txt", "b/c.txt")
    walk = scan_folder(folder)
    next(walk)

    folder.rename(tmp_path / "taken away")
    folder.mkdir()

    with pytest.raises(FileNotFoundError):
        list(walk)


def found_file(path: Path) -> FoundFile:
    return next(one for one in scan_folder(path.parent) if isinstance(one, FoundFile) and one.path == path)


def aged(path: Path, monkeypatch: pytest.MonkeyPatch) -> FoundFile:
    """The file, at a time when its last change lies a while back."""
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now + 10_000_000_000)
    return found_file(path)


def test_a_hash_is_remembered_until_the_file_looks_different(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a.txt")
    file = aged(tmp_path / "a.txt", monkeypatch)
    memory = Memory(tmp_path / "memory")
    memory.note_hash("/a", file, "sha256:1")
    memory.save({"/a"})

    # Another content of the same size, and the time set back as programs can; later by what the file system measures.
    while (changed := found_file(tmp_path / "a.txt")).changed_ns == file.changed_ns:
        write(tmp_path, "a.txt", text="swords"[1:])
        os.utime(tmp_path / "a.txt", ns=(file.modified_ns, file.modified_ns))

    remembered = Memory(tmp_path / "memory")
    assert remembered.find_hash("/a", file) == "sha256:1"
    assert remembered.find_hash("/a", changed) is None
    assert remembered.find_hash("/b", file) is None


def test_the_hash_of_a_file_that_has_just_changed_is_not_remembered(tmp_path: Path) -> None:
    """It may change again at what its file system takes for the same time."""
    write(tmp_path, "a.txt")
    memory = Memory(tmp_path / "memory")

    memory.note_hash("/a", found_file(tmp_path / "a.txt"), "sha256:1")

    assert memory.find_hash("/a", found_file(tmp_path / "a.txt")) is None


def test_what_was_refused_is_remembered_for_this_content_and_this_version_of_the_engine(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "memory")
    memory.use_version("3.0.0")
    memory.note_refusal("/a", Refusal("sha256:1", "unsupported", "No."))
    memory.note_refusal("/gone", Refusal("sha256:1", "unsupported", "No."))
    memory.save({"/a"})

    same, newer = Memory(tmp_path / "memory"), Memory(tmp_path / "memory")
    same.use_version("3.0.0")
    newer.use_version("3.1.0")

    assert same.find_refusal("/a", "sha256:1") == Refusal("sha256:1", "unsupported", "No.")
    assert same.find_refusal("/a", "sha256:2") is None
    assert same.find_refusal("/gone", "sha256:1") is None
    assert newer.find_refusal("/a", "sha256:1") is None


@pytest.mark.parametrize(
    "damaged",
    [b"", b"{", b"\xff", b"[]", b"null", b'{"version": "3"}', b'{"version": 1, "hashes": {"/a": [1]}}', b"[" * 100_000],
)
def test_a_damaged_memory_is_no_memory(tmp_path: Path, damaged: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a.txt")
    file = aged(tmp_path / "a.txt", monkeypatch)
    (tmp_path / "memory").write_bytes(damaged)

    memory = Memory(tmp_path / "memory")
    memory.note_hash("/a", file, "sha256:1")
    memory.save({"/a"})

    assert Memory(tmp_path / "memory").find_hash("/a", file) == "sha256:1"


def test_a_memory_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    write(tmp_path, "no folder")
    memory = Memory(tmp_path / "no folder" / "memory")
    memory.note_refusal("/a", Refusal("sha256:1", "unsupported", "No."))

    memory.save({"/a"})

    assert (tmp_path / "no folder").read_text(encoding="utf-8") == "words"


def test_c3_two_at_once_on_one_folder_are_refused(kb: Kb, running_engine: EngineProgram, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    write(folder, "a.txt", text="contested")
    place = place_of_memory(tmp_path / "kb", str(folder), running_engine.url)

    with hold(place):
        refused = kb("sync", str(folder), XDG_CACHE_HOME=str(tmp_path))
    done = kb("sync", str(folder), XDG_CACHE_HOME=str(tmp_path))

    assert (refused.exit_code, done.exit_code) == (4, 0)
    assert "Another `kb sync` is at work" in refused.stderr


def test_c5_on_a_terminal_the_user_sees_what_would_be_deleted_and_decides(
    running_engine: EngineProgram, tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    write(folder, "stays.txt", *(f"goes{number}.txt" for number in range(3)), text="a fleeting thing")
    settings = {"KB_ENGINE_URL": running_engine.url, "XDG_CACHE_HOME": str(tmp_path)}
    assert running_engine.run_kb("sync", str(folder), settings=settings).returncode == 0
    for number in range(3):
        (folder / f"goes{number}.txt").unlink()

    codes = []
    for answer in ("n", "\x03", "y"):
        with OnTerminal("sync", str(folder), environment=own_environment(tmp_path, settings)) as screen:
            screen.wait_for("3 documents whose files are gone. Delete them for good?")
            # Ctrl-C before it began to read would be noticed only when there is something to read.
            screen.type(f"{answer}\n")
            codes.append(screen.wait())
            assert "goes0.txt (document " in screen.output
            assert "Traceback" not in screen.output

    assert codes == [4, 130, 0]
    assert running_engine.run_kb("sync", str(folder), settings=settings).stderr.startswith("1 unchanged in ")
