import json
import os
import pty
from pathlib import Path

import pytest
from tests.cli.conftest import Kb
from tests.cli.terminal import OnTerminal
from tests.engine_program import own_environment

BUNDLED = "all-MiniLM-L6-v2"


def test_the_fetched_model_is_listed_as_the_one_that_is_used(kb: Kb, model_folder: Path) -> None:
    (model,) = [one for one in json.loads(kb("model", "list", "--json").stdout)["models"] if one["used"]]

    assert model["name"] == BUNDLED
    assert model["folder"] == str(model_folder)
    assert model["ready"] is True
    assert model["dimension"] == 384
    assert model["size_bytes"] > 80_000_000


def test_in_a_pipe_a_model_is_a_line_of_facts(kb: Kb, model_folder: Path) -> None:
    lines = [line.split("\t") for line in kb("model", "list").stdout.splitlines()]

    assert [BUNDLED, "used", "384", str(model_folder)] in [[*line[:2], *line[3:]] for line in lines]


def test_a_model_that_is_missing_is_listed_with_what_to_do(kb: Kb, tmp_path: Path) -> None:
    result = kb("model", "list", XDG_CACHE_HOME=str(tmp_path))

    assert result.exit_code == 0
    assert result.stdout.startswith(f"{BUNDLED}\tused\t0\t\t")
    assert "kb model fetch" in result.stderr


def test_a_model_that_the_settings_name_is_the_one_that_is_used(kb: Kb, model_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "own").symlink_to(model_folder)

    models = json.loads(kb("model", "list", "--json", KB_EMBEDDING_MODEL=str(tmp_path / "own")).stdout)["models"]

    assert [(one["name"], one["ready"]) for one in models if one["used"]] == [("own", True)]
    assert BUNDLED in {one["name"] for one in models}


def test_fetch_says_where_the_model_is(kb: Kb, model_folder: Path) -> None:
    """C2"""
    result = kb("model", "fetch")

    assert result.exit_code == 0
    assert result.stdout == f"{model_folder}\n"


def test_a_folder_without_the_model_is_refused(kb: Kb, tmp_path: Path) -> None:
    """C3"""
    result = kb("model", "fetch", "--from", str(tmp_path), XDG_CACHE_HOME=str(tmp_path / "cache"))

    assert result.exit_code == 1
    assert result.stdout == ""
    assert "does not hold" in result.stderr


@pytest.mark.parametrize("value", ["nonsense", "/nowhere"])
def test_a_chosen_model_that_is_not_there_is_told(kb: Kb, value: str) -> None:
    result = kb("model", "list", KB_EMBEDDING_MODEL=value)

    assert result.exit_code == 0
    assert "KB_EMBEDDING_MODEL" in result.stderr


def test_ctrl_c_ends_fetching_and_leaves_nothing_behind(tmp_path: Path) -> None:
    """C3"""
    source = tmp_path / "endless"
    source.mkdir()
    typed, keyboard = pty.openpty()
    # Whoever reads this file waits for somebody to type it.
    (source / "config.json").symlink_to(os.ttyname(keyboard))
    environment = own_environment(tmp_path, {"XDG_CACHE_HOME": str(tmp_path / "cache")})

    with OnTerminal("model", "fetch", "--from", str(source), environment=environment) as terminal:
        terminal.wait_for("Fetching")
        terminal.interrupt()
        exit_code = terminal.wait()
    os.close(keyboard)
    os.close(typed)

    assert exit_code == 130
    assert "Stopped." in terminal.output
    assert "Traceback" not in terminal.output
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []
