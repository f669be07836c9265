"""M16: how long an agent is told to wait before it looks again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.mcp.toolsets.knowledge.estimates import estimate_seconds
from kb.sizes import BYTES_PER_MB

names = st.sampled_from(["notes.txt", "NOTES.MD", "table.csv", "report.pdf", "meadow.png", "PHOTO.JPEG", "letter", ""])
sizes = st.integers(0, 10_000 * BYTES_PER_MB)


@pytest.mark.parametrize(
    ("filename", "size_mb", "seconds"),
    [("notes.txt", 2, 50), ("NOTES.TXT", 2, 50), ("report.pdf", 2, 16), ("meadow.png", 2, 5), ("MEADOW.PNG", 0, 5)],
)
def test_text_takes_longer_than_a_file_of_its_size_that_holds_pictures(
    filename: str, size_mb: int, seconds: int
) -> None:
    assert estimate_seconds(filename, size_mb * BYTES_PER_MB) == seconds


@given(names, sizes, sizes)
def test_an_estimate_is_never_nothing_and_a_larger_file_is_never_quicker(filename: str, one: int, other: int) -> None:
    smaller, larger = sorted((one, other))

    assert 1 <= estimate_seconds(filename, smaller) <= estimate_seconds(filename, larger)


def test_a_file_of_unknown_size_is_taken_for_one_of_half_a_megabyte() -> None:
    assert estimate_seconds("report.pdf") == estimate_seconds("report.pdf", BYTES_PER_MB // 2) == 4
