import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.backends import BACKENDS, Backend
from tests.folders import open_folder

from kb.engine.mapping.mapmaker import Mapmaker
from kb.engine.ports import Store


@pytest.fixture
def folder() -> Iterator[Path]:
    with open_folder() as folder:
        yield Path(folder)


@pytest.fixture(params=list(BACKENDS))
def backend(request: pytest.FixtureRequest, folder: Path) -> Iterator[Backend]:
    backend = BACKENDS[request.param](folder)
    yield backend
    backend.remove()


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


@pytest.fixture
def make_map(store: Store) -> Callable[[], None]:
    """What the worker does when it is idle; the same one each time."""
    return Mapmaker(store, threading.Event()).look
