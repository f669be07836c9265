import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.amounts import IS_FULL
from tests.engine_program import EngineProgram


@pytest.fixture(scope="session")
def faulty_engine(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineProgram]:
    program = EngineProgram(tmp_path_factory.mktemp("faults"))
    program.start()
    yield program
    if program.process.poll() is None:
        program.stop()


@pytest.fixture
def engine(faulty_engine: EngineProgram) -> EngineProgram:
    """One for all tests of this folder, with what the earlier ones left in it; running, however they left it."""
    if faulty_engine.process.poll() is not None:
        faulty_engine.start()
    return faulty_engine


@pytest.fixture(scope="session")
def strace() -> None:
    """What can be installed is skipped where it is not, but not in CI."""
    if shutil.which("strace") is None:
        assert not os.environ.get("CI"), "strace is not installed"
        pytest.skip("NOT TESTED: strace is not installed.")
    tracing = subprocess.run(["strace", "-o", os.devnull, "true"], capture_output=True, check=False)
    need_right(tracing.returncode == 0, "no process may be traced here")


def need_right(has_it: bool, otherwise: str) -> None:  # noqa: FBT001 - reads as a sentence
    """What a container may forbid is left out where it does, and that is said; but not when everything is asked for."""
    if not has_it:
        assert not IS_FULL, otherwise
        pytest.skip(f"NOT TESTED: {otherwise}.")
