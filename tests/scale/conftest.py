from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.scale.cluster import settings_of
from tests.servers.postgres import PostgresServer, open_postgres
from tests.servers.seaweedfs import SeaweedFs


@pytest.fixture(scope="package")
def postgres() -> Iterator[PostgresServer]:
    """As careful with its disk as it is for others."""
    with open_postgres() as server:
        yield server


@pytest.fixture
def settings(postgres: PostgresServer, seaweedfs: SeaweedFs, model_folder: Path) -> Iterator[dict[str, str]]:
    """Of programs that share a new base."""
    database = postgres.create_database()
    yield settings_of(postgres, database, seaweedfs)
    postgres.drop_database(database)
