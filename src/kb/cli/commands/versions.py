"""The command `version`."""

import json
import re
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
    from kb.version import MIN_ENGINE_VERSION, VERSION

    found = _find_engine(engine_url)
    is_supported = found is not None and _numbers(found[1]) >= _numbers(MIN_ENGINE_VERSION)
    if as_json:
        engine = None if found is None else {"url": found[0], "version": found[1], "is_supported": is_supported}
        print(json.dumps({"version": VERSION, "engine": engine}))
        return
    print(f"kb {VERSION}")
    if found is None:
        return
    print(f"engine {found[1]} at {found[0]}")
    if not is_supported:
        from kb.cli.render.terminal import complain
        from kb.client import EngineTooOld

        complain(str(EngineTooOld(found[1])))


def _find_engine(engine_url: str | None) -> tuple[str, str] | None:
    """Its URL and its version; None if none answers, for whatever reason."""
    from kb.cli.probing import NoAnswer, ask
    from kb.settings import SettingsError, load_client_settings

    try:
        settings = load_client_settings({"engine_url": engine_url})
        url = settings.engine_url
        told = re.match(r"kb/([\w.+-]+)", ask(f"{url}/health/live").server)
        if told is not None:
            return url, told[1]
        # Before it told its version with every answer, the engine told it only here.
        status = ask(f"{url}/api/v1/status", settings.api_key.get_secret_value()).json
    except (SettingsError, NoAnswer):
        return None
    version = status.get("version") if isinstance(status, dict) else None
    return (url, version) if isinstance(version, str) and re.fullmatch(r"[\w.+-]+", version) else None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])
