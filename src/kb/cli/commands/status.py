"""The command `status`."""

from kb.cli.options import AsJson, EngineUrl


def status(*, as_json: AsJson = False, engine_url: EngineUrl = None) -> None:
    """Show how the engine is and what it holds.

    $ kb status
    $ kb status --json
    """
    from kb.cli.calling import call_engine
    from kb.cli.render.status import show_status
    from kb.cli.render.terminal import print_json

    answer = call_engine(engine_url, lambda engine: engine.get_status())
    if as_json:
        print_json(answer)
    else:
        show_status(answer)
