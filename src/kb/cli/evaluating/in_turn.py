"""Something for each of many, a few at a time."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

# The engine has few cores; more would only wait there.
AT_A_TIME = 4

Item = TypeVar("Item")
Result = TypeVar("Result")


async def for_each(
    items: Iterable[Item],
    work: Callable[[Item], Awaitable[Result]],
    tell: Callable[[int, Item], None] = lambda done, item: None,
) -> list[Result]:
    """The results are in the order of the items. `tell` hears how many are done, and which was the last of them."""
    turn = asyncio.Semaphore(AT_A_TIME)
    done = 0

    async def work_in_turn(item: Item) -> Result:
        nonlocal done
        async with turn:
            result = await work(item)
        done += 1
        tell(done, item)
        return result

    return await asyncio.gather(*map(work_in_turn, items))
