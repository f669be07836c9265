"""What bodies may take of memory: counted as they come, and given back."""

import asyncio
import resource
from contextlib import closing

import pytest

from kb.serving import allow_connections, connections_within
from kb.serving.held_bodies import MANY_VALUES, MAX_HELD_BYTES, MAX_VALUES, Bodies, NoRoom, TooManyValues

QUARTER = b"x" * (MAX_HELD_BYTES // 4)


def test_what_all_bodies_hold_is_bounded_and_given_back() -> None:
    bodies = Bodies()

    async def send() -> None:
        with closing(bodies.open()) as one, closing(bodies.open()) as other:
            for body in (one, other, one, other):
                await body.add(QUARTER, is_last=False)
            with pytest.raises(NoRoom):
                await other.add(b"x", is_last=True)

    asyncio.run(send())

    assert bodies.held_bytes == 0


@pytest.mark.parametrize("mark", [b"[", b"{", b","])
def test_values_are_counted_over_all_pieces_of_a_body(mark: bytes) -> None:
    async def send(values: int) -> None:
        with closing(Bodies().open()) as body:
            for part in (values // 2, values - values // 2):
                await body.add(mark * part, is_last=False)

    asyncio.run(send(MAX_VALUES))
    with pytest.raises(TooManyValues):
        asyncio.run(send(MAX_VALUES + 1))


def test_two_million_values_are_too_many_however_few_bytes_they_take() -> None:
    async def send() -> None:
        with closing(Bodies().open()) as body:
            await body.add(b"," * 2_000_000, is_last=True)

    with pytest.raises(TooManyValues):
        asyncio.run(send())


def test_of_bodies_with_many_values_one_is_worked_on_at_a_time_and_others_pass_by() -> None:
    bodies = Bodies()
    done: list[str] = []

    async def work(name: str, values: int, going_on: asyncio.Event) -> None:
        with closing(bodies.open()) as body:
            await body.add(b"," * values, is_last=True)
            done.append(f"{name} begins")
            await going_on.wait()
        done.append(f"{name} ends")

    async def send() -> None:
        first_may_end, others_may_end = asyncio.Event(), asyncio.Event()
        others_may_end.set()
        async with asyncio.TaskGroup() as group:
            group.create_task(work("first", MANY_VALUES + 1, first_may_end))
            group.create_task(work("second", MANY_VALUES + 1, others_may_end))
            await group.create_task(work("small", MANY_VALUES, others_may_end))
            first_may_end.set()

    asyncio.run(send())

    assert done == ["first begins", "small begins", "small ends", "first ends", "second begins", "second ends"]


def test_a_body_that_is_parsed_lets_the_next_have_its_turn_and_counts_for_what_it_became() -> None:
    bodies = Bodies()

    async def send() -> None:
        with closing(bodies.open()) as one, closing(bodies.open()) as other:
            await one.add(b"," * MAX_VALUES, is_last=True)
            one.end_turn()
            await other.add(b"," * MAX_VALUES, is_last=True)
            other.end_turn()
            with pytest.raises(NoRoom):
                await other.add(b"x", is_last=True)
            one.close()
            await other.add(b"x", is_last=False)

    asyncio.run(asyncio.wait_for(send(), 10))

    assert bodies.held_bytes == 0


@pytest.mark.parametrize(("files", "connections"), [(-1, 1000), (1_000_000, 1000), (1024, 384), (100, 1)])
def test_there_are_never_more_connections_than_files_can_be_opened(files: int, connections: int) -> None:
    assert connections_within(files, 1000) == connections


def test_a_process_allows_itself_the_files_that_it_needs() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (300, hard))
    try:
        assert allow_connections(100).connections == 100
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 300
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
