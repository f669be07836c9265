"""Keys, and what was written down, stay where they belong: not in logs, answers, measures, processes or files."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.amounts import IS_FULL, Tell
from tests.engine_program import EngineProgram
from tests.security.provocations import (
    HIDDEN_NAME,
    HIDDEN_TEXT,
    Told,
    complain_of_settings,
    provoke_everything,
)
from tests.security.surfaces import KEYS, files_with_keys, keys_in

# The lines for people have the same content; those that `guarded` writes for the other tests are looked at as well.
FORMATS = ["json", "text"] if IS_FULL else ["json"]


@pytest.fixture(params=FORMATS)
def program(request: pytest.FixtureRequest, model_folder: Path, tmp_path: Path) -> Iterator[EngineProgram]:
    with EngineProgram(tmp_path, {**KEYS, "KB_LOG_FORMAT": request.param}).running() as program:
        yield program


def test_whatever_goes_wrong_no_secret_gets_out(program: EngineProgram, tmp_path: Path, tell: Tell) -> None:
    """E1, E2, M2, I5."""
    told = provoke_everything(program)
    told.answers += complain_of_settings(program, tmp_path / "elsewhere")
    program.stop()

    log = program.log.read_text()
    assert "Traceback" in log
    assert "starting another" in log
    assert "A file cannot be read" in log
    assert keys_in(log) == []
    assert [word for word in (HIDDEN_TEXT, HIDDEN_NAME) if word in log] == []
    assert [(answer, keys_in(answer)) for answer in told.answers if keys_in(answer)] == []
    assert_processes_tell_nothing(told)
    assert files_with_keys(program) == []
    counted = f"{len(told.answers)} answers, {len(log.splitlines())} lines of log, {len(told.commands)} commands"
    tell(f"secrets: {counted}: 0 keys")


def assert_processes_tell_nothing(told: Told) -> None:
    assert [command for command in told.commands if keys_in(command)] == []
    for child in ("worker_process", "kb.mcp.mcp_process", "ingestion.extraction"):
        assert any(child in command for command, names in told.environments.items() if names), f"no {child} was seen"
    assert [names for names in told.environments.values() if "KB_" in names or keys_in(names)] == []
