"""Room that is kept on the disk, so that something can be deleted when it is full."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kb.engine.errors import StorageFull
from kb.engine.reserve import LARGEST_BYTES, SMALLEST_BYTES, Reserve


def test_there_is_none_until_somebody_asks_for_it(tmp_path: Path) -> None:
    reserve = Reserve(tmp_path)
    assert list(tmp_path.iterdir()) == []

    reserve.refill()

    assert (tmp_path / "reserve").stat().st_size == LARGEST_BYTES


@pytest.mark.parametrize("can_allocate", [True, False])
def test_the_room_is_really_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, can_allocate: bool) -> None:
    if not can_allocate:
        monkeypatch.delattr(os, "posix_fallocate")

    Reserve(tmp_path).refill()

    assert (tmp_path / "reserve").stat().st_blocks * 512 >= LARGEST_BYTES


@pytest.mark.parametrize("size_bytes", [0, 4096, LARGEST_BYTES - 1])
def test_what_a_kill_left_half_done_is_completed(tmp_path: Path, size_bytes: int) -> None:
    (tmp_path / "reserve").write_bytes(bytes(size_bytes))

    Reserve(tmp_path).refill()

    assert (tmp_path / "reserve").stat().st_size == LARGEST_BYTES


def refuse_beyond(limit_bytes: int) -> Callable[[int, int, int], None]:
    """A disk that has so much room."""
    allocate = os.posix_fallocate

    def allocate_within(descriptor: int, offset: int, size_bytes: int) -> None:
        if size_bytes > limit_bytes:
            os.ftruncate(descriptor, limit_bytes)
            raise OSError(28, "No space left on device")
        allocate(descriptor, offset, size_bytes)

    return allocate_within


@pytest.mark.parametrize(("before", "after"), [(0, LARGEST_BYTES // 4), (LARGEST_BYTES // 3, LARGEST_BYTES // 3)])
def test_where_there_is_less_room_it_takes_less_and_gives_up_nothing_that_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: int, after: int
) -> None:
    (tmp_path / "reserve").write_bytes(bytes(before))
    monkeypatch.setattr(os, "posix_fallocate", refuse_beyond(LARGEST_BYTES // 3))

    Reserve(tmp_path).refill()

    assert (tmp_path / "reserve").stat().st_size == after


def test_where_there_is_no_room_there_is_no_reserve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "posix_fallocate", refuse_beyond(SMALLEST_BYTES - 1))

    Reserve(tmp_path).refill()

    assert list(tmp_path.iterdir()) == []


def test_it_is_given_up_for_a_deletion_and_taken_again(tmp_path: Path) -> None:
    reserve = Reserve(tmp_path)
    reserve.refill()
    there: list[bool] = []

    def delete() -> str:
        there.append((tmp_path / "reserve").exists())
        if there == [True]:
            raise StorageFull("The disk is full.")
        return "deleted"

    assert reserve.delete(delete) == "deleted"

    assert there == [True, False]
    assert (tmp_path / "reserve").stat().st_size == LARGEST_BYTES


def test_where_it_does_not_help_the_caller_is_told_and_it_is_taken_again(tmp_path: Path) -> None:
    reserve = Reserve(tmp_path)
    reserve.refill()
    tries: list[int] = []

    def delete() -> None:
        tries.append(1)
        raise StorageFull("The disk is full.")

    with pytest.raises(StorageFull):
        reserve.delete(delete)

    assert len(tries) == 2
    assert (tmp_path / "reserve").exists()


def test_without_a_reserve_a_deletion_is_tried_once(tmp_path: Path) -> None:
    tries: list[int] = []

    def delete() -> None:
        tries.append(1)
        raise StorageFull("The disk is full.")

    with pytest.raises(StorageFull):
        Reserve(tmp_path).delete(delete)

    assert len(tries) == 1
