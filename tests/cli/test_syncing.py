import json
import os
import time
import unicodedata
from pathlib import Path

import pytest
from tests.cli.conftest import Kb, Sync
from tests.cli.synced_folder import documents_of, get, ids, write
from tests.engine_program import EngineProgram

from kb.cli.syncing.looking import look_at
from kb.cli.syncing.memory import Memory, place_of_memory


def count_jobs(engine: EngineProgram) -> int:
    return int(get(engine, "jobs", limit=1)["total"])


def test_c1_a_second_run_sends_nothing(sync: Sync, folder: Path, running_engine: EngineProgram) -> None:
    write(folder, {f"{number % 5}/{number}.txt": f"Page {number} of the ledger" for number in range(100)})

    first = sync("--tag", "ledger")
    jobs = count_jobs(running_engine)
    second = sync()

    assert (first.exit_code, second.exit_code) == (0, 0)
    assert first.stderr.startswith("100 added in ")
    assert (second.stdout, count_jobs(running_engine)) == ("", jobs)
    assert second.stderr.startswith("100 unchanged in ")
    assert all(document["tags"] == ["ledger"] for document in documents_of(running_engine, folder).values())


def test_c1_what_is_new_changed_renamed_and_gone_is_followed(
    sync: Sync, folder: Path, running_engine: EngineProgram
) -> None:
    """E25: the same file twice is two documents, and stays two."""
    twins = {"one/twin.txt": "as like as two peas", "two/twin.txt": "as like as two peas"}
    write(folder, {"stays.txt": "lasting", "changes.txt": "before", "moves.txt": "on the road", "goes.txt": "adieu"})
    write(folder, twins)
    sync("--tag", "pea")
    before, jobs = documents_of(running_engine, folder), count_jobs(running_engine)

    write(folder, {"changes.txt": "after", "comes.txt": "bonjour"})
    (folder / "moves.txt").rename(folder / "one" / "moved.txt")
    (folder / "goes.txt").unlink()
    result = sync("--yes")

    assert result.exit_code == 0
    renamed, *sent, deleted = result.stdout.splitlines()
    assert (renamed, deleted) == ("> moves.txt -> one/moved.txt", "- goes.txt")
    assert {*sent} == {"+ comes.txt", "~ changes.txt"}
    assert result.stderr.startswith("1 added, 1 replaced, 1 renamed, 1 deleted, 3 unchanged in ")
    after = documents_of(running_engine, folder)
    assert ids(after) == {
        **{path: before[path]["id"] for path in ("stays.txt", "changes.txt", *twins)},
        "one/moved.txt": before["moves.txt"]["id"],
        "comes.txt": after["comes.txt"]["id"],
    }
    assert (after["one/moved.txt"]["tags"], after["one/moved.txt"]["filename"]) == (["pea"], "moved.txt")
    # Two were sent: what was renamed was not read anew.
    assert count_jobs(running_engine) == jobs + 2


def test_a_renamed_folder_and_a_change_of_case_keep_every_document(
    sync: Sync, folder: Path, running_engine: EngineProgram
) -> None:
    write(folder, {"old/a.txt": "twofold", "old/b/a.txt": "twofold", "Case.txt": "upper and lower"})
    sync()
    before, jobs = ids(documents_of(running_engine, folder)), count_jobs(running_engine)

    (folder / "old").rename(folder / "new")
    (folder / "Case.txt").rename(folder / "case.txt")
    result = sync()

    assert (result.exit_code, count_jobs(running_engine)) == (0, jobs)
    assert ids(documents_of(running_engine, folder)) == {
        "new/a.txt": before["old/a.txt"],
        "new/b/a.txt": before["old/b/a.txt"],
        "case.txt": before["Case.txt"],
    }


def test_files_that_swap_names_and_a_folder_in_the_place_of_a_file(
    sync: Sync, folder: Path, running_engine: EngineProgram
) -> None:
    write(folder, {"a.txt": "first of two", "b.txt": "second of two", "becomes": "a file, still"})
    sync()
    before = documents_of(running_engine, folder)

    (folder / "a.txt").rename(folder / "c")
    (folder / "b.txt").rename(folder / "a.txt")
    (folder / "c").rename(folder / "b.txt")
    (folder / "becomes").rename(folder / "c")
    (folder / "becomes").mkdir()
    (folder / "c").rename(folder / "becomes" / "inside.txt")
    result = sync()

    assert result.exit_code == 0
    after = documents_of(running_engine, folder)
    assert (after["a.txt"]["id"], after["a.txt"]["content_hash"]) == (
        before["a.txt"]["id"],
        before["b.txt"]["content_hash"],
    )
    assert after["b.txt"]["content_hash"] == before["a.txt"]["content_hash"]
    assert after["becomes/inside.txt"]["id"] == before["becomes"]["id"]
    assert "becomes" not in after


