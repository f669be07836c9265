from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.engine_program import EngineProgram
from tests.security.surfaces import KEYS, NOTE_TEXT, Planted, files_with_keys, keys_in, open_api, plant

KEY = KEYS["KB_API_KEY"].split()[0]


@pytest.fixture(scope="session")
def shown_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """From which agents may have files read."""
    return tmp_path_factory.mktemp("shown")


@pytest.fixture(scope="session")
def guarded(
    model_folder: Path, shown_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EngineProgram]:
    """`kb up` with two keys of each kind; its base is that of the tests of this folder.

    E1, M2: after all that they have tried, no key stands in its log, its measures or its files, and no text in its log.
    """
    settings = {**KEYS, "KB_MCP_FILE_ROOTS": str(shown_folder)}
    with EngineProgram(tmp_path_factory.mktemp("guarded"), settings).running() as program:
        yield program
        with open_api(program, KEY) as http:
            metrics = http.get("/metrics").raise_for_status().text
    log = program.log.read_text()
    assert keys_in(log + metrics) == []
    assert NOTE_TEXT not in log + metrics
    assert files_with_keys(program) == []


@pytest.fixture
def api(guarded: EngineProgram) -> Iterator[httpx.Client]:
    """With the key that opens everything."""
    with open_api(guarded, KEY) as http:
        yield http


@pytest.fixture
def planted(api: httpx.Client) -> Planted:
    return plant(api)
