"""Tasks as the protocol's clients know them: the engine's jobs, by their UUIDs."""

import uuid
from contextlib import AbstractContextManager

import httpx

from kb.client import EngineClient, Json
from kb.mcp.errors import absence_told

# Of what a client takes for the name of a task.
LONGEST_ID = 100


async def get_task(engine: EngineClient, task_id: str) -> Json:
    """The engine's job of that name. Raises `ToolError` with `task_not_found`."""
    with _absence_told(task_id):
        # Never as it was given: the engine would take a number for the id of any job.
        return await engine.get_job(str(uuid.UUID(task_id)))


async def cancel_task(engine: EngineClient, task_id: str) -> Json:
    """The engine's job, cancelled now, or as it ended before; unless it is completed, what it was given is forgotten.

    Raises `ToolError` with `task_not_found`.
    """
    try:
        with _absence_told(task_id):
            # No tool could retry it.
            return await engine.cancel_job(str(uuid.UUID(task_id)), forget=True)
    except httpx.HTTPStatusError as error:
        if error.response.status_code != httpx.codes.CONFLICT:
            raise
        return await get_task(engine, task_id)


def _absence_told(task_id: str) -> AbstractContextManager[None]:
    shown = task_id[:LONGEST_ID]
    told = f"Task with ID '{shown}' not found. Finished tasks are forgotten after 30 days."
    return absence_told("task_not_found", told, task_id=shown)
