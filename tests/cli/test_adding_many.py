"""What `kb add` tells of many files, in a pipe and on a terminal."""

import json
import re
from pathlib import Path

import pytest
from tests.cli.conftest import Kb
from tests.cli.terminal import OnTerminal
from tests.engine_program import EngineProgram, own_environment

FILES = 6


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(FILES):
        (folder / f"{number:02}.txt").write_text(f"{tmp_path} number {number} is about a lapwing.")
    return folder


def added_names(output: str) -> list[str]:
    return re.findall(r"(\d\d\.txt)", output)


def test_results_stand_in_the_order_of_the_paths(kb: Kb, folder: Path) -> None:
    """C2"""
    result = kb("add", str(folder), "--json")

    jobs = [json.loads(line) for line in result.stdout.splitlines()]
    assert [job["filename"] for job in jobs] == [f"{number:02}.txt" for number in range(FILES)]
    assert {job["status"] for job in jobs} == {"completed"}


def test_a_summary_counts_how_each_file_fared(kb: Kb, folder: Path) -> None:
    kb("add", str(folder))
    (folder / "00.txt").write_text("Something else altogether.")
    (folder / "01.txt").write_text(" \n")
    (folder / "new.txt").write_text("A lapwing that was not there before.")
    (folder / "program.exe").write_bytes(b"MZ\0\0")
    (folder / ".hidden").touch()

    result = kb("add", str(folder))

    assert result.exit_code == 7
    counts = r"1 added, 4 unchanged, 1 replaced, 1 failed, 2 skipped in \d+\.\d s"
    assert re.fullmatch(counts, result.stderr.splitlines()[-1])
    assert "1 hidden, 1 of a kind that kb cannot read" in result.stderr
    assert re.search(r"Document \d+ replaced: .*/00\.txt \(1 chunk\)", result.stdout)
    assert re.search(r"Document \d+ unchanged: .*/02\.txt$", result.stdout, re.MULTILINE)


def test_a_single_file_needs_no_summary(kb: Kb, folder: Path) -> None:
    assert kb("add", str(folder / "00.txt")).stderr == ""


def test_each_file_that_was_skipped_is_listed_if_wanted(kb: Kb, folder: Path) -> None:
    (folder / "program.exe").write_bytes(b"MZ\0\0")

    result = kb("add", str(folder), "--verbose")

    assert f"{folder}/program.exe: skipped, of a kind that kb cannot read." in result.stderr.splitlines()


def test_without_waiting_all_are_told_as_accepted(kb: Kb, folder: Path) -> None:
    """C3"""
    result = kb("add", str(folder), "--no-wait")

    assert (result.exit_code, added_names(result.stdout)) == (0, [f"{number:02}.txt" for number in range(FILES)])
    assert re.search(r"\d+ s$", result.stderr)


def test_in_a_pipe_there_is_nothing_but_results_and_the_summary(running_engine: EngineProgram, folder: Path) -> None:
    """C2"""
    result = running_engine.run_kb("add", str(folder))

    assert result.returncode == 0
    assert len(result.stdout.splitlines()) == FILES
    assert re.fullmatch(rf"{FILES} added in \d+\.\d s\n", result.stderr)


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (40, 10)])
def test_on_a_terminal_bars_show_the_way_and_go_when_it_is_done(
    running_engine: EngineProgram, tmp_path: Path, folder: Path, columns: int, rows: int
) -> None:
    """C2"""
    environment = own_environment(tmp_path, {"KB_ENGINE_URL": running_engine.url})
    with OnTerminal("add", str(folder), environment=environment, columns=columns, rows=rows) as terminal:
        terminal.wait_for(f"of {FILES} files")

        assert terminal.wait() == 0

    assert "━" in terminal.output
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.output).splitlines()
    assert all(len(line) <= columns for line in lines if "━" in line)
    # The last that is written is no bar, but what remains of it all.
    assert re.search(rf"{FILES} added in \d+\.\d s$", lines[-1])
    assert sorted(set(added_names(terminal.output))) == [f"{number:02}.txt" for number in range(FILES)]
