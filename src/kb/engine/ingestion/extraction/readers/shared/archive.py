"""Zip files from strangers: the containers of Office, OpenDocument and EPUB files, opened with care.

What an archive says of itself is checked before anything is unpacked, and what really comes out is counted, since
headers lie. Archives inside archives are never opened.
"""

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kb.engine.errors import Unreadable
from kb.engine.ingestion.extraction.readers.shared.refusals import corrupt, encrypted

MAX_MEMBERS = 10_000
MAX_MEMBER_BYTES = 200 * 1024 * 1024
MAX_TOTAL_BYTES = 500 * 1024 * 1024
# Honest markup shrinks to a fiftieth at best; small members may do as they like.
MAX_RATIO = 100
RATIO_COUNTS_FROM_BYTES = 10 * 1024 * 1024

_IS_ENCRYPTED = 0x1
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED_OFFICE = "EncryptedPackage".encode("utf-16-le")
_LOOKED_AT_BYTES = 1024 * 1024


class Archive:
    def __init__(self, opened: zipfile.ZipFile) -> None:
        self._opened = opened
        # Some programs put the slashes of Windows between folders.
        self._members = {member.filename.replace("\\", "/"): member for member in opened.infolist()}
        self._bytes_read = 0

    @property
    def names(self) -> list[str]:
        return list(self._members)

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def read(self, name: str) -> bytes:
        """The member's content; raises `Unreadable` if there is no such member, or it is not as small as it says."""
        member = self._members.get(name)
        if member is None:
            raise corrupt(f"It has no part {name[:100]}.")
        if member.flag_bits & _IS_ENCRYPTED:
            raise encrypted()
        allowed = min(MAX_MEMBER_BYTES, MAX_TOTAL_BYTES - self._bytes_read)
        try:
            with self._opened.open(member) as file:
                content = file.read(allowed + 1)
        except (zipfile.BadZipFile, EOFError, NotImplementedError, OSError, ValueError, zlib.error) as error:
            raise corrupt("A part of it cannot be unpacked.") from error
        if len(content) > allowed:
            raise _too_large()
        self._bytes_read += len(content)
        return content


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    with path.open("rb") as file:
        head = file.read(_LOOKED_AT_BYTES)
        if head.startswith(_OLE):
            raise _explain_old_container(head + file.read())
        try:
            opened = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise corrupt("It is not a whole zip archive.") from error
        with opened:
            _refuse_bombs(opened.infolist())
            yield Archive(opened)


def _explain_old_container(content: bytes) -> Unreadable:
    if _ENCRYPTED_OFFICE in content:
        return encrypted()
    return Unreadable(
        "unsupported_format",
        "This is a document of Office 97 to 2003. Open it, save it in today's format (.docx, .pptx, .xlsx), and add "
        "that.",
    )


def _refuse_bombs(members: list[zipfile.ZipInfo]) -> None:
    if len(members) > MAX_MEMBERS or sum(member.file_size for member in members) > MAX_TOTAL_BYTES:
        raise _too_large()
    for member in members:
        is_suspicious = member.file_size > RATIO_COUNTS_FROM_BYTES
        if is_suspicious and member.file_size > MAX_RATIO * max(1, member.compress_size):
            raise _too_large()


def _too_large() -> Unreadable:
    return Unreadable(
        "extraction_limit",
        "Unpacked, the file is larger than any honest document. If it is one, split it and add the pieces.",
    )
