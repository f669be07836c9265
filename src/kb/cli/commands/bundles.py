"""Commands that move documents between bases: `export` and `import`."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from kb.cli.ending import end_with
from kb.cli.exits import Exit
from kb.cli.options import STANDARD_STREAM, AsJson, EngineUrl
from kb.cli.saving import open_destination

if TYPE_CHECKING:
    from kb.client import EngineClient, Json


def export_bundle(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Where to; `-` is standard output.")],
    *,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")] = False,
    engine_url: EngineUrl = None,
) -> None:
    """Write everything into one bundle: files, vectors and history.

    $ kb export everything.tar
    $ kb export - | kb import - --engine-url http://other:8000
    """
    from kb.cli.calling import call_engine
    from kb.cli.render.bundles import NOT_FOR_TERMINALS, show_exported
    from kb.cli.render.progress import progress_of_bytes

    written = 0

    async def export(engine: "EngineClient") -> None:
        def count(size_bytes: int) -> None:
            nonlocal written
            written += size_bytes
            show(size_bytes)

        with _on_its_way():
            await engine.export_bundle(destination, on_progress=count)

    with (
        open_destination(file, force=force, not_for_terminals=NOT_FOR_TERMINALS) as destination,
        progress_of_bytes(file, None) as show,
    ):
        call_engine(engine_url, export)
    show_exported(written, None if file == STANDARD_STREAM else file)


def import_bundle(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A bundle; `-` is standard input.")],
    *,
    as_json: AsJson = False,
    engine_url: EngineUrl = None,
) -> None:
    """Add the documents of a bundle that `kb export` has written.

    $ kb import everything.tar
    $ ssh other kb export - | kb import -

    Of a document that is already there the newer version stays, so importing twice changes nothing.
    """
    from kb.cli.calling import call_engine
    from kb.cli.render.bundles import show_imported
    from kb.cli.render.progress import progress_of_bytes
    from kb.cli.render.terminal import print_json

    async def send(engine: "EngineClient") -> "Json":
        with _on_its_way():
            return await engine.import_bundle(source, on_progress=show)

    with _open_source(file) as (source, size_bytes), progress_of_bytes(file, size_bytes) as show:
        imported = call_engine(engine_url, send)
    if as_json:
        print_json(imported)
    else:
        show_imported(imported)


@contextmanager
def _open_source(file: str) -> Iterator[tuple[BinaryIO, int | None]]:
    """The bundle, and how large it is if that can be told."""
    from kb.cli.render.bundles import NO_BUNDLE
    from kb.cli.render.problems import cannot_be_read

    if file == STANDARD_STREAM:
        if sys.stdin.isatty():
            end_with(NO_BUNDLE, Exit.USAGE)
        yield sys.stdin.buffer, None
        return
    try:
        source = Path(file).open("rb")  # noqa: SIM115  closed below, where errors are no longer about opening it
    except OSError as error:
        code = Exit.NOT_FOUND if isinstance(error, FileNotFoundError) else Exit.FAILED
        end_with(cannot_be_read(error), code)
    with source:
        yield source, os.fstat(source.fileno()).st_size


@contextmanager
def _on_its_way() -> Iterator[None]:
    """What goes wrong between the engine's acceptance and the end of the bundle."""
    import httpx

    from kb.cli.render.bundles import BROKE_OFF, cannot_be_moved

    try:
        yield
    except (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError):
        end_with(BROKE_OFF, Exit.FAILED)
    except OSError as error:
        end_with(cannot_be_moved(error), Exit.FAILED)
