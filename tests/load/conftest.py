from collections.abc import Iterator

import pytest
from bench.agents_at_work.programs import AGENT_KEY, ENGINE_KEY, Programs, find_processes
from bench.filled_base import fill_base
from tests.engine_program import EngineProgram

CHUNKS = 300
SETTINGS = {"KB_API_KEY": ENGINE_KEY, "KB_MCP_API_KEY": AGENT_KEY, "KB_MCP_UPLOAD_TTL_SECONDS": "1"}


@pytest.fixture(scope="session")
def loaded_engine(model_folder: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineProgram]:
    """`kb up` with keys and some documents, for all tests of this folder."""
    program = EngineProgram(tmp_path_factory.mktemp("load"), SETTINGS)
    program.data_dir.mkdir()
    fill_base(program.data_dir, CHUNKS)
    with program.running():
        yield program
    assert "Traceback" not in program.log.read_text()


@pytest.fixture
def programs(loaded_engine: EngineProgram) -> Programs:
    """As it runs now; whoever restarts it has others afterwards."""
    ports = {"engine": loaded_engine.url, "mcp": loaded_engine.mcp_url}
    return Programs(
        loaded_engine.data_dir,
        {name: int(url.rpartition(":")[2]) for name, url in ports.items()},
        find_processes(loaded_engine.process.pid),
    )
