"""The unit that `kb service install` writes, and what of a shell does not reach it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.needs import need_installed

from kb.child import RESTART_AFTER_SECONDS, STOP_WITHIN_SECONDS
from kb.cli.commands.programs import MCP_SERVER_STOPS_WITHIN_SECONDS
from kb.cli.service.addresses import is_same_place
from kb.cli.service.systemd import ANSWERS_WITHIN_SECONDS
from kb.cli.service.unit import folders_of, is_ours, own_program, program_of, render_unit
from kb.engine.processes.engine_process import SHUTDOWN_WITHIN_SECONDS
from kb.settings.unattended import (
    FOLDER_VARIABLES,
    find_left_behind,
    folders_named,
    load_unattended_settings,
)

MACHINE_UNIT = Path(__file__).parents[2] / "deploy" / "systemd" / "kb.service"
START_OF_A_SLOW_MACHINE_SECONDS = 30
# A name of a file holds neither, and a line of a unit no control character.
words = st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), min_size=1)


@given(st.lists(words, min_size=1))
@example(["/usr/bin/env"])
@example(["/usr/bin/env", "Ada's"])
def test_what_a_unit_starts_can_be_read_from_it_again_whatever_characters_are_in_it(program: list[str]) -> None:
    unit = render_unit(program, {})

    assert program_of(unit) == program
    assert is_ours(unit)


@given(st.dictionaries(st.sampled_from(FOLDER_VARIABLES), words))
def test_the_folders_of_a_unit_can_be_read_from_it_again_whatever_characters_are_in_them(
    folders: dict[str, str],
) -> None:
    assert folders_of(render_unit(["kb"], folders)) == folders


def test_what_else_somebody_has_written_into_a_unit_is_no_folder() -> None:
    assert folders_of('Environment=A="b c" KB_PORT=1 "XDG_DATA_HOME=/srv/x y"\n') == {"XDG_DATA_HOME": "/srv/x y"}


def test_of_all_variables_of_kb_a_service_knows_only_its_folders() -> None:
    """Its systemd may have got any of them from a login."""
    unit = render_unit(["kb"], {"XDG_DATA_HOME": "/srv/x"})

    taken_away = [name for line in unit.splitlines() if line.startswith("Unset") for name in line.split("=")[1].split()]
    assert {"KB_PORT", "KB_API_KEY", "KB_MCP_API_KEY_FILE", "KB_STORE_URL", "XDG_CONFIG_HOME"} < {*taken_away}
    assert "XDG_DATA_HOME" not in taken_away


def test_a_unit_starts_this_installation_by_its_interpreter_as_it_was_called() -> None:
    """D1: what the link of a virtual environment points to knows nothing of its packages."""
    assert own_program() == [sys.executable, "-P", "-m", "kb.cli.main", "up"]


UNITS = {"a user's": render_unit(["kb"], {}), "the machine's": MACHINE_UNIT.read_text(encoding="utf-8")}


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_a_stopped_service_has_time_to_finish_what_is_under_way(unit: str) -> None:
    """Its server first, and then the worker and the MCP server one after the other."""
    told = dict(line.split("=", 1) for line in unit.splitlines() if "=" in line)

    longest = SHUTDOWN_WITHIN_SECONDS + 2 * (RESTART_AFTER_SECONDS + STOP_WITHIN_SECONDS)
    assert longest < int(told["TimeoutStopSec"]) < ANSWERS_WITHIN_SECONDS


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_a_service_counts_as_started_when_it_says_so_however_long_that_takes(unit: str) -> None:
    told = dict(line.split("=", 1) for line in unit.splitlines() if "=" in line)

    assert (told["Type"], told["NotifyAccess"], told["TimeoutStartSec"]) == ("notify", "main", "infinity")
    assert "AF_UNIX" in told["RestrictAddressFamilies"]


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_a_service_that_never_gets_its_port_is_left_alone_after_some_attempts(unit: str) -> None:
    told = dict(line.split("=", 1) for line in unit.splitlines() if "=" in line)

    longest = MCP_SERVER_STOPS_WITHIN_SECONDS + START_OF_A_SLOW_MACHINE_SECONDS + int(told["RestartSec"])
    assert int(told["StartLimitBurst"]) * longest < int(told["StartLimitIntervalSec"])


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_a_reader_of_a_file_that_the_kernel_kills_does_not_take_the_service_along(unit: str) -> None:
    assert "\nOOMPolicy=continue\n" in unit


@pytest.mark.parametrize("folder", ["plain", "50% of $HOME", "Ada's", 'a "b" \\ c', "ö 書"])
def test_systemd_takes_the_unit_wherever_kb_is(folder: str, tmp_path: Path) -> None:
    need_installed("systemd", is_there=shutil.which("systemd-analyze") is not None)
    program = tmp_path / folder / "python"
    program.parent.mkdir()
    program.symlink_to(sys.executable)
    unit = tmp_path / "kb.service"
    unit.write_text(render_unit([str(program), "up"], {"XDG_DATA_HOME": str(tmp_path / folder)}), encoding="utf-8")

    environment = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path)}
    checked = subprocess.run(
        ["systemd-analyze", "--user", "verify", str(unit)], env=environment, capture_output=True, text=True, check=False
    )

    assert (checked.returncode, checked.stderr) == (0, "")


def test_of_the_environment_only_folders_reach_the_service_and_relative_ones_count_for_nobody() -> None:
    environ = {"XDG_DATA_HOME": "/srv/x", "XDG_CACHE_HOME": "here", "KB_API_KEY": "sesame", "PATH": "/bin"}

    assert folders_named(environ) == {"XDG_DATA_HOME": "/srv/x"}


def test_each_variable_that_is_left_behind_is_told_with_the_line_that_says_the_same(tmp_path: Path) -> None:
    environ = {
        "XDG_CONFIG_HOME": str(tmp_path),
        "KB_PORT": "8123",
        "KB_DATA_DIR": "base",
        "KB_ALLOWED_HOSTS": "kb.example.org,localhost",
        "KB_INSECURE": "true",
        "KB_API_KEY": "sesame",
        "KB_MCP_API_KEY_FILE": str(tmp_path / "agents"),
        "KB_ENGINE_URL": "http://elsewhere:1",
        "KB_MAX_FILE_MB": "100",
    }
    (tmp_path / "agents").write_text("open-sesame")

    left = find_left_behind(environ)

    assert {one.variable: one.line for one in left} == {
        "KB_PORT": "port = 8123",
        "KB_DATA_DIR": f'data_dir = "{Path.cwd() / "base"}"',
        "KB_ALLOWED_HOSTS": 'allowed_hosts = ["kb.example.org", "localhost"]',
        "KB_INSECURE": "insecure = true",
        "KB_API_KEY": f'api_key_file = "{tmp_path}/kb/api-key"',
        "KB_MCP_API_KEY_FILE": f'mcp_api_key_file = "{tmp_path}/agents"',
    }
    assert "sesame" not in repr(left)


def test_the_lines_that_are_told_make_the_service_see_what_the_shell_has_set(tmp_path: Path) -> None:
    environ = {
        "XDG_CONFIG_HOME": str(tmp_path),
        "KB_PORT": "8123",
        "KB_DATA_DIR": '/srv/50% "of" \\ it',
        "KB_MCP_FILE_ROOTS": f"/srv/a{os.pathsep}/srv/b",
        "KB_API_KEY": "sesame",
    }
    left = find_left_behind(environ)
    (tmp_path / "kb").mkdir()
    (tmp_path / "kb" / "kb.toml").write_text("\n".join(one.line for one in left))
    for one in left:
        if one.file_to_write is not None:
            one.file_to_write.write_text(environ[one.variable])

    engine, mcp = load_unattended_settings(environ)

    assert find_left_behind(environ) == []
    assert (engine.port, str(engine.data_dir)) == (8123, environ["KB_DATA_DIR"])
    assert engine.api_key.get_secret_value() == mcp.api_key.get_secret_value() == "sesame"
    assert [str(root) for root in mcp.mcp_file_roots] == ["/srv/a", "/srv/b"]


def test_lines_and_keys_that_are_there_by_now_are_told_and_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "kb").mkdir()
    (tmp_path / "kb" / "kb.toml").write_text('port = 8001\napi_key_file = "api-key"\n')
    (tmp_path / "kb" / "api-key").write_text("another")

    left = find_left_behind({"XDG_CONFIG_HOME": str(tmp_path), "KB_PORT": "8123", "KB_API_KEY": "sesame"})

    assert {one.instead_of: one.line for one in left} == {
        "port": "port = 8123",
        "api_key_file": f'api_key_file = "{tmp_path}/kb/api-key-2"',
    }


def test_what_would_leave_a_service_open_or_with_other_documents_is_vital(tmp_path: Path) -> None:
    environ = {
        "XDG_CONFIG_HOME": str(tmp_path),
        "KB_HOST": "::1",
        "KB_PORT": "8123",
        "KB_DATA_DIR": "/srv/kb",
        "KB_MAX_FILE_MB": "7",
        "KB_API_KEY": "sesame",
        "KB_MCP_API_KEY": "open",
        "KB_STORE_URL": "postgresql://kb@db/kb",
        "KB_ORIGINALS_URL": "s3://documents",
        "KB_S3_ENDPOINT": "http://127.0.0.1:9000",
        "KB_MCP_FILE_ROOTS": "/srv/shared",
        "KB_INSECURE": "true",
    }

    left = find_left_behind(environ)

    assert {one.variable for one in left if not one.is_vital} == {"KB_PORT", "KB_MAX_FILE_MB"}
    assert {one.variable for one in left} == environ.keys() - {"XDG_CONFIG_HOME"}


def test_a_model_is_told_by_its_folder_where_the_settings_take_it_for_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()
    environ = {"XDG_CONFIG_HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}

    lines = [find_left_behind({**environ, "KB_EMBEDDING_MODEL": model})[0].line for model in ("here", "./x", "fetched")]

    assert lines == [
        f'embedding_model = "{tmp_path}/here"',
        f'embedding_model = "{tmp_path}/x"',
        'embedding_model = "fetched"',
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://localhost:8000", "http://127.0.0.1:8000"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000"),
        ("http://LOCALHOST:8000", "http://[::1]:8000"),
    ],
)
def test_localhost_is_another_name_of_where_a_service_answers(one: str, other: str) -> None:
    assert is_same_place(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://[::1]:8000", "http://127.0.0.1:8000"),
        ("http://localhost:8001", "http://127.0.0.1:8000"),
        ("https://localhost:8000", "http://127.0.0.1:8000"),
        ("http://localhost:8000", "http://kb.example:8000"),
        ("http://localhost:8000/kb", "http://127.0.0.1:8000"),
    ],
)
def test_what_differs_in_anything_else_is_another_place(one: str, other: str) -> None:
    assert not is_same_place(one, other)