def test_names_of_any_kind_are_known_again(sync: Sync, folder: Path, running_engine: EngineProgram) -> None:
    composed = unicodedata.normalize("NFC", "é.txt")
    names = [composed, unicodedata.normalize("NFD", composed), "墨 水.txt", "line\nend.txt", "%2e\\x.txt", "-n"]
    write(folder, {name: f"Its name is {name!a}" for name in names})
    (folder / os.fsdecode(b"by\xfftes.txt")).write_text("Its name is no text", encoding="utf-8")

    first, second = sync(), sync()

    assert (first.exit_code, second.exit_code) == (0, 0)
    assert second.stderr.startswith("7 unchanged in ")
    assert documents_of(running_engine, folder).keys() == {*names, r"by\xfftes.txt"}
    # A name that would end the line, or the terminal's patience, does not.
    assert "+ line end.txt" in first.stdout.splitlines()


def test_of_two_names_that_become_the_same_text_one_is_sent(sync: Sync, folder: Path) -> None:
    write(folder, {r"by\xfftes.txt": "text"})
    (folder / os.fsdecode(b"by\xfftes.txt")).write_text("bytes", encoding="utf-8")

    results = [sync(), sync()]

    assert [result.stderr.split(" in ")[0] for result in results] == [
        "1 added, 1 skipped (its name cannot be told from another's: 1)",
        "1 unchanged, 1 skipped (its name cannot be told from another's: 1)",
    ]


def test_a_change_that_leaves_size_and_time_is_found(sync: Sync, folder: Path, running_engine: EngineProgram) -> None:
    write(folder, {"sly.txt": "black"})
    past = (1_000_000_000, 1_000_000_000)
    os.utime(folder / "sly.txt", past)
    sync()

    write(folder, {"sly.txt": "white"})
    os.utime(folder / "sly.txt", past)
    result = sync()

    assert result.stdout == "~ sly.txt\n"


def test_c5_without_a_terminal_nothing_is_deleted_and_all_else_is_done(
    sync: Sync, folder: Path, running_engine: EngineProgram
) -> None:
    write(folder, {"goes.txt": "farewell", "stays.txt": "hello"})
    sync()

    (folder / "goes.txt").unlink()
    write(folder, {"comes.txt": "welcome"})
    result = sync()

    assert result.exit_code == 4
    assert "Kept 1 document whose file is gone. Add --yes to delete it." in result.stderr
    assert documents_of(running_engine, folder).keys() == {"goes.txt", "stays.txt", "comes.txt"}


def test_what_is_skipped_is_counted_by_reason_and_listed_if_wanted(sync: Sync, folder: Path) -> None:
    write(folder, {"kept.txt": "seen", ".hidden": "unseen", "draft.tmp": "passing", "void.txt": "", "old.log": "lines"})
    write(folder, {".gitignore": "*.tmp\n*.log", ".kbignore": "!old.log"})
    (folder / "link.txt").symlink_to(folder / "kept.txt")
    (folder / "blob.bin").write_bytes(bytes(range(256)))
    os.mkfifo(folder / "pipe")
    (folder / "huge.txt").touch()
    # Without any content on disk.
    os.truncate(folder / "huge.txt", 1 << 40)

    quiet, verbose = sync(), sync("--verbose")

    assert {*quiet.stdout.splitlines()} == {"+ kept.txt", "+ old.log"}
    assert quiet.stderr.startswith(
        "2 added, 9 skipped (hidden: 3, ignored: 1, too large: 1, link: 1, no regular file: 1, empty: 1, "
        "unsupported: 1) in "
    )
    assert "Skipped draft.tmp: ignored" in verbose.stderr.splitlines()
    assert "Skipped blob.bin: unsupported: " in verbose.stderr


def test_c3_a_file_that_fails_is_told_and_not_sent_again_until_it_changes(
    sync: Sync, folder: Path, running_engine: EngineProgram
) -> None:
    write(folder, {"broken.pdf": "%PDF-1.4 and nothing more"})

    first = sync()
    jobs = count_jobs(running_engine)
    second, third = sync(), sync("--retry")

    assert (first.exit_code, second.exit_code, third.exit_code) == (7, 0, 7)
    assert first.stderr.startswith("broken.pdf: The file is damaged.")
    assert second.stderr.startswith("1 skipped (failed before: 1) in ")
    assert count_jobs(running_engine) == jobs + 1


def test_a_dry_run_shows_the_plan_and_does_nothing(sync: Sync, folder: Path, running_engine: EngineProgram) -> None:
    write(folder, {"changes.txt": "then", "moves.txt": "hither", "goes.txt": "bye"})
    sync()
    before = documents_of(running_engine, folder)

    write(folder, {"changes.txt": "now", "comes.txt": "hi"})
    (folder / "moves.txt").rename(folder / "moved.txt")
    (folder / "goes.txt").unlink()
    result = sync("--dry-run")

    assert result.exit_code == 0
    assert result.stdout.splitlines() == ["> moves.txt -> moved.txt", "+ comes.txt", "~ changes.txt", "- goes.txt"]
    assert result.stderr.splitlines() == [
        "1 to add, 1 to replace, 1 to rename, 1 to delete. Nothing was done.",
        "Whether a file can be read, only the engine can tell when it has it.",
    ]
    assert documents_of(running_engine, folder) == before


