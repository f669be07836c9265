"""Debian's Chromium, and windows in it that are watched."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, BrowserContext, sync_playwright
from tests.browser.looks import LIGHT, Look
from tests.browser.outside import open_outside
from tests.browser.watching import ANSWER_WITHIN_MS, Watch
from tests.needs import need_installed

FLAGS = [
    # As root, and in containers, it cannot make its sandbox; the pages are our own.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Not even a name is asked for.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]

# Chromium wants to know what the fields of a form mean. Past the proxy it finds nobody, and no page is blamed for it.
ASKED_BY_THE_BROWSER = "https://content-autofill.googleapis.com"


@contextmanager
def open_browser() -> Iterator[Browser]:
    """While it is open no event loop can be run in this thread: Playwright has one that never ends."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


def find_chromium() -> str:
    """The one without windows takes less."""
    found = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    need_installed("chromium", is_there=found is not None)
    return str(found)


def find_chromium_with_extensions() -> str:
    """The headless package cannot load extensions."""
    found = shutil.which("chromium")
    need_installed("chromium", is_there=found is not None)
    return str(found)


@contextmanager
def open_context(browser: Browser, engine_url: str, watch: Watch, look: Look = LIGHT) -> Iterator[BrowserContext]:
    """The windows of one person, whose browser has nothing in its stores, and reaches nobody but that engine."""
    with open_outside(watch.left) as outside:
        context = browser.new_context(
            base_url=engine_url,
            proxy={"server": outside.url, "bypass": ";".join(["<-loopback>", engine_url, ASKED_BY_THE_BROWSER])},
            service_workers="block",
            locale="en-GB",
            timezone_id="UTC",
            color_scheme=look.scheme,
            reduced_motion=look.motion,
            viewport=look.viewport,
            is_mobile=look.is_phone,
            has_touch=look.is_phone,
            device_scale_factor=2 if look.is_phone else 1,
        )
        context.set_default_timeout(ANSWER_WITHIN_MS)
        watch.listen_to(context, engine_url)
        try:
            yield context
        finally:
            context.close()
