"""Commands on embedding models: `model fetch`, `model list`."""

from pathlib import Path
from typing import Annotated

import typer

from kb.cli.group import Command

app = typer.Typer(help="Fetch and list embedding models.", no_args_is_help=True, rich_markup_mode=None)


@app.command(cls=Command)
def fetch(
    *,
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="FOLDER", help="Copy the model from this folder instead of downloading it."),
    ] = None,
) -> None:
    """Fetch the bundled model once, verify it and make it ready.

    $ kb model fetch
    $ kb model fetch --from /media/usb/all-MiniLM-L6-v2

    Does nothing if it is there.
    """
    from kb.cli.commands.programs import ending_plainly
    from kb.settings import cache_dir

    with ending_plainly():
        from kb.engine.wiring import fetch_model

        print(fetch_model(cache_dir(), source))
