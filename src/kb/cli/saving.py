"""Putting what the engine sends into a file, or into the pipe that stands there."""

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from kb.cli.ending import end_with
from kb.cli.exits import Exit
from kb.cli.options import STANDARD_STREAM

if TYPE_CHECKING:
    from kb.client import EngineClient, Json


def save_original(document: "Json", file: str, engine_url: str | None, *, force: bool) -> None:
    from kb.cli.calling import call_engine
    from kb.cli.render.progress import progress_of_bytes
    from kb.cli.render.saving import BROKE_OFF, NOT_FOR_TERMINALS, show_saved

    async def download(engine: "EngineClient") -> None:
        import httpx

        try:
            await engine.download_document_file(document["id"], destination, on_progress=show)
        except (httpx.ReadError, httpx.RemoteProtocolError):
            end_with(BROKE_OFF, Exit.FAILED)

    with (
        open_destination(file, force=force, not_for_terminals=NOT_FOR_TERMINALS) as destination,
        progress_of_bytes(document["filename"], document["size_bytes"]) as show,
    ):
        call_engine(engine_url, download)
    if file != STANDARD_STREAM:
        show_saved(document["size_bytes"], file)


def _open_private(path: str, flags: int) -> int:
    """Open a file that only the user can read, whatever the umask is: a bundle contains the whole base."""
    return os.open(path, flags, 0o600)


@contextmanager
def open_destination(file: str, *, force: bool, not_for_terminals: str) -> Iterator[BinaryIO]:
    """Where to write; a file is there under its name only when all of it is.

    Ends the command if standard output is a terminal, and if there is such a file that is not to be replaced.
    """
    from kb.cli.render.saving import NO_FILE, cannot_be_written, file_exists

    if file == STANDARD_STREAM:
        if sys.stdout.isatty():
            end_with(not_for_terminals, Exit.USAGE)
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    place = Path(file)
    partial = place.with_name(f".kb-{secrets.token_hex(8)}.partial")
    try:
        # What is no file, such as a folder or a device, is not replaced in any case.
        if os.path.lexists(place) and not (force and place.is_file()):
            end_with(file_exists(place) if place.is_file() else NO_FILE, Exit.REFUSED)
        with open(partial, "xb", opener=_open_private) as destination:
            yield destination
            destination.flush()
            os.fsync(destination.fileno())
        partial.replace(place)
    except OSError as error:
        end_with(cannot_be_written(error), Exit.FAILED)
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
