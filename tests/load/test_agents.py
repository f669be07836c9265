"""A moment of what `python -m bench.load` and `python -m bench.soak` do for minutes."""

import asyncio
import random
import time

from bench.agents_at_work.churn import ROUGH
from bench.agents_at_work.programs import Programs
from bench.filled_base import CHUNKS_PER_DOCUMENT
from bench.load import run_agents
from tests.amounts import SEED, Tell, amount
from tests.load.conftest import CHUNKS

AGENTS = amount(selection=16, full=64)
SECONDS = amount(selection=2, full=20)
ROUGH_ROUNDS = amount(selection=1, full=20)
FORGOTTEN_WITHIN_SECONDS = 30


def test_agents_at_once_are_all_answered_and_nothing_they_wrote_is_lost(programs: Programs, tell: Tell) -> None:
    """M7, E4, E24: with keys, half of them through the MCP server."""
    step = asyncio.run(run_agents(programs, AGENTS, CHUNKS // CHUNKS_PER_DOCUMENT, SECONDS, name="load"))

    assert step.wrong == []
    assert step.notes > 0
    calls = sum(map(len, step.tally.milliseconds.values()))
    tell(f"{AGENTS} agents, half through the MCP server: {calls} calls, 0 errors; {step.notes} notes, none lost")


def test_what_rough_clients_leave_behind_is_forgotten(programs: Programs, tell: Tell) -> None:
    """M7, E5: whoever hangs up in the middle leaves no connection, no file and no job."""
    chance = random.Random(SEED)  # noqa: S311 - no secret

    async def be_rough() -> None:
        for _ in range(ROUGH_ROUNDS):
            await asyncio.gather(*(rough(programs, chance) for rough in ROUGH))

    asyncio.run(be_rough())

    deadline = time.monotonic() + FORGOTTEN_WITHIN_SECONDS
    while left := find_left(programs):
        assert time.monotonic() < deadline, left
        time.sleep(0.05)
    tell(f"{ROUGH_ROUNDS * len(ROUGH)} clients that hung up or left something behind: nothing of it is left")


def find_left(programs: Programs) -> list[object]:
    """Connections of clients, unfinished uploads, and files of documents that are gone."""
    engine, mcp = programs.processes["engine"], programs.processes["mcp"]
    ours = {connection.laddr.port for connection in mcp.net_connections("tcp")}
    peers = [
        connection
        for process, port in ((engine, programs.ports["engine"]), (mcp, programs.ports["mcp"]))
        for connection in process.net_connections("tcp")
        if connection.laddr.port == port and connection.raddr and connection.raddr.port not in ours
    ]
    files = [path for path in (programs.data_dir / "originals").glob("*/*") if path.is_file()]
    return [*peers, *files]
