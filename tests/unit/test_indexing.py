import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kb.engine.ingestion.indexing import mix_with_neighbours

EAST, NORTH = np.eye(2, dtype=np.float32)


def test_a_chunk_alone_stays_as_it_is() -> None:
    assert mix_with_neighbours(np.array([EAST])).tolist() == [EAST.tolist()]


def test_a_chunk_is_turned_towards_its_neighbours_but_stays_nearest_to_itself() -> None:
    first, second, third = mix_with_neighbours(np.array([EAST, NORTH, EAST]))

    assert 0 < first @ NORTH < first @ EAST
    assert 0 < second @ EAST < second @ NORTH
    assert np.allclose(first, third)


@given(arrays(np.float32, st.tuples(st.integers(1, 6), st.just(4)), elements=st.floats(-1, 1, width=32)))
def test_every_vector_stays_a_finite_one_of_length_1_or_nothing(vectors: np.ndarray) -> None:
    lengths = np.linalg.norm(mix_with_neighbours(vectors), axis=1)

    assert np.all(np.isfinite(lengths))
    assert np.all(np.isclose(lengths, 1, atol=1e-3) | (lengths < 1))
