"""C6: the engine's key is sent only to a program that has answered as an engine without it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.cli.conftest import Kb
from tests.cli.scripted_engine import Answer, scripted_engine

KEY = "hidden-key"
STATUS = {"version": "3.0.0", "documents": {"total": 0}}
NO_KB = {"Server": "unknown", "WWW-Authenticate": "Bearer"}
COMMANDS = [
    ["status"],
    ["search", "x"],
    ["addnote", "x"],
    ["list"],
    ["get", "1"],
    ["version"],
    ["doctor", "--quick"],
    ["open"],
    ["completion", "zsh", "--", "kb", "search", "x", "--tag", ""],
]


@contextmanager
def listener(*answers: Answer) -> Iterator[tuple[str, list[str]]]:
    """Its URL, and the requests that arrived. It gives these answers one after the other, and then repeats the last."""
    arrived: list[str] = []
    left = list(answers)

    def answer(method: str, path: str, headers: Mapping[str, str]) -> Answer:
        arrived.append(f"{method} {path} {headers}")
        return left.pop(0) if len(left) > 1 else left[0]

    with scripted_engine(answer) as url:
        yield url, arrived


def with_key(arrived: list[str]) -> list[str]:
    return [request for request in arrived if KEY in request]


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: arguments[0])
@pytest.mark.parametrize("status", [200, 401, 404, 500])
def test_stranger_gets_no_key(kb: Kb, arguments: list[str], status: int) -> None:
    """C6"""
    with listener((status, {"detail": "Who is there?"}, NO_KB)) as (url, arrived):
        kb(*arguments, KB_ENGINE_URL=url, KB_API_KEY=KEY)

    assert arrived
    assert with_key(arrived) == []


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: arguments[0])
def test_stranger_with_codes_like_ours_gets_no_key(kb: Kb, arguments: list[str]) -> None:
    """C6"""
    with listener((401, {"code": "unauthorized", "message": "Log in."}, NO_KB)) as (url, arrived):
        kb(*arguments, KB_ENGINE_URL=url, KB_API_KEY=KEY)

    assert arrived
    assert with_key(arrived) == []


def test_stranger_is_named(kb: Kb) -> None:
    """C6"""
    with listener((401, b"<h1>Log in</h1>", NO_KB)) as (url, arrived):
        result = kb("status", KB_ENGINE_URL=url, KB_API_KEY=KEY)

    assert result.exit_code == 6
    assert f"{url} is not a kb engine" in result.stderr
    assert with_key(arrived) == []


@pytest.mark.parametrize("status", [301, 307, 308])
def test_key_does_not_follow_a_redirect(kb: Kb, status: int) -> None:
    """C6"""
    with listener((200, STATUS)) as (elsewhere, arrived):
        moved: Answer = (status, {}, {"Location": f"{elsewhere}/api/v1/status"})
        for answers in ([moved], [(200, {}), moved], [(200, {}, NO_KB), moved]):
            with listener(*answers) as (url, _):
                assert kb("status", KB_ENGINE_URL=url, KB_API_KEY=KEY).exit_code != 0

    assert arrived == []


def test_engine_gets_the_key_once_it_is_known(kb: Kb) -> None:
    """C6"""
    with listener((200, {"jobs": [], "total": 0, "limit": 100, "offset": 0})) as (url, arrived):
        result = kb("jobs", KB_ENGINE_URL=url, KB_API_KEY=KEY)

    assert result.exit_code == 0
    assert [KEY in request for request in arrived] == [False, True]


def test_engine_behind_a_proxy_gets_the_key(kb: Kb) -> None:
    """C6: the proxy publishes nothing but the API, under its own name."""
    problem = {"type": "urn:kb:problem:unauthorized", "code": "unauthorized", "detail": "Send the engine's key."}
    locked = (401, problem, NO_KB)
    page = (200, {**STATUS, "jobs": [], "total": 0, "limit": 100, "offset": 0}, NO_KB)
    with listener((404, b"<h1>nginx</h1>", NO_KB), locked, page) as (url, arrived):
        result = kb("jobs", KB_ENGINE_URL=url, KB_API_KEY=KEY)

    assert result.exit_code == 0, result.stderr
    assert [KEY in request for request in arrived] == [False, False, True, True]


@pytest.mark.parametrize("setting", ["file", "variable"])
def test_key_goes_to_the_port_of_the_same_settings(kb: Kb, tmp_path: Path, setting: str) -> None:
    """C6"""
    with listener((200, {"jobs": [], "total": 0, "limit": 100, "offset": 0})) as (url, arrived):
        port = url.rpartition(":")[2]
        config = tmp_path / "kb" / "kb.toml"
        config.parent.mkdir()
        config.write_text(f'api_key = "{KEY}"\n' + (f"port = {port}\n" if setting == "file" else ""))
        variables = {"KB_PORT": port} if setting == "variable" else {}

        shown = kb("config", "engine_url", KB_ENGINE_URL="", **variables)
        result = kb("jobs", KB_ENGINE_URL="", **variables)

    assert shown.stdout == f"{url}\n"
    assert result.exit_code == 0
    assert len(with_key(arrived)) == 1


@pytest.mark.parametrize("challenge", ["Bearer", 'Bearer realm="other"'])
def test_stranger_in_place_of_the_mcp_server_gets_no_key(kb: Kb, challenge: str) -> None:
    """C6"""
    with listener((401, {}, {"Server": "unknown", "WWW-Authenticate": challenge})) as (url, arrived):
        result = kb("connect", "cursor", "--url", f"{url}/mcp", KB_MCP_API_KEY=KEY)

    assert f"{url}/mcp is not kb's MCP server" in result.stderr
    assert len(arrived) == 1
    assert with_key(arrived) == []
