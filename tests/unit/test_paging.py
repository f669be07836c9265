"""Reading a list to its end."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from kb.client import Json, read_all

THINGS: list[Json] = [{"id": number} for number in range(30)]


@given(total=st.integers(0, 30), limit=st.integers(1, 12), most=st.integers(1, 12), offset=st.integers(0, 40))
def test_everything_is_read_once_in_its_order(total: int, limit: int, most: int, offset: int) -> None:
    """Also if the engine tells less at once than was asked for."""
    asked = []

    async def list_things(*, kind: str, limit: int, offset: int) -> Json:
        asked.append((kind, limit))
        return {"things": THINGS[:total][offset : offset + min(limit, most)], "total": total}

    async def read() -> list[Json]:
        return [one async for one in read_all(list_things, "things", kind="odd", limit=limit, offset=offset)]

    assert asyncio.run(read()) == THINGS[offset:total]
    assert set(asked) == {("odd", limit)}
    assert len(asked) == max(1, -(-(total - offset) // min(limit, most)))


def test_a_list_that_shrinks_meanwhile_has_an_end() -> None:
    async def list_things(*, limit: int, offset: int) -> Json:
        return {"things": THINGS[:1] if offset == 0 else [], "total": 9}

    async def read() -> list[Json]:
        return [one async for one in read_all(list_things, "things")]

    assert asyncio.run(read()) == THINGS[:1]
