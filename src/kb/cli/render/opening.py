"""What is told of the engine's page."""

NO_BROWSER = "There is no browser here. Open this address in one."


def no_page(url: str) -> str:
    return f"The engine at {url.rstrip('/')} has no page. Use `kb search`, or an engine that has one."
