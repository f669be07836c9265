"""`kb service` where there is no systemd to ask. With one: `tests/end_to_end/test_service.py`."""

import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Kb
from tests.engine_program import EngineProgram

from kb.listening import listen

COMMANDS = ("install", "uninstall", "status")


@pytest.mark.parametrize("command", COMMANDS)
def test_without_systemctl_it_says_what_to_run_instead(kb: Kb, command: str, tmp_path: Path) -> None:
    """C3"""
    result = kb("service", command, PATH=str(tmp_path))

    assert result.exit_code == 4
    assert "There is no systemd here" in result.stderr
    assert "kb up" in result.stderr
    assert "docs/how-to/run-as-a-service.md" in result.stderr
    assert not (tmp_path / "systemd").exists()


@pytest.mark.parametrize("command", COMMANDS)
def test_elsewhere_than_on_linux_it_says_that_it_needs_systemd(
    kb: Kb, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C3"""
    monkeypatch.setattr(sys, "platform", "darwin")

    result = kb("service", command, PATH=str(tmp_path))

    assert result.exit_code == 4
    assert "needs systemd, and so Linux" in result.stderr


def test_a_user_whose_systemd_does_not_answer_is_told_how_to_get_one(kb: Kb, tmp_path: Path) -> None:
    """C3"""
    systemctl = tmp_path / "systemctl"
    systemctl.write_text('#!/bin/sh\necho "Failed to connect to bus: No medium found" >&2\nexit 1\n')
    systemctl.chmod(0o755)

    result = kb("service", "install", PATH=str(tmp_path))

    assert result.exit_code == 4
    assert "does not answer: Failed to connect to bus: No medium found" in result.stderr
    assert "not by su or sudo" in result.stderr


@pytest.fixture
def systemctl(tmp_path: Path) -> Path:
    """Says what one says whose service starts and runs on, though nothing is started. Answers its folder."""
    program = tmp_path / "bin" / "systemctl"
    program.parent.mkdir()
    program.write_text(
        "#!/bin/sh\n"
        f'case "$*" in *" restart "*) : > {tmp_path}/started;; esac\n'
        f"test -e {tmp_path}/started && echo ActiveState=active || echo ActiveState=inactive\n"
    )
    program.chmod(0o755)
    return program.parent


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kb.cli.service.addresses.ANSWERS_WITHIN_SECONDS", 0.1)


@pytest.mark.usefixtures("impatient")
def test_a_service_that_takes_long_to_start_is_not_said_to_have_failed(kb: Kb, tmp_path: Path, systemctl: Path) -> None:
    """C3"""
    write_ports(tmp_path, free_port(), free_port())

    result = kb("service", "install", PATH=str(systemctl))
    standing = kb("service", "status", PATH=str(systemctl))

    assert result.exit_code == standing.exit_code == 6
    assert "is still starting" in result.stderr
    assert "journalctl --user -u kb -f" in result.stderr
    assert "may still be starting" in standing.stderr


@pytest.mark.usefixtures("impatient")
def test_the_port_of_an_mcp_server_that_is_not_installed_may_be_taken(
    kb: Kb, tmp_path: Path, systemctl: Path, running_engine: EngineProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D1"""
    write_ports(tmp_path, free_port(), int(running_engine.mcp_url.rpartition(":")[2]))
    refused = kb("service", "install", PATH=str(systemctl))
    monkeypatch.setitem(sys.modules, "mcp", None)

    result = kb("service", "install", PATH=str(systemctl))

    assert refused.exit_code == 4
    assert f"kb is running at {running_engine.mcp_url} already" in refused.stderr
    assert result.exit_code == 6
    assert (tmp_path / "systemd" / "user" / "kb.service").exists()


def write_ports(config: Path, port: int, mcp_port: int) -> None:
    (config / "kb").mkdir()
    (config / "kb" / "kb.toml").write_text(f"port = {port}\nmcp_port = {mcp_port}\n")


def free_port() -> int:
    with listen("127.0.0.1", 0, "KB_PORT") as listener:
        return int(listener.getsockname()[1])


def test_the_unit_can_be_looked_at_before_and_holds_no_secret(kb: Kb, tmp_path: Path) -> None:
    """C2"""
    result = kb("service", "install", "--print", PATH=str(tmp_path), KB_API_KEY="sesame", XDG_DATA_HOME="/srv/50% x")

    assert result.exit_code == 0
    assert f"ExecStart=:{sys.executable} -P -m kb.cli.main up\n" in result.stdout
    assert '"XDG_DATA_HOME=/srv/50%% x"' in result.stdout
    assert f"XDG_CONFIG_HOME={tmp_path}" in result.stdout
    assert "sesame" not in result.output
    assert not (tmp_path / "systemd").exists()
