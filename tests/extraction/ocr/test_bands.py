"""What is too long to be looked at in one go is cut between its lines."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kb.engine.ingestion.extraction.ocr.bands import cut_into_bands


@given(st.integers(1, 40), st.integers(1, 300), st.integers(1, 90), st.sampled_from([0, 1]), st.integers(0, 2**32 - 1))
def test_bands_follow_one_another_and_none_is_too_long(
    breadth: int, length: int, longest: int, axis: int, seed: int
) -> None:
    grey = np.random.default_rng(seed).integers(0, 256, (length, breadth), dtype=np.uint8)

    bands = list(cut_into_bands(grey if axis == 0 else grey.T, longest=longest, axis=axis))

    assert [0, *(end for _, end in bands)] == [*(start for start, _ in bands), length]
    assert all(0 < end - start <= longest for start, end in bands)


def test_a_cut_goes_through_the_gap_between_two_lines() -> None:
    page = np.full((400, 200), 230, dtype=np.uint8)
    for top in range(0, 400, 40):
        page[top : top + 25, ::2] = 20

    for picture, axis in ((page, 0), (page.T, 1), (255 - page, 0)):
        cuts = [end for _, end in cut_into_bands(picture, longest=150, axis=axis)][:-1]
        assert cuts
        assert all(28 <= cut % 40 <= 37 for cut in cuts)
