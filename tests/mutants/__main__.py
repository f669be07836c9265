"""Breaks a copy of the code in one way after the other, and tells which the tests did not notice: `make mutants`.

With words as arguments, only the mutants whose names hold one of them. Ends with 1 if one survived, and with 2 if the
tests fail without any: then nothing could be told.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from tests.mutants.mutant import Mutant
from tests.mutants.table import MUTANTS

ROOT = Path(__file__).parents[2]
COPIED = ("src", "tests", "evaluation", "bench", "docs")
SETTINGS = "pyproject.toml"
TESTS_FAILED = 1
TESTED_WITHIN_SECONDS = 300


def main(wanted: list[str]) -> int:
    mutants = [mutant for mutant in MUTANTS if not wanted or any(word in mutant.name for word in wanted)]
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="kb-mutants-") as name:
        copy = Path(name)
        for folder in COPIED:
            shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / SETTINGS, copy)
        if not all(mutant.before in (copy / mutant.file).read_text(encoding="utf-8") for mutant in mutants):
            return _tell("The table does not fit the code: see tests/house_rules/test_mutants.py.", ends_with=2)
        every_test = {path for mutant in mutants for path in mutant.tests.split()}
        unharmed = run_tests(copy, every_test, TESTED_WITHIN_SECONDS * len(mutants))
        if unharmed.returncode != 0:
            return _tell(f"{unharmed.stdout}\nThe tests fail without any mutant.", ends_with=2)
        survived = [mutant for mutant in mutants if not is_caught(copy, mutant)]
    seconds = time.monotonic() - began
    return _tell(
        f"{len(mutants)} mutants, {len(mutants) - len(survived)} caught, {len(survived)} survived ({seconds:.0f} s)",
        ends_with=1 if survived else 0,
    )


def is_caught(copy: Path, mutant: Mutant) -> bool:
    path = copy / mutant.file
    original = path.read_text(encoding="utf-8")
    path.write_text(original.replace(mutant.before, mutant.after), encoding="utf-8")
    began = time.monotonic()
    try:
        # Any other code says that pytest could not do its work or never came to an end, not that a test failed.
        caught = run_tests(copy, mutant.tests.split(), TESTED_WITHIN_SECONDS).returncode == TESTS_FAILED
    finally:
        path.write_text(original, encoding="utf-8")
    _tell(f"{'caught' if caught else 'SURVIVED':<9}{time.monotonic() - began:5.1f} s  {mutant.name}")
    return caught


def run_tests(copy: Path, paths: Iterable[str], within_seconds: float) -> subprocess.CompletedProcess[str]:
    """Without compiled files: a mutant may be as long as the original, and as old. What takes longer is killed."""
    environment = {**os.environ, "PYTHONPATH": f"{copy / 'src'}{os.pathsep}{copy}", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *sorted(paths)]
    with subprocess.Popen(
        command,
        cwd=copy,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as tests:
        try:
            told, _ = tests.communicate(timeout=within_seconds)
        except subprocess.TimeoutExpired:
            told = f"The tests are not done after {within_seconds:.0f} seconds."
        finally:
            if tests.poll() is None:
                # With the programs that they have started.
                os.killpg(tests.pid, signal.SIGKILL)
    return subprocess.CompletedProcess(command, tests.returncode, told)


def _tell(line: str, *, ends_with: int = 0) -> int:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
    return ends_with


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
