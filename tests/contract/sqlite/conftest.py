from pathlib import Path

import pytest
from tests.backends import Backend, SqliteBackend


@pytest.fixture(params=["sqlite"])
def backend(folder: Path) -> Backend:
    """What is tested here is how SQLite keeps its promises."""
    return SqliteBackend(folder)
