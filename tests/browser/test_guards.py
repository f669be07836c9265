"""The guards that watch every page must be able to fail, or the other tests of this folder prove little."""

import re
import time

import pytest
from playwright.sync_api import Browser, Page
from tests.browser.accessibility import check_accessibility
from tests.browser.chromium import open_context
from tests.browser.looks import DARK, PHONE, STILL
from tests.browser.watching import Watch
from tests.engine_program import EngineProgram

STRICT = "default-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'"
LAX = "default-src * 'unsafe-inline'"
PATH = "/a-page-of-the-test"
SEEN_WITHIN_SECONDS = 10

SOUND = """<!doctype html><html lang="en"><head><title>A page</title></head>
<body><main><h1>A page</h1><label>Words <input></label></main></body></html>"""


def show(page: Page, body: str, *, policy: str = LAX) -> None:
    """A page that the engine does not have, under its address."""
    headers = {"Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policy}
    page.route(f"**{PATH}", lambda route: route.fulfill(body=body, headers=headers))
    page.goto(PATH)


def watched(browser: Browser, engine: EngineProgram, body: str, awaited: str, *, policy: str = LAX) -> Watch:
    """What was seen while that page was shown, until the awaited was: a regular expression."""
    watch = Watch()
    with open_context(browser, engine.url, watch) as context:
        page = context.new_page()
        show(page, body, policy=policy)
        deadline = time.monotonic() + SEEN_WITHIN_SECONDS
        while not re.search(awaited, "\n".join([*watch.troubles, *watch.left])):
            assert time.monotonic() < deadline, f"Only this was seen: {watch.troubles} {watch.left}"
            # What happens in a page is told only while Playwright is at work.
            page.wait_for_timeout(10)
    return watch


def test_a_sound_page_passes(page: Page, watch: Watch) -> None:
    show(page, SOUND, policy=STRICT)

    check_accessibility(page)
    assert page.get_by_label("Words").is_visible()
    assert watch.troubles == []


@pytest.mark.parametrize("opened", ["alert('boo')", "confirm('boo')", "prompt('boo')"])
def test_a_dialog_is_reported_and_does_not_hold_up_the_page(
    browser: Browser, engine: EngineProgram, opened: str
) -> None:
    watch = watched(browser, engine, f"<script>{opened}</script>", "dialog")

    with pytest.raises(AssertionError, match=r"dialog (alert|confirm|prompt): boo"):
        watch.check()


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("console.error('out of order')", "console error: out of order"),
        ("throw new Error('out of order')", "page error: out of order"),
        ("Promise.reject(new Error('out of order'))", "page error: out of order"),
        ("fetch('/no-such-thing')", "console error: Failed to load resource: .* 404"),
    ],
)
def test_an_error_in_the_page_is_reported(browser: Browser, engine: EngineProgram, script: str, told: str) -> None:
    watch = watched(browser, engine, f"<script>{script}</script>", told)

    with pytest.raises(AssertionError, match=told):
        watch.check()


@pytest.mark.parametrize(
    "body",
    [
        "<script>1</script>",
        "<p style='color: red'>red",
        "<img alt='' src='/no-such.png' onerror='1'>",
        "<img alt='' src='http://elsewhere.example/a.png'>",
        "<iframe src='http://elsewhere.example/'></iframe>",
    ],
)
def test_what_the_policy_forbids_is_reported(browser: Browser, engine: EngineProgram, body: str) -> None:
    told = r"console error: .*Content Security Policy"
    watch = watched(browser, engine, body, told, policy=STRICT)

    with pytest.raises(AssertionError, match=told):
        watch.check()
    assert watch.left == []


def test_markup_made_of_text_is_reported(browser: Browser, engine: EngineProgram) -> None:
    watch = Watch()
    with open_context(browser, engine.url, watch) as context:
        page = context.new_page()
        show(page, SOUND, policy=STRICT)
        page.evaluate("() => { try { document.body.innerHTML = '<b>bold</b>' } catch {} }")

    with pytest.raises(AssertionError, match="TrustedHTML"):
        watch.check()


@pytest.mark.parametrize(
    "body",
    [
        "<img alt='' src='http://elsewhere.example/a.png'>",
        "<link rel='stylesheet' href='https://elsewhere.example/a.css'>",
        "<script>fetch('http://elsewhere.example/a', { mode: 'no-cors' }).catch(() => {})</script>",
        "<script>navigator.sendBeacon('http://elsewhere.example/a', 'told')</script>",
        "<script>new WebSocket('ws://elsewhere.example/a')</script>",
        "<link rel='prefetch' href='http://elsewhere.example/a'>",
        "<iframe src='http://elsewhere.example/a'></iframe>",
        "<script>open('http://elsewhere.example/a')</script>",
    ],
)
def test_a_request_to_somebody_else_is_refused_and_reported(browser: Browser, engine: EngineProgram, body: str) -> None:
    watch = watched(browser, engine, body, r"elsewhere\.example\S* HTTP/1\.1")

    watch.allow("")
    with pytest.raises(AssertionError, match=r"(?s)This left the page .*elsewhere\.example"):
        watch.check()


def test_another_program_of_this_machine_is_somebody_else(browser: Browser, engine: EngineProgram) -> None:
    told = f"GET {engine.mcp_url}/mcp HTTP"
    watch = watched(browser, engine, f"<img alt='' src='{engine.mcp_url}/mcp'>", told)

    watch.allow("")
    with pytest.raises(AssertionError, match=told):
        watch.check()


def test_what_a_test_allows_is_no_trouble(page: Page, watch: Watch) -> None:
    watch.allow("dialog confirm: Sure")
    watch.allow("status of 404")

    show(page, "<script>fetch('/no-such-thing'); document.title = confirm('Sure?')</script>")

    assert page.title() == "true"


def test_a_second_tab_and_a_second_person_are_watched_too(browser: Browser, engine: EngineProgram) -> None:
    watch = Watch()
    for words in ("tab", "person"):
        with open_context(browser, engine.url, watch) as context:
            context.new_page()
            show(context.new_page(), f"<script>alert('{words}')</script>")

    assert watch.troubles == ["dialog alert: tab", "dialog alert: person"]


@pytest.mark.parametrize("policy", [LAX, STRICT])
def test_a_field_without_a_label_shuts_people_out(page: Page, policy: str) -> None:
    show(page, SOUND.replace("<label>Words <input></label>", "<input id='unnamed'>"), policy=policy)

    with pytest.raises(AssertionError, match=r"(?s)- label \(critical\): .*#unnamed"):
        check_accessibility(page)


def test_pale_text_shuts_people_out_once_it_has_faded_in(page: Page) -> None:
    style = "<style>h1 { color: #aaa; animation: fade 300ms } @keyframes fade { from { color: black } }</style>"
    show(page, SOUND.replace("</head>", f"{style}</head>"))

    with pytest.raises(AssertionError, match=r"- color-contrast \(serious\)"):
        check_accessibility(page)


@pytest.mark.parametrize(
    ("look", "asked"),
    [
        (DARK, "(prefers-color-scheme: dark)"),
        (STILL, "(prefers-reduced-motion: reduce)"),
        (PHONE, "(width: 390px) and (pointer: coarse)"),
    ],
)
def test_a_page_is_told_what_its_reader_prefers(page: Page, asked: str) -> None:
    show(page, SOUND.replace("<head>", '<head><meta name="viewport" content="width=device-width">'))

    assert page.evaluate("(query) => matchMedia(query).matches", asked)
