"""The command `version`."""

import json
from typing import Annotated

import typer

from kb.cli.options import EngineUrl


def version(
    *,
    engine_url: EngineUrl = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON, in one line.")] = False,
) -> None:
    """Show the versions of this program and of the engine.

    $ kb version
    $ kb version --json

    The engine's is shown if one answers within a second.
    """
    from kb.version import VERSION, is_supported

    url, engine_version = _find_engine(engine_url)
    if as_json:
        engine = {"url": url, "version": engine_version, "is_supported": is_supported(engine_version)}
        print(json.dumps({"version": VERSION, "engine": engine if engine_version else None}))
        return
    print(f"kb {VERSION}")
    if not engine_version:
        return
    print(f"engine {engine_version} at {url}")
    if not is_supported(engine_version):
        from kb.cli.render.terminal import complain
        from kb.client import EngineTooOld

        complain(str(EngineTooOld(engine_version)))


def _find_engine(engine_url: str | None) -> tuple[str, str]:
    """Its URL and its version; the version is empty if none answers, for whatever reason."""
    from kb.cli.probing import NoAnswer, ask, ask_engine
    from kb.settings import SettingsError, load_client_settings, present_key
    from kb.version import version_in

    try:
        settings = load_client_settings({"engine_url": engine_url})
        url = settings.engine_url
        if version := version_in(ask(f"{url}/health/live").server):
            return url, version
        # Before it told its version with every answer, the engine told it only here.
        version = ask_engine(url, "status", present_key(settings.api_key)).json["version"]
        return url, version_in("kb/" + version) or ""
    except (SettingsError, NoAnswer, LookupError, TypeError):
        return "", ""
