"""Commands on embedding models: `model list`, `model fetch`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from kb.cli.group import Command

app = typer.Typer(help="Fetch and list embedding models.", no_args_is_help=True, rich_markup_mode=None)


@app.command("list", cls=Command)
def list_models(
    *, as_json: Annotated[bool, typer.Option("--json", help="Print them as JSON, in one line.")] = False
) -> None:
    """List the models on this machine, and the one that is used.

    $ kb model list
    """
    from kb.cli.ending import ending_plainly
    from kb.cli.render.models import show_models
    from kb.cli.render.terminal import print_json
    from kb.settings import cache_dir, load_engine_settings, model_folder

    with ending_plainly():
        from kb.engine.models_on_disk import list_models

        cache = cache_dir()
        models = list_models(cache, model_folder(load_engine_settings().embedding_model, cache))
        if as_json:
            print_json({"models": [model.to_json() for model in models]})
        else:
            show_models([model.to_json() for model in models])


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

    Does nothing if it is there. The folder where it is goes to standard output.
    """
    from kb.cli.ending import ending_plainly
    from kb.cli.render.models import fetching
    from kb.cli.render.progress import spinner
    from kb.cli.render.terminal import complain
    from kb.settings import cache_dir

    with ending_plainly():
        from kb.engine.models_on_disk import fetch_model, model_locations

        if not sys.stderr.isatty() and not model_locations(cache_dir(), None)[0].exists():
            complain(fetching(source))
        with spinner(fetching(source)):
            folder = fetch_model(cache_dir(), source)
        print(folder)
