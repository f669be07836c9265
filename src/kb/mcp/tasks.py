"""Tasks as the protocol's clients know them: the engine's jobs, by their UUIDs."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from kb.client import EngineClient, Json
from kb.mcp.errors import ToolError

# Of what a client takes for the name of a task.
LONGEST_ID = 100


async def get_task(engine: EngineClient, task_id: str) -> Json:
    """The engine's job of that name. Raises `ToolError` with `task_not_found`."""
    with _absence_told(task_id):
        # Never as it was given: the engine would take a number for the id of any job.
        return await engine.get_job(str(uuid.UUID(task_id)))


async def cancel_task(engine: EngineClient, task_id: str) -> Json:
    """The engine's job, cancelled now, or as it ended before. Raises `ToolError` with `task_not_found`."""
    try:
        with _absence_told(task_id):
            return await engine.cancel_job(str(uuid.UUID(task_id)))
    except httpx.HTTPStatusError as error:
        if error.response.status_code != httpx.codes.CONFLICT:
            raise
        return await get_task(engine, task_id)


@contextmanager
def _absence_told(task_id: str) -> Iterator[None]:
    try:
        yield
    except (ValueError, httpx.HTTPStatusError) as error:
        if isinstance(error, httpx.HTTPStatusError) and error.response.status_code != httpx.codes.NOT_FOUND:
            raise
        told = f"Task with ID '{task_id[:LONGEST_ID]}' not found. Finished tasks are forgotten after 30 days."
        raise ToolError("task_not_found", told, task_id=task_id[:LONGEST_ID]) from error
