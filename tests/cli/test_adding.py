import json
from pathlib import Path

import pytest
from tests.cli.conftest import Kb

NO_TEXT = "There is no text. Give it as an argument, or give `-` and pipe it in."


def added_id(kb: Kb, *arguments: str) -> int:
    job = json.loads(kb(*arguments, "--json").stdout)
    assert job["status"] == "completed"
    return int(job["document_id"])


def test_a_note_can_be_searched_as_soon_as_the_command_is_done(kb: Kb) -> None:
    added = kb("addnote", "The otter collects turquoise pebbles", "--tags", "river")

    found = kb("search", "turquoise", "pebbles")

    assert (added.exit_code, found.exit_code) == (0, 0)
    assert " added: The otter collects turquoise pebbles (1 chunk)\n" in added.stdout
    assert "The otter collects turquoise pebbles" in found.stdout


def test_tags_come_in_a_list_or_one_by_one(kb: Kb) -> None:
    note = added_id(kb, "addnote", "Tagged twice", "--tags", "a, b", "--tag", "c, d", "--tag", "e")

    document = json.loads(kb("get", str(note), "--json").stdout)

    assert document["tags"] == ["a", "b", "c, d", "e"]


@pytest.mark.parametrize("text", ["Ein Füllfederhalter\nund 墨水", "two\n\nparagraphs\n"])
def test_a_note_is_read_from_standard_input(kb: Kb, text: str) -> None:
    job = json.loads(kb("addnote", "-", "--json", stdin=text).stdout)

    document = json.loads(kb("get", str(job["document_id"]), "--json").stdout)

    assert document["text"].strip() == text.strip()


@pytest.mark.parametrize(
    ("stdin", "refusal"),
    [
        (b"", NO_TEXT),
        (b" \n", NO_TEXT),
        (b"\xff\xfe\xfa", "Standard input is not UTF-8 text. Convert it, or add it as a file with `kb add`."),
    ],
)
def test_standard_input_without_text_is_refused_before_anything_is_sent(kb: Kb, stdin: bytes, refusal: str) -> None:
    result = kb("addnote", "-", stdin=stdin, KB_ENGINE_URL="http://127.0.0.1:1")

    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr == f"{refusal}\n"


def test_without_waiting_the_job_comes_back_unfinished_or_not(kb: Kb) -> None:
    result = kb("addnote", "Somebody else waits for this", "--no-wait", "--json")

    assert result.exit_code == 0
    assert json.loads(result.stdout)["type"] == "note"


def test_a_file_is_added_with_its_path_and_found(kb: Kb, tmp_path: Path) -> None:
    file = tmp_path / "géologie.md"
    file.write_text("# Basalt\n\nColumns of basalt have six sides.", encoding="utf-8")

    document = added_id(kb, "add", str(file), "--tag", "stones")

    shown = json.loads(kb("get", str(document), "--json").stdout)
    assert (shown["filename"], shown["source_path"], shown["tags"]) == (file.name, str(file), ["stones"])


def test_a_changed_file_takes_the_place_of_what_it_was(kb: Kb, tmp_path: Path) -> None:
    file = tmp_path / "plan.txt"
    file.write_text("We meet on Monday.")
    before = added_id(kb, "add", str(file))
    file.write_text("We meet on Thursday.")

    after = added_id(kb, "add", str(file))

    assert after == before
    assert "Thursday" in kb("get", str(after)).stdout


def test_the_same_file_again_is_told_as_unchanged(kb: Kb, tmp_path: Path) -> None:
    file = tmp_path / "same.txt"
    file.write_text("The same words twice.")
    kb("add", str(file))

    again = kb("add", str(file))

    assert again.exit_code == 0
    assert "unchanged" in again.stdout


def test_a_folder_gives_every_file_that_can_be_read(kb: Kb, tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "one.md").write_text("Folder file one")
    (tmp_path / "deep" / "two.txt").write_text("Folder file two")
    (tmp_path / "program.exe").write_bytes(b"MZ\0\0")
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / ".hidden" / "three.txt").write_text("Folder file three")

    result = kb("add", str(tmp_path), "--json")

    jobs = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.exit_code == 0
    assert {job["filename"] for job in jobs} == {"one.md", "two.txt"}
    assert "1 of a kind that kb cannot read" in result.stderr


def test_standard_input_becomes_a_file_with_the_name_given(kb: Kb) -> None:
    job = json.loads(kb("add", "-", "--name", "log.md", "--json", stdin="# Piped\n\nwords").stdout)

    assert (job["filename"], job["status"]) == ("log.md", "completed")


def test_a_missing_file_is_not_found_and_nothing_is_added(kb: Kb, tmp_path: Path) -> None:
    there = tmp_path / "there.txt"
    there.write_text("Never added because of its neighbour")

    result = kb("add", str(there), str(tmp_path / "missing.txt"))

    assert result.exit_code == 3
    assert "missing.txt" in result.stderr
    assert "Never added" not in kb("search", "neighbour", "--mode", "fts").stdout


def test_a_folder_with_nothing_in_it_is_told(kb: Kb, tmp_path: Path) -> None:
    result = kb("add", str(tmp_path))

    assert result.exit_code == 3
    assert "nothing to add" in result.stderr


def test_a_file_that_is_named_but_cannot_be_read_is_refused_with_the_reason(kb: Kb, tmp_path: Path) -> None:
    file = tmp_path / "program.exe"
    file.write_bytes(b"MZ\0\0")

    result = kb("add", str(file))

    assert result.exit_code == 4
    assert "Supported formats" in result.stderr


def test_a_failed_job_is_exit_code_7_and_the_others_are_done(kb: Kb, tmp_path: Path) -> None:
    (tmp_path / "blank.txt").write_text(" \n ")
    (tmp_path / "full.txt").write_text("Something to read")

    result = kb("add", str(tmp_path / "blank.txt"), str(tmp_path / "full.txt"))

    assert result.exit_code == 7
    assert "blank.txt" in result.stderr
    assert "full.txt" in result.stdout


def test_one_title_does_not_fit_several_files(kb: Kb, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "b.txt").write_text("b")

    result = kb("add", str(tmp_path), "--title", "Both")

    assert result.exit_code == 2
    assert "--title" in result.stderr


def test_add_waits_while_the_queue_is_full(kb: Kb, tmp_path: Path, busy_engine: str) -> None:
    """C3, E4"""
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("Some words.")

    result = kb("add", str(tmp_path), "--no-wait", "--json", KB_ENGINE_URL=busy_engine)

    assert (result.exit_code, {json.loads(line)["id"] for line in result.stdout.splitlines()}) == (0, {7, 8})
    assert result.stderr.count("queue is full") == 1
