"""The scripts of docs/how-to/script-it.md do what the page says."""

import re
import subprocess
import sys
from pathlib import Path

from tests.engine_program import SOURCES, EngineProgram, own_environment

PAGE = (SOURCES.parent / "docs/how-to/script-it.md").read_text(encoding="utf-8")
(SHELL,) = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
SCRIPT, PROGRAM = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def run(code: str, engine: EngineProgram, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = own_environment(folder, {"KB_ENGINE_URL": engine.url})
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)


def test_c2_the_shell_script_finds_its_note_and_deletes_it(running_engine: EngineProgram, tmp_path: Path) -> None:
    """C3, C5"""
    kb = tmp_path / "kb"
    kb.write_text(f'#!/bin/sh\nexec {sys.executable} -m kb.cli.main "$@"\n')
    kb.chmod(0o700)
    environment = own_environment(tmp_path, {"KB_ENGINE_URL": running_engine.url})
    environment["PATH"] = f"{tmp_path}:{environment['PATH']}"

    result = subprocess.run(["sh", "-e", "-c", SHELL], env=environment, capture_output=True, text=True, check=False)

    assert result.returncode == 0, result.stderr
    assert "Backups run at three in the morning" in result.stdout.splitlines()[0]
    assert re.search(r"^Document \d+ deleted: Backups run", result.stdout, re.MULTILINE)


def test_the_synchronous_script_adds_a_file_and_finds_it(running_engine: EngineProgram, tmp_path: Path) -> None:
    file = tmp_path / "harbour.md"
    file.write_text("# Harbour\n\nThe pilot boards at buoy seventeen.")

    first = run(SCRIPT, running_engine, tmp_path, str(file), "where does the pilot board")
    second = run(SCRIPT, running_engine, tmp_path, str(file), "where does the pilot board")

    assert first.stdout.splitlines()[0].endswith("\tHarbour")
    assert (first.returncode, first.stdout) == (second.returncode, second.stdout)


def test_the_synchronous_script_tells_why_a_file_was_not_added(running_engine: EngineProgram, tmp_path: Path) -> None:
    file = tmp_path / "blank.txt"
    file.write_text(" ")

    result = run(SCRIPT, running_engine, tmp_path, str(file), "anything")

    assert result.returncode == 1
    assert "blank.txt" in result.stderr


def test_the_asynchronous_program_finds_its_note(running_engine: EngineProgram, tmp_path: Path) -> None:
    code = PROGRAM.replace("http://127.0.0.1:8000", running_engine.url)

    result = run(code, running_engine, tmp_path)

    assert "Buy tickets for Lisbon" in result.stdout
