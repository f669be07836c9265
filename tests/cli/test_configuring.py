import json
from pathlib import Path

import pytest
from tests.cli.conftest import Kb
from tests.cli.terminal import OnTerminal
from tests.engine_program import EngineProgram, own_environment


def test_in_a_pipe_each_setting_is_a_line_of_name_value_and_origin(kb: Kb, tmp_path: Path) -> None:
    (tmp_path / "kb").mkdir()
    (tmp_path / "kb" / "kb.toml").write_text("mcp_port = 3123\n")

    result = kb("config", KB_PORT="8123")

    rows = {name: rest for name, *rest in (line.split("\t") for line in result.stdout.splitlines())}
    assert result.exit_code == 0
    assert rows["port"] == ["8123", "KB_PORT"]
    assert rows["mcp_port"] == ["3123", f"mcp_port in {tmp_path / 'kb' / 'kb.toml'}"]
    assert rows["host"] == ["127.0.0.1", "default"]
    assert f"{tmp_path / 'kb' / 'kb.toml'} was read" in result.stderr


def test_a_file_that_could_be_there_is_named(kb: Kb, tmp_path: Path) -> None:
    assert f"There is no {tmp_path / 'kb' / 'kb.toml'}" in kb("config").stderr


def test_secrets_are_never_shown(kb: Kb) -> None:
    keys = {"KB_API_KEY": "hidden-key", "KB_MCP_API_KEY": "hidden-too"}

    for arguments in (["config"], ["config", "--json"], ["config", "api_key"]):
        result = kb(*arguments, **keys)

        assert "set" in result.stdout
        assert "hidden" not in result.output


def test_one_setting_is_its_bare_value_for_scripts(kb: Kb) -> None:
    assert kb("config", "port", KB_PORT="8123").stdout == "8123\n"
    assert kb("config", "KB_MCP_TOOLSETS").stdout == "kb,knowledge\n"


def test_an_unknown_setting_is_exit_code_3_with_the_nearest(kb: Kb) -> None:
    """C3"""
    result = kb("config", "KB_PROT")

    assert result.exit_code == 3
    assert result.stdout == ""
    assert "Did you mean port?" in result.stderr


def test_a_value_that_cannot_be_used_is_shown_with_the_reason_and_the_others_too(kb: Kb) -> None:
    """C3"""
    result = kb("config", KB_PORT="many", KB_MAX_FILE_MB="7")

    assert result.exit_code == 1
    assert "port\tmany\tKB_PORT" in result.stdout
    assert "max_file_mb\t7\tKB_MAX_FILE_MB" in result.stdout
    assert 'KB_PORT is "many"; allowed: ' in result.stderr
    assert kb("config", "port", KB_PORT="many").exit_code == 1
    assert kb("config", "port", KB_PORT="many").stdout == ""


def test_a_misspelt_name_is_told(kb: Kb) -> None:
    result = kb("config", KB_PROT="8123")

    assert result.exit_code == 0
    assert "Did you mean KB_PORT?" in result.stderr


@pytest.mark.parametrize("content", ["port = ", "\udcff"])
def test_a_file_that_cannot_be_read_is_a_sentence(kb: Kb, tmp_path: Path, content: str) -> None:
    (tmp_path / "kb").mkdir()
    (tmp_path / "kb" / "kb.toml").write_bytes(content.encode(errors="surrogateescape"))

    result = kb("config", KB_PORT="8123")

    assert result.exit_code == 1
    assert "is not a TOML file" in result.stderr
    assert "port\t8123\tKB_PORT" in result.stdout


def test_as_json_each_setting_says_where_it_comes_from(kb: Kb) -> None:
    answer = json.loads(kb("config", "--json", KB_PORT="8123").stdout)

    port = next(one for one in answer["settings"] if one["name"] == "port")
    assert port == {
        "name": "port",
        "variable": "KB_PORT",
        "value": "8123",
        "origin": "environment",
        "given_by": "KB_PORT",
        "problem": None,
    }
    assert answer["problems"] == []
    assert answer["config_file_exists"] is False


def test_on_a_terminal_it_is_a_table(running_engine: EngineProgram, tmp_path: Path) -> None:
    """C2"""
    environment = own_environment(tmp_path, {"KB_PORT": "8123"})

    with OnTerminal("config", environment=environment) as terminal:
        assert terminal.wait() == 0

    assert "\t" not in terminal.output
    assert "\x1b[1m8123" in terminal.output
