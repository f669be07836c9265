"""All that the engine lists, page after page."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from kb.client.calling import Json

# The most that the engine tells at once.
PAGE_SIZE = 1000


async def read_all(
    list_page: Callable[..., Awaitable[Json]], listed: str, *, limit: int = PAGE_SIZE, offset: int = 0, **scope: Any
) -> AsyncIterator[Json]:
    """Each of what a method that lists has to tell: `read_all(engine.list_jobs, "jobs", status="failed")`.

    It asks for `limit` at once. What is added or deleted meanwhile moves the others: one may come twice, or not at all.
    """
    while True:
        page = await list_page(**scope, limit=limit, offset=offset)
        for one in page[listed]:
            yield one
        offset += len(page[listed])
        if not page[listed] or offset >= page["total"]:
            return
