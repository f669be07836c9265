"""What must not happen in a page, whatever a test is about: dialogs, errors, and requests to others than the engine."""

import re
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Dialog, Request, WebError

ANSWER_WITHIN_MS = 30_000
"""How long a page may take for anything that a test waits for."""


class Watch:
    """Listens to every page of a test's contexts. What a test provokes on purpose it allows."""

    def __init__(self) -> None:
        self.left: list[str] = []
        """The requests that reached somebody else than the engine. No test may allow these."""
        self._allowed: list[str] = []
        self._seen: list[str] = []

    def allow(self, pattern: str) -> None:
        """A regular expression; it holds for what has happened already and for what will.

        What it is tried on begins with `dialog alert:`, `console error:`, `page error:` or `request:`. A dialog that
        is allowed beforehand is accepted, any other dismissed.
        """
        self._allowed.append(pattern)

    @property
    def troubles(self) -> list[str]:
        """Violations of the page's policy are among them: the browser puts them on the console, as errors."""
        return [line for line in self._seen if not self._is_allowed(line)]

    def check(self) -> None:
        """Once the contexts are closed."""
        assert not self.troubles, "\n".join(["The page was not to do this:", *self.troubles])
        assert not self.left, "\n".join(["This left the page for others than the engine:", *self.left])

    def listen_to(self, context: BrowserContext, engine_url: str) -> None:
        context.on("dialog", self._on_dialog)
        context.on("console", self._on_console)
        context.on("weberror", self._on_web_error)
        context.on("request", lambda request: self._on_request(request, engine_url))

    def _is_allowed(self, line: str) -> bool:
        return any(re.search(pattern, line) for pattern in self._allowed)

    def _on_dialog(self, dialog: Dialog) -> None:
        line = f"dialog {dialog.type}: {dialog.message}"
        self._seen.append(line)
        if self._is_allowed(line):
            dialog.accept()
        else:
            dialog.dismiss()

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "assert"):
            self._seen.append(f"console error: {message.text} ({message.location['url']})")

    def _on_web_error(self, error: WebError) -> None:
        self._seen.append(f"page error: {error.error}")

    def _on_request(self, request: Request, engine_url: str) -> None:
        url = urlsplit(request.url)
        # What a policy stops is here too: a page that is as it should be does not even try.
        if url.scheme in ("http", "https") and f"{url.scheme}://{url.netloc}" != engine_url:
            self._seen.append(f"request: {request.method} {request.url}")
