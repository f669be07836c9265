"""The command `open`: the engine's page, in the browser."""

from kb.cli.ending import end_with
from kb.cli.exits import Exit
from kb.cli.options import EngineUrl

PAGE_WITHIN_SECONDS = 10.0


def open_page(*, engine_url: EngineUrl = None) -> None:
    """Open the engine's page in the browser.

    $ kb open
    $ kb open --engine-url http://other:8000

    Prints where the page is; where there is no browser, it does only that.
    """
    import webbrowser

    from kb.cli.calling import call_engine
    from kb.cli.render.programs import NO_BROWSER, no_page
    from kb.cli.render.terminal import complain

    url, has_page = call_engine(engine_url, lambda engine: _find_page(engine_url))
    if not has_page:
        end_with(no_page(url), Exit.NOT_FOUND)
    print(url)
    if not webbrowser.open(url):
        complain(NO_BROWSER)


async def _find_page(engine_url: str | None) -> tuple[str, bool]:
    """Where it would be, and whether it is there. The engine has answered before, so its settings are good."""
    import httpx

    from kb.settings import load_client_settings

    url = f"{load_client_settings({'engine_url': engine_url}).engine_url.rstrip('/')}/"
    async with httpx.AsyncClient(trust_env=False, timeout=PAGE_WITHIN_SECONDS) as http:
        response = await http.get(url)
    return url, response.is_success and response.headers.get("Content-Type", "").startswith("text/html")
