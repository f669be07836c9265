from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.engine_program import EngineProgram
from tests.faults.conftest import tell
from tests.security.surfaces import KEYS, Planted, open_api, plant

__all__ = ["tell"]


@pytest.fixture(scope="session")
def guarded(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineProgram]:
    """`kb up` with two keys of each kind; its base is that of the tests of this folder."""
    program = EngineProgram(tmp_path_factory.mktemp("guarded"), KEYS)
    program.start()
    yield program
    program.stop()


@pytest.fixture
def api(guarded: EngineProgram) -> Iterator[httpx.Client]:
    """With the key that opens everything."""
    with open_api(guarded, KEYS["KB_API_KEY"].split()[0]) as http:
        yield http


@pytest.fixture
def planted(api: httpx.Client) -> Planted:
    return plant(api)
