import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.backends import BACKENDS, Backend
from tests.folders import open_folder
from tests.waiting import WITHIN_SECONDS

from kb.engine.mapping.mapmaker import Mapmaker
from kb.engine.ports import Store
from kb.engine.storage.postgres import keywords, matching
from kb.engine.storage.words import completion, spelling


@pytest.fixture(autouse=True)
def unhurried_searches() -> Iterator[None]:
    """PostgreSQL measures what a search may take by the clock on the wall: a machine that stalls would give it up."""
    # Beneath what a test sets and undoes itself.
    with pytest.MonkeyPatch.context() as patch:
        for module in (keywords, matching, spelling):
            patch.setattr(module, "LONGEST_SEARCH_SECONDS", WITHIN_SECONDS)
        patch.setattr(completion, "LONGEST_COUNT_SECONDS", WITHIN_SECONDS)
        yield


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
