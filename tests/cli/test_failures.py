import pytest
from tests.cli.conftest import Kb, Pretend
from tests.engine_program import EngineProgram

NOWHERE = "http://127.0.0.1:1"


def test_the_flag_wins_over_the_variable(kb: Kb, running_engine: EngineProgram) -> None:
    result = kb("status", "--engine-url", running_engine.url, KB_ENGINE_URL=NOWHERE)

    assert result.exit_code == 0


def test_a_missing_key_is_exit_code_5(kb: Kb, locked_engine: EngineProgram) -> None:
    """C3"""
    result = kb("status", KB_ENGINE_URL=locked_engine.url)

    assert result.exit_code == 5
    assert "KB_API_KEY" in result.stderr


def test_the_right_key_opens(kb: Kb, locked_engine: EngineProgram) -> None:
    result = kb("addnote", "Behind the door", KB_ENGINE_URL=locked_engine.url, KB_API_KEY="secret")

    assert result.exit_code == 0


def test_a_key_that_can_only_read_does_not_write(kb: Kb, locked_engine: EngineProgram) -> None:
    reader = {"KB_ENGINE_URL": locked_engine.url, "KB_API_KEY": "reader"}

    assert kb("search", "door", **reader).exit_code == 0
    assert kb("addnote", "Graffiti", **reader).exit_code == 5


@pytest.mark.parametrize(
    ("status", "body"), [(404, b"<h1>Not found</h1>"), (200, b"<h1>Welcome</h1>"), (500, b"[]"), (200, b"[]")]
)
def test_what_is_not_an_engine_is_called_so(kb: Kb, pretend: Pretend, status: int, body: bytes) -> None:
    url = pretend(status, body)

    result = kb("status", KB_ENGINE_URL=url)

    assert result.exit_code == 6
    assert f"{url} is not a kb engine" in result.stderr


def test_a_setting_that_cannot_be_used_is_told(kb: Kb) -> None:
    result = kb("status", KB_ENGINE_URL="not a url")

    assert result.exit_code == 1
    assert "KB_ENGINE_URL" in result.stderr


def test_a_mistyped_variable_is_told_and_the_command_goes_on(kb: Kb) -> None:
    result = kb("status", "--json", KB_ENGINE_ULR="http://elsewhere")

    assert result.exit_code == 0
    assert result.stderr.count("Did you mean KB_ENGINE_URL?") == 1
    assert result.stdout.startswith("{")
