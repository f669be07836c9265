"""`kb service` where there is no systemd to ask. With one: `tests/end_to_end/test_service.py`."""

import os
import resource
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Kb
from tests.engine_program import EngineProgram
from tests.servers.ports import find_free_ports

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
        "echo Version=252\n"
        f'case "$*" in *" start "*) : > {tmp_path}/started;; esac\n'
        f"test -e {tmp_path}/started && echo ActiveState=activating || echo ActiveState=inactive\n"
    )
    program.chmod(0o755)
    return program.parent


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kb.cli.service.systemd.STARTS_WITHIN_SECONDS", 0.1)


@pytest.mark.usefixtures("impatient")
def test_a_service_that_takes_long_to_start_is_not_said_to_have_failed(kb: Kb, tmp_path: Path, systemctl: Path) -> None:
    """C3"""
    write_ports(tmp_path, *find_free_ports(2))

    result = kb("service", "install", PATH=str(systemctl))
    standing = kb("service", "status", PATH=str(systemctl))

    assert result.exit_code == standing.exit_code == 6
    assert "is still starting" in result.stderr
    assert "journalctl --user -u kb -f" in result.stderr
    assert "It is still starting" in standing.stderr


@pytest.mark.usefixtures("impatient")
def test_the_port_of_an_mcp_server_that_is_not_installed_may_be_taken(
    kb: Kb, tmp_path: Path, systemctl: Path, running_engine: EngineProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D1"""
    (port,) = find_free_ports(1)
    write_ports(tmp_path, port, int(running_engine.mcp_url.rpartition(":")[2]))
    refused = kb("service", "install", PATH=str(systemctl))
    monkeypatch.setitem(sys.modules, "mcp", None)

    result = kb("service", "install", PATH=str(systemctl))

    assert refused.exit_code == 4
    assert f"kb is running at {running_engine.mcp_url} already" in refused.stderr
    assert result.exit_code == 6
    assert unit_in(tmp_path).exists()


def write_ports(config: Path, port: int, mcp_port: int) -> None:
    write_config(config, f"port = {port}\nmcp_port = {mcp_port}\n")


def write_config(config: Path, text: str) -> None:
    (config / "kb").mkdir()
    (config / "kb" / "kb.toml").write_text(text)


def unit_in(config: Path) -> Path:
    return config / "systemd" / "user" / "kb.service"


def test_the_unit_can_be_looked_at_before_and_holds_no_secret(kb: Kb, tmp_path: Path) -> None:
    """C2"""
    result = kb("service", "install", "--print", PATH=str(tmp_path), KB_API_KEY="sesame", XDG_DATA_HOME="/srv/50% x")

    assert result.exit_code == 0
    assert f"ExecStart=:{sys.executable} -P -m kb.cli.main up\n" in result.stdout
    assert '"XDG_DATA_HOME=/srv/50%% x"' in result.stdout
    assert f"XDG_CONFIG_HOME={tmp_path}" in result.stdout
    assert "sesame" not in result.output
    assert not (tmp_path / "systemd").exists()


@pytest.mark.usefixtures("impatient")
def test_a_key_that_only_the_shell_has_keeps_an_open_service_from_being_installed(
    kb: Kb, tmp_path: Path, systemctl: Path
) -> None:
    """C3"""
    result = kb("service", "install", PATH=str(systemctl), KB_API_KEY="sesame", KB_MAX_FILE_MB="7")

    assert result.exit_code == 4
    assert f'api_key_file = "{tmp_path}/kb/api-key"' in result.stderr
    assert "(or unset KB_API_KEY), then run `kb service install` again" in result.stderr
    assert "sesame" not in result.output
    assert not unit_in(tmp_path).exists()


@pytest.mark.usefixtures("impatient")
def test_what_else_the_shell_has_set_is_told_and_installed_without(kb: Kb, tmp_path: Path, systemctl: Path) -> None:
    write_ports(tmp_path, *find_free_ports(2))

    result = kb("service", "install", "--no-start", PATH=str(systemctl), KB_MAX_FILE_MB="7", KB_PROT="1")

    assert result.exit_code == 0
    assert "max_file_mb = 7" in result.stderr
    assert "KB_PROT is not a setting of kb and has no effect. Did you mean KB_PORT?" in result.stderr
    assert unit_in(tmp_path).exists()


@pytest.mark.parametrize("state", ["inactive", "active"])
@pytest.mark.parametrize("setting", ["port", "mcp_port"])
def test_a_port_that_another_program_has_is_told_by_its_name_in_the_file(
    kb: Kb, tmp_path: Path, systemctl: Path, setting: str, state: str
) -> None:
    """C3: also to somebody whose service runs, on the ports that the file named before."""
    (systemctl / "systemctl").write_text(f"#!/bin/sh\necho Version=252\necho ActiveState={state}\n")
    with listen("127.0.0.1", 0, "KB_PORT") as taken:
        port, mcp_port = find_free_ports(2)
        ports = {"port": port, "mcp_port": mcp_port, setting: taken.getsockname()[1]}
        write_ports(tmp_path, **ports)
        result = kb("service", "install", PATH=str(systemctl))

    assert result.exit_code == 4
    assert f"choose another `{setting}` in {tmp_path}/kb/kb.toml" in result.stderr
    assert not unit_in(tmp_path).exists()


def test_installed_again_from_a_shell_with_other_folders_it_does_not_move_to_other_documents(
    kb: Kb, tmp_path: Path, systemctl: Path
) -> None:
    """C3"""
    first = kb("service", "install", "--no-start", PATH=str(systemctl), XDG_DATA_HOME="/srv/50% x")

    again = kb("service", "install", "--no-start", PATH=str(systemctl))
    same = kb("service", "install", "--no-start", PATH=str(systemctl), XDG_DATA_HOME="/srv/50% x")
    kept = kb("service", "install", "--no-start", PATH=str(systemctl), XDG_DATA_HOME="/srv/50% x/")
    removed = kb("service", "uninstall", PATH=str(systemctl))

    assert (first.exit_code, again.exit_code, same.exit_code, kept.exit_code) == (0, 4, 0, 0)
    assert "was installed with" in again.stderr
    assert "XDG_DATA_HOME='/srv/50% x'" in again.stderr
    assert "stay in /srv/50% x/kb" in removed.stdout


def test_a_unit_that_is_masked_is_told(kb: Kb, tmp_path: Path, systemctl: Path) -> None:
    """C3"""
    unit_in(tmp_path).parent.mkdir(parents=True)
    unit_in(tmp_path).symlink_to(os.devnull)

    for command in COMMANDS:
        result = kb("service", command, PATH=str(systemctl))

        assert result.exit_code == 4
        assert "systemctl --user unmask kb" in result.stderr
    assert unit_in(tmp_path).is_symlink()


def test_a_unit_that_is_a_link_to_what_is_gone_is_removed_and_made_anew(
    kb: Kb, tmp_path: Path, systemctl: Path
) -> None:
    """C3"""
    unit_in(tmp_path).parent.mkdir(parents=True)
    for command in ("uninstall", "install"):
        unit_in(tmp_path).symlink_to(tmp_path / "gone" / "kb.service")

        standing = kb("service", "status", PATH=str(systemctl))
        result = kb("service", command, *(["--no-start"] if command == "install" else []), PATH=str(systemctl))

        assert (standing.exit_code, result.exit_code) == (3, 0)
        assert not unit_in(tmp_path).is_symlink()
    assert unit_in(tmp_path).exists()
    assert not (tmp_path / "gone").exists()


def test_one_that_runs_is_not_said_to_start_later(kb: Kb, tmp_path: Path, systemctl: Path) -> None:
    (systemctl / "systemctl").write_text("#!/bin/sh\necho Version=252\necho ActiveState=active\n")

    result = kb("service", "install", "--no-start", PATH=str(systemctl))

    assert result.exit_code == 0
    assert "It runs on as it was" in result.stdout
    assert "systemctl --user restart kb" in result.stdout


def test_two_programs_cannot_have_the_same_port(kb: Kb, tmp_path: Path, systemctl: Path) -> None:
    (port,) = find_free_ports(1)
    write_ports(tmp_path, port, port)

    result = kb("service", "install", PATH=str(systemctl))

    assert result.exit_code == 4
    assert f"Cannot listen on 127.0.0.1 port {port}" in result.stderr


def test_settings_that_cannot_be_used_are_told_by_their_names_in_the_file(
    kb: Kb, tmp_path: Path, systemctl: Path
) -> None:
    write_config(tmp_path, 'host = "0.0.0.0"\n')

    result = kb("service", "install", PATH=str(systemctl))

    assert result.exit_code == 1
    assert "`host` is 0.0.0.0" in result.stderr
    assert "Set `api_key` (or `api_key_file`), or `insecure = true` if you mean it." in result.stderr
    assert f"stands in {tmp_path}/kb/kb.toml" in result.stderr
    assert "KB_" not in result.stderr


@pytest.mark.parametrize("config", ['host = "0.0.0.0"\n', "port = \n"])
def test_a_service_can_be_looked_at_and_removed_whatever_stands_in_the_settings(
    kb: Kb, tmp_path: Path, systemctl: Path, config: str
) -> None:
    """C3"""
    assert kb("service", "install", "--no-start", PATH=str(systemctl)).exit_code == 0
    write_config(tmp_path, config)

    standing = kb("service", "status", PATH=str(systemctl))
    told = kb("service", "status", "--json", PATH=str(systemctl))
    removed = kb("service", "uninstall", PATH=str(systemctl))

    assert standing.exit_code == told.exit_code == 1
    assert f"yes, {unit_in(tmp_path)}" in standing.stdout
    assert "kb.toml" in standing.stderr
    assert '"engine": {"url": null, "answers": false, "version": null}' in told.stdout
    assert removed.exit_code == 0
    assert not unit_in(tmp_path).exists()


def test_without_a_model_nothing_is_installed(kb: Kb, tmp_path: Path, systemctl: Path) -> None:
    result = kb("service", "install", PATH=str(systemctl), XDG_CACHE_HOME=str(tmp_path))

    assert result.exit_code == 1
    assert "`kb model fetch`" in result.stderr
    assert not unit_in(tmp_path).exists()


def test_a_systemd_that_would_not_understand_the_unit_is_told(kb: Kb, tmp_path: Path, systemctl: Path) -> None:
    (systemctl / "systemctl").write_text("#!/bin/sh\necho Version=v243.9-1ubuntu2\n")

    result = kb("service", "install", PATH=str(systemctl))

    assert result.exit_code == 4
    assert "systemd is 243 here, and `kb service` needs 244 or newer" in result.stderr
    assert not unit_in(tmp_path).exists()


def test_a_folder_whose_name_systemd_cannot_read_is_told(kb: Kb, tmp_path: Path, systemctl: Path) -> None:
    folder = os.fsdecode(bytes(tmp_path) + b"/\xff")

    result = kb("service", "install", PATH=str(systemctl), XDG_DATA_HOME=folder)

    assert result.exit_code == 4
    assert f"systemd reads UTF-8, which the name of {tmp_path}/\\xff is not" in result.stderr
    assert not unit_in(tmp_path).exists()


def test_a_unit_for_which_there_is_no_room_leaves_nothing_behind(kb: Kb, tmp_path: Path, systemctl: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        result = kb("service", "install", "--no-start", PATH=str(systemctl))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert result.exit_code == 1
    assert result.stderr == "The unit cannot be read or written: File too large.\n"
    assert list(unit_in(tmp_path).parent.iterdir()) == []
