from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from tests.backends import PostgresBackend


@pytest.fixture(params=["postgres"])
def backend(folder: Path) -> Iterator[PostgresBackend]:
    """What is tested here is how PostgreSQL keeps its promises."""
    backend = PostgresBackend(folder)
    yield backend
    backend.remove()


@pytest.fixture
def sql(backend: PostgresBackend) -> Iterator[psycopg.Connection]:
    """For what tests do and see behind the store's back."""
    with psycopg.connect(backend.url, autocommit=True) as connection:
        yield connection
