from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.cli.scripted_engine import Answer, scripted_engine
from tests.engine_program import EngineProgram

Serve = Callable[[int, str], str]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts what calls itself an engine and gives this answer for its page; answers its URL."""
    with ExitStack() as servers:

        def start(status: int, media_type: str) -> str:
            def answer(method: str, path: str, headers: Mapping[str, str]) -> Answer:
                return (status if path == "/" else 200), {}, {"Content-Type": media_type}

            return servers.enter_context(scripted_engine(answer))

        yield start


def make_browser(folder: Path) -> tuple[str, Path]:
    """A command, and the file that then holds what it was given."""
    opened = folder / "opened"
    browser = folder / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}\n')
    browser.chmod(0o755)
    return str(browser), opened


def test_the_page_is_opened_in_the_browser_and_its_address_is_told(
    running_engine: EngineProgram, serve: Serve, tmp_path: Path
) -> None:
    """C1"""
    url, (browser, opened) = serve(200, "text/html; charset=utf-8"), make_browser(tmp_path)

    result = running_engine.run_kb("open", settings={"KB_ENGINE_URL": url, "BROWSER": browser})

    assert (result.returncode, result.stdout, result.stderr) == (0, f"{url}/\n", "")
    assert opened.read_text() == f"{url}/"


def test_without_a_browser_the_address_is_only_told(
    running_engine: EngineProgram, serve: Serve, tmp_path: Path
) -> None:
    url = serve(200, "text/html")
    nothing = {"BROWSER": str(tmp_path / "missing"), "PATH": str(tmp_path), "DISPLAY": "", "WAYLAND_DISPLAY": ""}

    result = running_engine.run_kb("open", settings={"KB_ENGINE_URL": url, **nothing})

    assert (result.returncode, result.stdout) == (0, f"{url}/\n")
    assert "no browser" in result.stderr


@pytest.mark.parametrize(("status", "media_type"), [(404, "text/html"), (200, "application/json")])
def test_an_engine_without_a_page_is_told_as_such(
    running_engine: EngineProgram, serve: Serve, tmp_path: Path, status: int, media_type: str
) -> None:
    """C3"""
    url, (browser, opened) = serve(status, media_type), make_browser(tmp_path)

    result = running_engine.run_kb("open", settings={"KB_ENGINE_URL": url, "BROWSER": browser})

    assert (result.returncode, result.stdout) == (3, "")
    assert f"The engine at {url} has no page." in result.stderr
    assert not opened.exists()
