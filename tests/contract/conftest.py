from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contract.backends import BACKENDS, Backend
from tests.folders import open_folder

from kb.engine.ports import Store


@pytest.fixture
def folder() -> Iterator[Path]:
    with open_folder() as folder:
        yield Path(folder)


@pytest.fixture(params=["sqlite"])
def backend(request: pytest.FixtureRequest, folder: Path) -> Backend:
    return BACKENDS[request.param](folder)


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
