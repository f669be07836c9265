"""Engines and workers that share a database and a bucket and nothing else: each is a process with its own folder."""

import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil
from tests.engine_program import READY_WITHIN_SECONDS, STOP_WITHIN_SECONDS, kb_command, own_environment
from tests.servers.postgres import PostgresServer
from tests.servers.seaweedfs import SeaweedFs

ANSWER_WITHIN_SECONDS = 30.0


class Host:
    """A program on a machine of its own. An engine keeps its port over restarts."""

    process: subprocess.Popen[str]

    def __init__(self, folder: Path, settings: dict[str, str], *command: str) -> None:
        folder.mkdir()
        self.log = folder / "log"
        self._command = command
        self._port = "0"
        own = {"KB_DATA_DIR": str(folder / "data")}
        if not self.is_engine:
            # As on the other machines, where it matters; a worker listens on nothing.
            own["KB_HOST"] = "0.0.0.0"  # noqa: S104
        self._environment = own_environment(folder, {**settings, **own})

    @property
    def is_engine(self) -> bool:
        return self._command[0] == "engine"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        command = [*self._command, "--port", self._port] if self.is_engine else self._command
        with self.log.open("a") as log:
            self.process = subprocess.Popen(kb_command(*command), env=self._environment, stderr=log, text=True)

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + READY_WITHIN_SECONDS
        while not self._is_ready():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.05)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(STOP_WITHIN_SECONDS)

    def stop(self) -> int:
        self.process.terminate()
        return self.process.wait(STOP_WITHIN_SECONDS)

    def _is_ready(self) -> bool:
        if not self.is_engine:
            # It listens for jobs as long as it works.
            return any(one.status == "ESTABLISHED" for one in psutil.Process(self.process.pid).net_connections("tcp"))
        if self._port == "0":
            found = re.search(r"on http://127\.0\.0\.1:(\d+)", self.log.read_text())
            if found is None:
                return False
            self._port = found[1]
        try:
            return httpx.get(f"{self.url}/health/ready", trust_env=False).is_success
        except httpx.TransportError:
            return False


class Cluster:
    def __init__(self, folder: Path, settings: dict[str, str], *, engines: int, workers: int) -> None:
        self.engines = [Host(folder / f"engine{n}", settings, "engine", "--no-worker") for n in range(engines)]
        self.workers = [Host(folder / f"worker{n}", settings, "worker") for n in range(workers)]

    @property
    def hosts(self) -> list[Host]:
        return [*self.engines, *self.workers]

    def connect(self, engine: Host) -> httpx.Client:
        return httpx.Client(base_url=f"{engine.url}/api/v1", trust_env=False, timeout=ANSWER_WITHIN_SECONDS)


def settings_of(server: PostgresServer, database: str, seaweedfs: SeaweedFs) -> dict[str, str]:
    bucket = seaweedfs.new_place()
    return {
        "KB_STORE_URL": server.url(database),
        "KB_ORIGINALS_URL": bucket.url,
        "KB_S3_ENDPOINT": seaweedfs.endpoint,
        "KB_S3_ACCESS_KEY": bucket.access_key,
        "KB_S3_SECRET_KEY": bucket.secret_key,
    }


@contextmanager
def open_cluster(folder: Path, settings: dict[str, str], *, engines: int, workers: int) -> Iterator[Cluster]:
    cluster = Cluster(folder, settings, engines=engines, workers=workers)
    # The first makes the tables; the others need not wait for one another.
    for host in cluster.hosts:
        host.start()
    try:
        for host in cluster.hosts:
            host.wait_until_ready()
        yield cluster
    finally:
        for host in cluster.hosts:
            if host.process.poll() is None:
                host.process.terminate()
        for host in cluster.hosts:
            host.process.wait(STOP_WITHIN_SECONDS)
