import json

import pytest
from tests.cli.conftest import Kb, Pretend
from tests.engine_program import EngineProgram

from kb.version import VERSION


def test_the_own_version_stands_first_and_the_engines_second(kb: Kb, running_engine: EngineProgram) -> None:
    result = kb("version")

    assert result.exit_code == 0
    assert result.stdout == f"kb {VERSION}\nengine {VERSION} at {running_engine.url}\n"
    assert result.stderr == ""


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "nonsense"])
def test_without_an_engine_there_is_only_the_own_version(kb: Kb, url: str) -> None:
    """C3"""
    result = kb("version", KB_ENGINE_URL=url)

    assert result.exit_code == 0
    assert result.output == f"kb {VERSION}\n"


def test_a_wrong_key_does_not_hide_the_version(kb: Kb, locked_engine: EngineProgram) -> None:
    assert "engine " in kb("version", KB_ENGINE_URL=locked_engine.url).stdout


def test_an_engine_that_is_too_old_is_told_and_is_no_failure(kb: Kb, pretend: Pretend) -> None:
    """E26"""
    url = pretend(200, b'{"version": "2.11.4"}')

    result = kb("version", KB_ENGINE_URL=url)

    assert result.exit_code == 0
    assert f"engine 2.11.4 at {url}" in result.stdout
    assert "3.0.0 or newer" in result.stderr


@pytest.mark.parametrize("body", [b"<h1>Welcome</h1>", b"[]", b'{"version": 7}', b'{"version": "\\u001b[31m"}'])
def test_what_is_no_engine_is_not_called_one(kb: Kb, pretend: Pretend, body: bytes) -> None:
    assert kb("version", KB_ENGINE_URL=pretend(200, body)).output == f"kb {VERSION}\n"


def test_as_json_both_versions_are_told(kb: Kb, running_engine: EngineProgram) -> None:
    told = json.loads(kb("version", "--json").stdout)

    engine = {"url": running_engine.url, "version": VERSION, "is_supported": True}
    assert told == {"version": VERSION, "engine": engine}
    assert json.loads(kb("version", "--json", KB_ENGINE_URL="http://127.0.0.1:1").stdout)["engine"] is None
