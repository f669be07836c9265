"""Originals, put in their place and looked for there."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import obstore
from obstore.store import S3Store

from kb.engine.originals import DamagedOriginal, FolderOriginals, Originals


def keep(originals: Originals, content: bytes) -> str:
    """Its name."""
    with originals.receive() as incoming, originals.locked():
        incoming.write(content)
        name = incoming.finish()
        originals.keep(incoming, name)
    return name


def is_kept(originals: Originals, name: str) -> bool:
    try:
        originals.check(name)
    except DamagedOriginal:
        return False
    return True


def path_in(originals: Originals, name: str) -> Path:
    """Where the file is, whether it is or not."""
    assert isinstance(originals, FolderOriginals)
    return originals.path_of(name)


def list_copies(objects: S3Store, name: str) -> list[str]:
    """The objects that are an original, oldest first."""
    return sorted(copy["path"] for page in obstore.list(objects, name) for copy in page)


@dataclass
class Clock:
    """What an object was written at is up to its server; who looks at it can be later than now."""

    ahead: timedelta = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead


def nothing(name: str) -> bool:
    return False


def everything(name: str) -> bool:
    return True
