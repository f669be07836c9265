"""A store and its originals as they lie in a data directory, which can be backed up."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.backends import SqliteBackend

from kb.engine.originals import FolderOriginals
from kb.engine.ports import Store


@pytest.fixture
def store(folder: Path) -> Iterator[Store]:
    (folder / "data").mkdir()
    with closing(SqliteBackend(folder / "data").open()) as store:
        yield store


@pytest.fixture
def originals(folder: Path) -> FolderOriginals:
    return FolderOriginals(folder / "data" / "originals")
