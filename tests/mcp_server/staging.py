"""What tests of uploads need: something to send, somebody to receive it, and a look at the disk."""

import base64
from pathlib import Path
from typing import BinaryIO

from kb.client import Json
from kb.mcp.uploads import Upload, Uploads


class Recipient:
    """Takes whole files, as the engine does."""

    def __init__(self) -> None:
        self.contents: list[bytes] = []

    async def send(self, file: BinaryIO, upload: Upload) -> Json:
        self.contents.append(file.read())
        return {"job_id": len(self.contents), "filename": upload.filename, "tags": [*upload.tags]}


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


def start(uploads: Uploads, total_size: int) -> str:
    return uploads.start("agent", filename="a.txt", total_size=total_size, tags=["x"]).id


def staged_files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and path.name != "lock"]
