import asyncio

import httpx
from tests.amounts import amount
from tests.engine_program import EngineProgram
from tests.mcp_clients import RawClient

from kb.client import Json

AGENTS = 64
SEARCHES = amount(selection=1, full=3)


def test_sixty_four_agents_search_at_once_and_each_is_answered(running_engine: EngineProgram) -> None:
    """M7."""
    with RawClient(running_engine.mcp_url) as client:
        client.call("kb_addnote", text="The ferryman of Zanzibar keeps bees", tags=["many-agents"], wait=True)

    async def search(http: httpx.AsyncClient, agent: int) -> list[Json]:
        arguments = {"query": f"ferryman number {agent}", "tags": ["many-agents"]}
        call = {"jsonrpc": "2.0", "id": agent, "method": "tools/call"}
        body = {**call, "params": {"name": "kb_search", "arguments": arguments}}
        return [(await http.post("/mcp", json=body)).json() for _ in range(SEARCHES)]

    async def search_all() -> list[list[Json]]:
        limits = httpx.Limits(max_connections=AGENTS)
        async with httpx.AsyncClient(
            base_url=running_engine.mcp_url, limits=limits, trust_env=False, timeout=60
        ) as http:
            return await asyncio.gather(*(search(http, agent) for agent in range(AGENTS)))

    answers = asyncio.run(search_all())

    for agent, answered in enumerate(answers):
        assert [answer["id"] for answer in answered] == [agent] * SEARCHES
        assert all(len(answer["result"]["structuredContent"]["results"]) == 1 for answer in answered)
