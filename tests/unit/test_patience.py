"""How long a server waits for a client: laws that hold for any client."""

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.serving.patience import Awaited, Limits, Patience

LIMITS = Limits()
ENOUGH = int(LIMITS.silence_seconds + LIMITS.head_within_seconds + LIMITS.rest_within_seconds)
MOVING = (Awaited.BODY, Awaited.TAKING)
ANY_BYTES = st.lists(st.integers(0, 2_000), min_size=ENOUGH, max_size=4 * ENOUGH)


def seconds_until_over(awaited: Awaited, moved: list[int]) -> int | None:
    """What moves in each second does so before the look at its end."""
    patience = Patience(LIMITS)
    # The look at which it began to be awaited.
    patience.is_over(awaited)
    for second, size in zip(count(2), moved, strict=False):
        if size:
            patience.note_progress(size)
        if patience.is_over(awaited):
            return second
    return None


@given(ANY_BYTES)
def test_a_head_or_the_rest_of_a_body_ends_in_time_however_it_comes(received: list[int]) -> None:
    assert seconds_until_over(Awaited.HEAD, received) == LIMITS.head_within_seconds + 1
    assert seconds_until_over(Awaited.REST_OF_BODY, received) == LIMITS.rest_within_seconds + 1


@given(ANY_BYTES)
def test_nothing_is_waited_for_without_end(received: list[int]) -> None:
    assert seconds_until_over(Awaited.NOTHING, received) is None


@pytest.mark.parametrize("awaited", MOVING)
@given(st.integers(1, int(LIMITS.silence_seconds) - 1), st.integers(1, 20))
def test_what_moves_in_bursts_is_waited_for_if_it_is_fast_enough_on_the_whole(
    awaited: Awaited, pause: int, bursts: int
) -> None:
    burst = (pause + 2) * LIMITS.least_bytes_per_second

    assert seconds_until_over(awaited, [burst, *[0] * pause] * bursts) is None


@pytest.mark.parametrize("awaited", MOVING)
@given(st.lists(st.integers(0, LIMITS.least_bytes_per_second - 1), min_size=100, max_size=200))
def test_what_moves_below_the_least_speed_ends(awaited: Awaited, moved: list[int]) -> None:
    over = seconds_until_over(awaited, moved)

    assert over is not None
    assert over <= LIMITS.silence_seconds + 1


@given(st.integers(0, 60))
def test_silence_ends_a_body_and_an_answer_after_the_same_time(before: int) -> None:
    silence = [10_000] * before + [0] * 60

    for awaited in MOVING:
        over = seconds_until_over(awaited, silence)
        assert over is not None
        assert over - before <= LIMITS.silence_seconds + 2


def test_what_was_awaited_before_does_not_count() -> None:
    patience = Patience(LIMITS)
    for _ in range(ENOUGH):
        patience.is_over(Awaited.BODY)

    assert not any(patience.is_over(Awaited.HEAD) for _ in range(int(LIMITS.head_within_seconds)))
    assert patience.is_over(Awaited.HEAD)
