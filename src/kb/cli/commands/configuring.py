"""The command `config`."""

from contextlib import suppress
from typing import Annotated

import typer

from kb.cli.ending import end_with
from kb.cli.exits import Exit


def config(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Only this one: `port`, KB_PORT or --port.", show_default=False)
    ] = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON, in one line.")] = False,
) -> None:
    """Show every setting, its value, and where that comes from.

    $ kb config
    $ kb config engine_url
    $ kb config --json

    A flag of a command wins over the environment, that over the file, and the file over the default. Secrets are
    not shown, only whether they are set.
    """
    from kb.cli.render.configuring import describe, show_option, show_settings, unknown_setting
    from kb.cli.render.terminal import print_json
    from kb.cli.unknown_names import warn_once
    from kb.settings import SettingsError
    from kb.settings.explaining import explain_settings

    explanation = explain_settings()
    if name is None:
        if as_json:
            print_json(describe(explanation))
        else:
            show_settings(explanation)
            # What keeps the file from being read is among the problems.
            with suppress(SettingsError):
                warn_once()
        raise typer.Exit(Exit.FAILED if explanation.problems else Exit.DONE)
    option = explanation.find(name)
    if option is None:
        end_with(unknown_setting(name, [one.name for one in explanation.options]), Exit.NOT_FOUND)
    show_option(option, as_json=as_json)
    raise typer.Exit(Exit.FAILED if option.problem else Exit.DONE)
