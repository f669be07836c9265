"""Keys, and what was written down, stay where they belong: not in logs, answers, measures, processes or files."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.engine_program import EngineProgram
from tests.faults.amounts import IS_FULL, Tell
from tests.security.provocations import (
    HIDDEN_NAME,
    HIDDEN_TEXT,
    Told,
    complain_of_settings,
    provoke_everything,
)
from tests.security.surfaces import EVERY_KEY, KEYS, NOTE_TEXT

# The lines for people have the same content; the other tests of this folder write some thousand of them.
FORMATS = ["json", "text"] if IS_FULL else ["json"]


@pytest.fixture(params=FORMATS)
def program(request: pytest.FixtureRequest, model_folder: Path, tmp_path: Path) -> Iterator[EngineProgram]:
    program = EngineProgram(tmp_path, {**KEYS, "KB_LOG_FORMAT": request.param})
    program.start()
    yield program
    if program.process.poll() is None:
        program.stop()


def keys_in(text: str) -> list[str]:
    return [key for key in EVERY_KEY if key.lower() in text.lower()]


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
    assert [path for path in files_of(program) if keys_in(path.read_bytes().decode("latin-1"))] == []
    counted = f"{len(told.answers)} answers, {len(log.splitlines())} lines of log, {len(told.commands)} commands"
    tell(f"secrets: {counted}: 0 keys")


def assert_processes_tell_nothing(told: Told) -> None:
    assert [command for command in told.commands if keys_in(command)] == []
    for child in ("worker_process", "kb.mcp.process", "ingestion.extraction"):
        assert any(child in command for command, names in told.environments.items() if names), f"no {child} was seen"
    assert [names for names in told.environments.values() if "KB_" in names or keys_in(names)] == []


def files_of(program: EngineProgram) -> list[Path]:
    return [path for path in program.data_dir.rglob("*") if path.is_file()]


def test_the_metrics_and_the_log_of_the_other_tests_hold_no_secret(guarded: EngineProgram, tell: Tell) -> None:
    """E1, M2: after all that was tried with canaries on the same programs."""
    log = guarded.log.read_text()

    assert keys_in(log) == []
    assert NOTE_TEXT not in log
    assert [path for path in files_of(guarded) if keys_in(path.read_bytes().decode("latin-1"))] == []
    tell(f"secrets: {len(log.splitlines())} lines of log after the other tests: 0 keys, 0 texts")
