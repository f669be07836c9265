from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.engine_program import EngineProgram


@pytest.fixture(scope="session")
def faulty_engine(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineProgram]:
    with EngineProgram(tmp_path_factory.mktemp("faults")).running() as program:
        yield program


@pytest.fixture
def engine(faulty_engine: EngineProgram) -> EngineProgram:
    """One for all tests of this folder, with what the earlier ones left in it; running, however they left it."""
    if faulty_engine.process.poll() is not None:
        faulty_engine.start()
    return faulty_engine
