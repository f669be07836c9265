"""Every address of both programs, and every way to get there without its key."""

import itertools

import httpx
import pytest
from tests.amounts import Tell
from tests.engine_program import EngineProgram
from tests.keys import bearer
from tests.security.surfaces import (
    NOTE_TEXT,
    PUBLIC_PATHS,
    V1,
    Door,
    Planted,
    both_programs,
    engine_doors,
    mcp_doors,
    read_base,
)
from tests.security.tricks import TRICKS, sent_path
from tests.security.wire import Answer, request_to, send_all


@pytest.fixture
def doors(guarded: EngineProgram, planted: Planted) -> list[Door]:
    engine, mcp = both_programs(guarded)
    return [*engine_doors(engine, planted), *mcp_doors(mcp, planted)]


@pytest.fixture
def public_bodies(guarded: EngineProgram) -> set[bytes]:
    """What anybody may be told."""
    engine, mcp = both_programs(guarded)
    asked = [(engine, "/health/live"), (engine, "/health/ready"), (mcp, "/health")]
    answers = send_all((to.address, request_to(to.address, "GET", path).encode()) for to, path in asked)
    assert all(answer.status == 200 for one in answers for answer in one)
    return {answer.body for one in answers for answer in one}


def test_no_trick_leads_past_the_key_of_any_route(
    doors: list[Door], public_bodies: set[bytes], api: httpx.Client, tell: Tell
) -> None:
    """E1, M2: nobody is let in, nobody learns anything, every request is answered, and nothing has changed."""
    before = read_base(api)

    pairs = [*itertools.product(doors, TRICKS)]
    sent = [TRICKS[trick](door) for door, trick in pairs]
    answers = send_all((door.program.address, one) for (door, _), one in zip(pairs, sent, strict=True))

    answered = [
        (f"{trick} at {door.name}", one, sent) for (door, trick), one, sent in zip(pairs, answers, sent, strict=True)
    ]
    let_in = [name for name, one, sent in answered if lets_in(sent, one, public_bodies)]
    assert let_in == []
    assert [name for name, one, _ in answered if not one or any(map(is_fault, one))] == []
    assert read_base(api) == before
    tell(f"bypasses: {len(doors)} routes x {len(TRICKS)} tricks = {len(sent)} requests, {len(let_in)} let in")


def lets_in(sent: bytes, answers: list[Answer], public_bodies: set[bytes]) -> bool:
    # Whoever asks for no more than the head is told none of what is public.
    is_public_head = sent.startswith(b"HEAD ") and sent_path(sent) in PUBLIC_PATHS
    harmless = {*public_bodies, b""} if is_public_head else public_bodies
    return any(
        NOTE_TEXT.encode() in answer.body or (answer.is_success and answer.body not in harmless) for answer in answers
    )


def is_fault(answer: Answer) -> bool:
    """Of the program, and not of a request whose framing or version it does not know."""
    return answer.status >= 500 and answer.status not in (501, 505)


def test_the_same_requests_are_let_in_with_the_key(doors: list[Door], public_bodies: set[bytes]) -> None:
    """E1, M2: what counts as let in is seen, over the same wire."""
    paths = {f"{V1}/documents", f"{V1}/status", f"{V1}/search", "/api/openapi.json", "/mcp"}
    reading = [door for door in doors if door.path in paths and door.method in ("GET", "POST")]

    sent = [door.request(*bearer(door.program.key).items()).encode() for door in reading]
    answers = send_all((door.program.address, one) for door, one in zip(reading, sent, strict=True))

    assert len(reading) >= 5
    for door, one, answer in zip(reading, sent, answers, strict=True):
        assert lets_in(one, list(answer), public_bodies), door.name
