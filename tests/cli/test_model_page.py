"""The commands of docs/how-to/change-the-model.md do what the page says."""

import json
import re
import shlex
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import Kb
from tests.engine_program import COMMAND_WITHIN_SECONDS, SOURCES, EngineAlone
from typer.testing import Result

PAGE = (SOURCES.parent / "docs/how-to/change-the-model.md").read_text(encoding="utf-8")
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]
NAME = "another-model"


@pytest.fixture
def changed_engine(model_folder: Path, tmp_path: Path) -> Iterator[EngineAlone]:
    """An engine with a note, stopped and started again with the same model under the page's name, so another one."""
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / NAME).symlink_to(model_folder)
    program = EngineAlone(tmp_path)
    program.start()
    try:
        added = program.run_kb("addnote", "The spare key is under the flower pot")
        assert added.returncode == 0, added.stderr
        program.stop()
        program = EngineAlone(tmp_path, {"KB_EMBEDDING_MODEL": str(tmp_path / "models" / NAME)})
        program.start()
        yield program
    finally:
        program.stop()


def wait_until_healthy(kb: Kb, engine: EngineAlone) -> None:
    deadline = time.monotonic() + COMMAND_WITHIN_SECONDS
    while json.loads(kb("status", "--json", KB_ENGINE_URL=engine.url).stdout)["health"]["issues"]:
        assert time.monotonic() < deadline, engine.log.read_text()
        time.sleep(0.1)


def run_line(line: str, kb: Kb, engine: EngineAlone, home: Path) -> Result:
    """A line of the page as a shell would take it apart: variables in front, a file behind `>`, and a comment."""
    words = shlex.split(line.replace("~", str(home)), comments=True)
    start, end = words.index("kb"), words.index(">") if ">" in words else len(words)
    settings = dict(word.split("=", 1) for word in words[:start])
    return kb(*words[start + 1 : end], KB_ENGINE_URL=engine.url, KB_DATA_DIR=str(engine.data_dir), **settings)


def test_e28_every_command_of_the_page_works_when_all_is_embedded_anew(
    kb: Kb, changed_engine: EngineAlone, tmp_path: Path
) -> None:
    """C1, C3"""
    wait_until_healthy(kb, changed_engine)

    # The fixture has done what `kb up` does there.
    said = {line: run_line(line, kb, changed_engine, tmp_path) for line in COMMANDS if not line.endswith("kb up")}

    assert {line: result.stderr for line, result in said.items() if result.exit_code} == {}
    assert len(said) >= 8
    assert f"{NAME}\tused" in said[f"KB_EMBEDDING_MODEL=~/models/{NAME} kb model list"].stdout
    assert "under the flower pot" in said["kb search where is the key --mode vector"].stdout
    assert json.loads(said["kb eval --json > after.json"].stdout)
    assert "\treindex\t" in kb("jobs", KB_ENGINE_URL=changed_engine.url).stdout
