import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kb.engine.ingestion.indexing import mix_with_neighbours

EAST, NORTH = np.eye(2, dtype=np.float32)


def test_a_chunk_alone_stays_as_it_is() -> None:
    assert mix_with_neighbours(np.array([EAST])).tolist() == [EAST.tolist()]


def test_a_chunk_is_turned_towards_its_neighbours_but_stays_nearest_to_itself() -> None:
    first, second, third = mix_with_neighbours(np.array([EAST, NORTH, EAST]))

    assert 0 < first @ NORTH < first @ EAST
    assert 0 < second @ EAST < second @ NORTH
    assert np.allclose(first, third)


@given(st.lists(st.floats(0, 6.3), min_size=1, max_size=6))
def test_every_vector_stays_of_length_1(angles: list[float]) -> None:
    vectors = np.array([[np.cos(angle), np.sin(angle)] for angle in angles], np.float32)

    assert np.allclose(np.linalg.norm(mix_with_neighbours(vectors), axis=1), 1, atol=1e-5)
