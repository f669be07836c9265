import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.engine_program import EngineProgram
from tests.faults.amounts import SEED, Tell


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


@pytest.fixture
def tell(capsys: pytest.CaptureFixture[str]) -> Tell:
    """Say in one line what a test has counted, whether or not pytest shows what tests print."""

    def tell(counted: str) -> None:
        with capsys.disabled():
            print(f"\n  {counted}; seed {SEED}", flush=True)  # noqa: T201 - what the test is for

    return tell


@pytest.fixture(scope="session")
def strace() -> None:
    need(shutil.which("strace") is not None, "strace is not installed")


def need(is_there: bool, otherwise: str) -> None:  # noqa: FBT001 - reads as a sentence
    """What only the system can give is skipped where it is not there, but not in CI."""
    if not is_there and os.environ.get("CI"):
        pytest.fail(otherwise)
    if not is_there:
        pytest.skip(f"NOT TESTED: {otherwise}.")
