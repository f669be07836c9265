from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contract.backends import BACKENDS, Backend

from kb.engine.ports import Store


@pytest.fixture(params=["sqlite"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    return BACKENDS[request.param](tmp_path)


@pytest.fixture
def store(backend: Backend) -> Iterator[Store]:
    store = backend.open()
    yield store
    store.close()


@pytest.fixture
def other_store(backend: Backend, store: Store) -> Iterator[Store]:
    """A second store object on the same base."""
    other = backend.open()
    yield other
    other.close()
