import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.cli.conftest import Kb
from tests.cli.scripted_engine import Answer, scripted_engine
from tests.cli.terminal import OnTerminal
from tests.engine_program import EngineProgram, own_environment

PDF = Path(__file__).parents[1] / "samples" / "pdf" / "handbook-libreoffice.pdf"


@pytest.fixture(scope="module")
def pdf_id(running_engine: EngineProgram) -> str:
    job = json.loads(running_engine.run_kb("add", str(PDF), "--json").stdout)
    return str(job["document_id"])


def test_the_original_goes_into_a_pipe_byte_for_byte(kb: Kb, pdf_id: str) -> None:
    result = kb("get", pdf_id, "--file")

    assert result.stdout_bytes == PDF.read_bytes()
    assert result.stderr == ""


def test_the_original_is_saved_under_a_name_and_replaces_no_other_file(kb: Kb, pdf_id: str, tmp_path: Path) -> None:
    """C3"""
    place = tmp_path / "handbook.pdf"
    place.write_text("mine")

    refused = kb("get", pdf_id, "-o", str(place))
    kept = place.read_text()
    forced = kb("get", pdf_id, "--file", "-o", str(place), "--force")

    assert (refused.exit_code, kept) == (4, "mine")
    assert "--force" in refused.stderr
    assert (forced.exit_code, forced.stdout) == (0, f"Saved 35.7 KB to {place}.\n")
    assert place.read_bytes() == PDF.read_bytes()
    assert list(tmp_path.glob("*.partial")) == []


@pytest.mark.parametrize("place", ["", "missing/folder.pdf"])
def test_what_cannot_be_written_is_told_and_nothing_is_left(kb: Kb, pdf_id: str, tmp_path: Path, place: str) -> None:
    result = kb("get", pdf_id, "-o", str(tmp_path / place), "--force")

    assert result.exit_code in (1, 4)
    assert result.stdout == ""
    assert result.stderr.endswith(".\n")
    assert list(tmp_path.rglob("*.p*")) == []


def test_the_original_of_a_missing_document_leaves_no_file(kb: Kb, tmp_path: Path) -> None:
    place = tmp_path / "nothing"

    assert kb("get", "999999", "-o", str(place)).exit_code == 3
    assert not place.exists()


def test_an_original_is_never_written_onto_a_terminal(
    running_engine: EngineProgram, pdf_id: str, tmp_path: Path
) -> None:
    environment = own_environment(tmp_path, {"KB_ENGINE_URL": running_engine.url})

    with OnTerminal("get", pdf_id, "--file", environment=environment) as terminal:
        exit_code = terminal.wait()

    assert exit_code == 2
    assert "Save it with -o" in terminal.output
    assert "%PDF" not in terminal.output


def test_what_is_no_file_is_not_replaced(kb: Kb, pdf_id: str, tmp_path: Path) -> None:
    """C3"""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    result = kb("get", pdf_id, "-o", str(pipe), "--force")

    assert (result.exit_code, result.stdout) == (4, "")
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_an_original_that_breaks_off_leaves_no_file(kb: Kb, tmp_path: Path) -> None:
    def break_off(method: str, path: str, headers: Mapping[str, str]) -> Answer:
        if path.endswith("/file"):
            return 200, b"%PDF", {"Content-Length": "100"}
        return 200, {"id": 7, "filename": "a.pdf", "size_bytes": 100}

    with scripted_engine(break_off) as url:
        result = kb("get", "7", "-o", str(tmp_path / "a.pdf"), KB_ENGINE_URL=url)

    assert result.exit_code == 1
    assert "broke off" in result.stderr
    assert list(tmp_path.glob("a.pdf*")) == []
