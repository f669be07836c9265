"""The scenarios that the MCP server was specified by, on PostgreSQL: agents cannot tell which store is behind it."""

import os
import subprocess
import sys
from pathlib import Path

from tests.servers.postgres import PostgresServer

ROOT = Path(__file__).parents[2]
SCENARIOS = sorted(str(path) for path in (ROOT / "tests" / "mcp_server").glob("test_scenarios_*.py"))
DONE_WITHIN_SECONDS = 300


def test_m1_every_scenario_passes_on_postgresql(postgres: PostgresServer) -> None:
    database = postgres.create_database()

    # In a process of its own, so that no fixture is shared with tests on SQLite.
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *SCENARIOS],
        cwd=ROOT,
        env={**os.environ, "TEST_STORE_URL": postgres.url(database)},
        capture_output=True,
        text=True,
        check=False,
        timeout=DONE_WITHIN_SECONDS,
    )

    postgres.drop_database(database)
    assert done.returncode == 0, done.stdout
    assert " skipped" not in done.stdout
