"""`kb service` where there is no systemd to ask. With one: `tests/end_to_end/test_service.py`."""

import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Kb

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


def test_the_unit_can_be_looked_at_before_and_holds_no_secret(kb: Kb, tmp_path: Path) -> None:
    """C2"""
    result = kb("service", "install", "--print", PATH=str(tmp_path), KB_API_KEY="sesame", XDG_DATA_HOME="/srv/50% x")

    assert result.exit_code == 0
    assert f"ExecStart=:{sys.executable} -P -m kb.cli.main up\n" in result.stdout
    assert '"XDG_DATA_HOME=/srv/50%% x"' in result.stdout
    assert f"XDG_CONFIG_HOME={tmp_path}" in result.stdout
    assert "sesame" not in result.output
    assert not (tmp_path / "systemd").exists()
