"""Commands on the embedding model: `model fetch`."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="The embedding model that search by meaning needs.", no_args_is_help=True)


@app.command()
def fetch(
    *,
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="FOLDER", help="Copy the model from this folder instead of downloading it."),
    ] = None,
) -> None:
    """Fetch the model once, verify it and make it ready. Does nothing if it is there."""
    from kb.cli.programs import ending_plainly
    from kb.settings import cache_dir

    with ending_plainly():
        from kb.engine.wiring import fetch_model

        print(fetch_model(cache_dir(), source))
