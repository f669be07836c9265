"""Real engines, and windows of a real browser on them.

An engine is started once for all files of this folder that one process runs, and keeps what earlier tests put into it:
a test looks for words and tags of its own. The browser is started for each file, since tests of other folders could
run no event loop beside it.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.chromium import open_browser, open_context
from tests.browser.filling import clear
from tests.browser.looks import LIGHT, PHONE, Look
from tests.browser.watching import ANSWER_WITHIN_MS, Watch
from tests.engine_program import EngineAlone, EngineProgram

# The other process of tests may take both cores for a while.
expect.set_options(timeout=ANSWER_WITHIN_MS)

ENGINE_KEY = "the-key-of-the-engine"
READING_KEY = "a-key-that-may-only-read"


class OpenPage(Protocol):
    def __call__(self, engine: EngineProgram = ..., look: Look = ...) -> Page: ...


@pytest.fixture(scope="session")
def shared_engine(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineProgram]:
    yield from _running(EngineProgram(tmp_path_factory.mktemp("browsed-engine")))


@pytest.fixture(scope="session")
def keyed_engine(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineProgram]:
    """It demands `ENGINE_KEY`, or `READING_KEY` from who only reads. For all files too."""
    settings = {"KB_API_KEY": ENGINE_KEY, "KB_API_KEY_READONLY": READING_KEY}
    yield from _running(EngineAlone(tmp_path_factory.mktemp("keyed-engine"), settings))


@pytest.fixture(scope="session")
def spare_engine(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineProgram]:
    yield from _running(EngineAlone(tmp_path_factory.mktemp("spare-engine")))


@pytest.fixture
def empty_engine(spare_engine: EngineProgram) -> EngineProgram:
    """With nothing in it, and for this test alone meanwhile: it may be stopped, and must be started again."""
    clear(spare_engine)
    return spare_engine


def _running(program: EngineProgram) -> Iterator[EngineProgram]:
    with program.running():
        yield program
    assert "Traceback" not in program.log.read_text()


@pytest.fixture
def engine(shared_engine: EngineProgram) -> EngineProgram:
    """The one that `page` shows. A file of tests may override it by another."""
    return shared_engine


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as browser:
        yield browser


@pytest.fixture
def watch() -> Iterator[Watch]:
    """Over all pages of a test, which fails in the end if anything was amiss in one. Only for what it is to allow."""
    watch = Watch()
    yield watch
    watch.check()


@pytest.fixture
def look() -> Look:
    """How `page` shows itself: `@pytest.mark.parametrize("look", [LIGHT, DARK, PHONE])` runs a test in each."""
    return LIGHT


@pytest.fixture
def open_page(browser: Browser, engine: EngineProgram, look: Look, watch: Watch) -> Iterator[OpenPage]:
    """Each call is another person, with a browser of their own: `open_page()`, `open_page(keyed_engine, DARK)`.

    A second tab of the same person is `page.context.new_page()`.
    """
    with ExitStack() as opened:

        def open_new(engine: EngineProgram = engine, look: Look = look) -> Page:
            return opened.enter_context(open_context(browser, engine.url, watch, look)).new_page()

        yield open_new


@pytest.fixture
def page(open_page: OpenPage) -> Page:
    """Blank, and for `engine`: `page.goto("/")` comes first."""
    return open_page()


@pytest.fixture
def phone_page(open_page: OpenPage) -> Page:
    """390 by 844, with touch."""
    return open_page(look=PHONE)


@pytest.fixture
def keyed_page(open_page: OpenPage, keyed_engine: EngineProgram) -> Page:
    """For an engine that demands `ENGINE_KEY`, which the page has not been given yet."""
    return open_page(keyed_engine)


@pytest.fixture
def empty_page(empty_engine: EngineProgram, open_page: OpenPage) -> Page:
    """For an engine with nothing in it, of this test alone; it ends after the page does."""
    return open_page(empty_engine)