def test_c2_json_is_one_object_a_line_for_each_thing_done(
    sync: Sync, folder: Path, running_engine: EngineProgram
) -> None:
    write(folder, {"moves.txt": "to and fro", ".hidden": "unseen", "broken.pdf": "%PDF-1.4 only"})
    lines = [json.loads(line) for line in sync("--json").stdout.splitlines()]
    number = documents_of(running_engine, folder)["moves.txt"]["id"]

    (folder / "moves.txt").rename(folder / "moved.txt")
    (folder / "broken.pdf").unlink()
    moved = [json.loads(line) for line in sync("--json").stdout.splitlines()]

    skipped = {"action": "skip", "path": f"{folder}/.hidden", "document_id": None, "reason": "hidden"}
    failed = {"action": "add", "path": f"{folder}/broken.pdf", "document_id": None}
    added = {"action": "add", "path": f"{folder}/moves.txt", "document_id": number}
    renamed = {"action": "rename", "path": f"{folder}/moved.txt", "document_id": number, "from": f"{folder}/moves.txt"}
    assert lines[0] == skipped
    lines.sort(key=lambda line: str(line["path"]))
    assert lines == [skipped, {**failed, "error": lines[1]["error"]}, added]
    assert moved == [skipped, renamed]


def test_c3_a_folder_that_is_not_there_is_no_reason_to_delete(
    sync: Sync, folder: Path, running_engine: EngineProgram
) -> None:
    write(folder, {"a.txt": "on a stick"})
    sync()

    folder.rename(folder.with_name("elsewhere"))
    missing = sync("--yes")
    folder.mkdir()
    empty = sync("--yes")
    # Some systems put these where a disk will be mounted.
    write(folder, {".DS_Store": "icons", "lost+found/.keep": "kept"})
    bare = sync("--yes")

    assert [result.exit_code for result in (missing, empty, bare)] == [3, 4, 4]
    assert f"{folder} is empty, and the base has 1 document of it" in empty.stderr
    assert f"There is no file to send in {folder} (hidden: 2), and the base has 1 document" in bare.stderr
    assert "add --allow-empty" in empty.stderr
    assert documents_of(running_engine, folder).keys() == {"a.txt"}
    assert sync("--yes", "--allow-empty").exit_code == 0
    assert documents_of(running_engine, folder) == {}


def test_a_folder_of_files_that_are_there_but_cannot_be_sent_keeps_its_documents(
    sync: Sync, folder: Path, running_engine: EngineProgram
) -> None:
    write(folder, {"a.txt": "soon elsewhere"})
    sync()

    (folder / "a.txt").rename(folder / ".a.txt")
    (folder / "a.txt").symlink_to(folder / ".a.txt")
    result = sync("--yes")

    assert result.exit_code == 0
    assert result.stderr.startswith("1 kept (link: 1), 2 skipped (hidden: 1, link: 1) in ")
    assert documents_of(running_engine, folder).keys() == {"a.txt"}


def test_what_a_dry_run_has_read_is_not_read_again(
    sync: Sync, folder: Path, tmp_path: Path, running_engine: EngineProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, {"a.txt": "read but once"})
    now = time.time_ns()
    # A file that has just changed would be read again all the same.
    monkeypatch.setattr(time, "time_ns", lambda: now + 10_000_000_000)

    sync("--dry-run")

    memory = Memory(place_of_memory(tmp_path / "cache" / "kb", str(folder), running_engine.url))
    assert memory.find_hash(f"{folder}/a.txt", look_at(folder, 1_000).files[f"{folder}/a.txt"]) is not None


def test_c3_a_file_is_no_folder(kb: Kb, tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "alone"})

    result = kb("sync", str(tmp_path / "a.txt"))

    assert (result.exit_code, "kb add" in result.stderr) == (2, True)


def test_c5_watching_without_a_terminal_wants_consent_before(sync: Sync) -> None:
    result = sync("--watch")

    assert (result.exit_code, "--yes" in result.stderr) == (4, True)


def test_a_note_at_the_path_of_a_file_is_left_alone(
    kb: Kb, sync: Sync, folder: Path, running_engine: EngineProgram
) -> None:
    notes = [str(folder / "a.txt"), str(folder / "gone.txt")]
    for path in notes:
        kb("addnote", "A note about a file", "--source-path", path)
    write(folder, {"a.txt": "the file"})

    result = sync("--yes")

    assert result.stderr.startswith("1 skipped (a note has its path: 1) in ")
    assert [document["doc_type"] for document in documents_of(running_engine, folder).values()] == ["note", "note"]


def test_the_same_folder_through_a_link_is_the_same_folder(
    kb: Kb, sync: Sync, folder: Path, tmp_path: Path, running_engine: EngineProgram
) -> None:
    write(folder, {"a.txt": "either way"})
    sync()
    (tmp_path / "link").symlink_to(folder)

    result = kb("sync", str(tmp_path / "link"), XDG_CACHE_HOME=str(tmp_path / "cache"))

    assert result.stderr.startswith("1 unchanged in ")
