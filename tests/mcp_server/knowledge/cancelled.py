"""What is left of a document that was given up."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.engine_program import EngineProgram
from tests.following_jobs import find_page, find_readers
from tests.waiting import until

from kb.client import EngineClient, Json


@dataclass(frozen=True)
class Base:
    """Where the documents would be."""

    engine: EngineProgram
    client: EngineClient
    files: Path
    """What can be added to them."""

    async def wait_for_reading(self) -> Json:
        """The job that is under way, once its pages are being read."""
        return await self._wait_for_job("running", lambda job: find_page(job) > 0)

    @contextmanager
    def reading_halted(self) -> Iterator[None]:
        """What is being read is not read to its end meanwhile, however fast the machine is."""
        readers = find_readers(self.engine)
        for reader in readers:
            reader.suspend()
        try:
            yield
        finally:
            for reader in readers:
                reader.resume()

    async def wait_for_queued(self) -> Json:
        return await self._wait_for_job("queued", lambda job: True)

    async def _wait_for_job(self, status: str, is_meant: Callable[[Json], bool]) -> Json:
        found: list[Json] = []

        async def is_there() -> bool:
            found[:] = filter(is_meant, (await self.client.list_jobs(status=status))["jobs"])
            return bool(found)

        await until(is_there)
        (job,) = found
        return job

    async def wait_until_nothing_is_left(self, job: Json) -> None:
        """Of a job that was cancelled."""

        async def is_gone() -> bool:
            return not await self._tell_what_is_left(job)

        await until(is_gone)

    async def _tell_what_is_left(self, job: Json) -> Json:
        status = await self.client.get_status()
        hits = (await self.client.search("godwit"))["results"]
        found = {
            "job": (await self.client.get_job(job["uuid"]))["status"] != "cancelled",
            "queue": status["queue"]["queued"] + status["queue"]["running"],
            "readers": find_readers(self.engine),
            "documents": (await self.client.list_documents(q=job["filename"]))["total"],
            "hits": [hit for hit in hits if hit["filename"] == job["filename"]],
            "originals": self._find_originals(job["filename"]),
        }
        return {name: value for name, value in found.items() if value}

    def _find_originals(self, filename: str) -> list[Path]:
        digest = hashlib.sha256((self.files / filename).read_bytes()).hexdigest()
        return [path for path in (self.engine.data_dir / "originals").rglob("*") if digest[4:] in path.name]
