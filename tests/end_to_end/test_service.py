"""kb as a service of its user, with a real systemd: C1, C3, and `kb.toml` as the only place for settings."""

import json
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.engine_program import EngineProgram
from tests.needs import need_installed, need_right
from tests.servers.ports import find_free_ports
from tests.servers.user_systemd import IS_INSTALLED, UserSystemd, running_user_systemd, why_forbidden

COMES_BACK_WITHIN_SECONDS = 60
PDF = Path(__file__).parents[1] / "samples" / "pdf" / "letter-ghostscript.pdf"


@pytest.fixture(scope="module")
def systemd(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[UserSystemd]:
    need_installed("systemd", is_there=IS_INSTALLED)
    forbidden = why_forbidden()
    need_right(forbidden is None, str(forbidden))
    with running_user_systemd(tmp_path_factory.mktemp("systemd")) as systemd:
        # The fetched model stays where it is.
        systemd.environment["XDG_CACHE_HOME"] = str(model_folder.parents[2])
        yield systemd


@pytest.fixture
def unit(systemd: UserSystemd) -> Iterator[Path]:
    """Where the unit goes. Whatever is installed is removed after the test."""
    unit = systemd.home / ".config" / "systemd" / "user" / "kb.service"
    yield unit
    if unit.exists():
        systemd.kb("service", "uninstall")
        unit.unlink(missing_ok=True)


@pytest.fixture
def engine_url(systemd: UserSystemd) -> Iterator[str]:
    """As `kb.toml` says it; ports that were free a moment ago."""
    port, mcp_port = find_free_ports(2)
    config = systemd.home / ".config" / "kb" / "kb.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    url = f"http://127.0.0.1:{port}"
    config.write_text(f'port = {port}\nmcp_port = {mcp_port}\nengine_url = "{url}"\n')
    yield url
    config.unlink()


def another_installation(folder: Path) -> Path:
    """The interpreter of one that lies where much in its path means something to systemd."""
    environment = folder / "50% of $HOME's files"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    (packages,) = environment.glob("lib/*/site-packages")
    (packages / "kb.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    return environment / "bin" / "python"


def test_a_service_is_installed_killed_started_again_and_removed(
    systemd: UserSystemd, unit: Path, engine_url: str
) -> None:
    """C1, C3, E24, E29, D3"""
    before = systemd.kb("service", "install", "--no-start")
    program = another_installation(systemd.folder)

    refused = systemd.kb("service", "install", KB_API_KEY="sesame")
    installed = systemd.run(str(program), "-m", "kb.cli.main", "service", "install")
    first = systemd.ask("kb.service", "MainPID")
    added = systemd.kb("add", str(PDF), "--json")
    systemd.run("systemctl", "--user", "kill", "--signal=KILL", "--kill-who=main", "kb")
    back_within = time_until_it_answers(engine_url)
    wait_until_it_has_started(systemd)
    second = systemd.ask("kb.service", "MainPID")
    status = systemd.kb("service", "status", "--json")
    found = systemd.kb("list", "--json")
    again = systemd.run(str(program), "-m", "kb.cli.main", "service", "install")
    removed = systemd.kb("service", "uninstall")

    assert before.returncode == 0, before.stderr
    assert "It starts at your next login" in before.stdout
    assert installed.returncode == 0, installed.stderr + systemd.log
    assert f"Replaced {unit}, which started {sys.executable} -P -m kb.cli.main up" in installed.stdout
    assert all(told in installed.stdout for told in (engine_url, "journalctl --user -u kb", "enable-linger"))
    assert refused.returncode == 4
    assert f'api_key_file = "{systemd.home}/.config/kb/api-key"' in refused.stderr
    assert "sesame" not in refused.stdout + refused.stderr + systemd.log
    assert json.loads(added.stdout)["status"] == "completed"
    assert 0 < back_within < COMES_BACK_WITHIN_SECONDS
    assert second not in ("0", first)
    assert status.returncode == 0
    told = json.loads(status.stdout)
    assert (told["installed"], told["enabled"], told["active"]) == (True, True, "active")
    assert told["program"][0] == str(program)
    assert told["engine"] == {"url": engine_url, "answers": True, "version": "3.0.0"}
    assert json.loads(found.stdout)["total"] == 1
    assert "is as it should be" in again.stdout
    assert removed.returncode == 0, removed.stderr
    assert not unit.exists()
    assert f"stay in {systemd.home}/.local/share/kb" in removed.stdout
    assert (systemd.home / ".local" / "share" / "kb" / "originals").exists()
    assert systemd.ask("kb.service", "LoadState") == "not-found"
    assert not answers(engine_url)


def test_without_a_service_status_and_uninstall_say_that_there_is_none(
    systemd: UserSystemd, unit: Path, engine_url: str
) -> None:
    """C3"""
    for command in ("status", "uninstall"):
        done = systemd.kb("service", command)

        assert done.returncode == 3
        assert "`kb service install` makes" in done.stderr


def test_a_unit_that_kb_has_not_written_is_left_alone(systemd: UserSystemd, unit: Path, engine_url: str) -> None:
    """C3"""
    unit.parent.mkdir(parents=True, exist_ok=True)
    unit.write_text("[Service]\nExecStart=/bin/true\n")

    for command in ("install", "uninstall"):
        done = systemd.kb("service", command)

        assert done.returncode == 4
        assert "has not written" in done.stderr
        assert "systemctl --user disable" in done.stderr
    assert unit.read_text() == "[Service]\nExecStart=/bin/true\n"


def test_a_port_that_kb_has_already_is_told_before_anything_is_written(
    systemd: UserSystemd, unit: Path, engine_url: str, running_engine: EngineProgram
) -> None:
    """C3, E29"""
    config = systemd.home / ".config" / "kb" / "kb.toml"
    config.write_text(f"port = {running_engine.url.rpartition(':')[2]}\n")

    done = systemd.kb("service", "install")

    assert done.returncode == 4
    assert f"kb is running at {running_engine.url} already" in done.stderr
    assert not unit.exists()


def test_a_service_that_is_about_to_run_is_not_taken_for_another_kb(
    systemd: UserSystemd, unit: Path, engine_url: str
) -> None:
    """C3

    As one that waits to be started again, and then is. One that never says that it is ready stays so.
    """
    assert systemd.kb("service", "install", "--no-start").returncode == 0
    change = unit.with_name("kb.service.d") / "never-ready.conf"
    change.parent.mkdir()
    change.write_text("[Service]\nNotifyAccess=none\n")
    systemd.run("systemctl", "--user", "daemon-reload")
    systemd.run("systemctl", "--user", "start", "--no-block", "kb")
    time_until_it_answers(engine_url)
    state = systemd.ask("kb.service", "ActiveState")
    change.unlink()

    installed = systemd.kb("service", "install")

    assert state == "activating"
    assert installed.returncode == 0, installed.stderr
    assert systemd.ask("kb.service", "ActiveState") == "active"


def test_a_service_that_cannot_start_is_told_and_its_status_says_what_to_do(
    systemd: UserSystemd, unit: Path, engine_url: str
) -> None:
    """C3"""
    (systemd.home / ".local" / "share").mkdir(parents=True, exist_ok=True)
    config = systemd.home / ".config" / "kb" / "kb.toml"
    config.write_text(f'{config.read_text()}data_dir = "/proc/nowhere"\n')

    installed = systemd.kb("service", "install")
    status = systemd.kb("service", "status")

    assert installed.returncode == 1
    assert "journalctl --user -u kb" in installed.stderr
    assert status.returncode == 6
    assert "nobody answers" in status.stdout
    assert "systemctl --user restart kb" in status.stderr


def test_a_service_whose_port_another_kb_has_does_not_count_as_started(
    systemd: UserSystemd, unit: Path, engine_url: str, running_engine: EngineProgram
) -> None:
    """C3, E29"""
    assert systemd.kb("service", "install", "--no-start").returncode == 0
    config = systemd.home / ".config" / "kb" / "kb.toml"
    config.write_text(f"port = {running_engine.url.rpartition(':')[2]}\nmcp_port = {engine_url.rpartition(':')[2]}\n")

    systemd.run("systemctl", "--user", "start", "kb")
    status = systemd.kb("service", "status")

    assert status.returncode == 1
    assert "auto-restart" in status.stdout
    assert f"{running_engine.url}/ answers" in status.stdout
    assert "Not the service has started the engine that answers" in status.stderr


def test_installed_again_it_has_the_settings_as_they_are_now(systemd: UserSystemd, unit: Path, engine_url: str) -> None:
    """C3"""
    assert systemd.kb("service", "install").returncode == 0
    config = systemd.home / ".config" / "kb" / "kb.toml"
    (mcp_port,) = find_free_ports(1)
    kept = [line for line in config.read_text().splitlines() if not line.startswith("mcp_port")]
    config.write_text("\n".join([*kept, f"mcp_port = {mcp_port}", f'data_dir = "{systemd.home}/elsewhere"']))

    again = systemd.kb("service", "install")

    assert again.returncode == 0, again.stderr
    assert f"http://127.0.0.1:{mcp_port}/mcp" in again.stdout
    assert httpx.get(f"http://127.0.0.1:{mcp_port}/health", trust_env=False, timeout=60).is_success
    assert (systemd.home / "elsewhere" / "originals").exists()


def test_a_service_knows_no_variable_that_its_systemd_has_got_from_a_login(
    systemd: UserSystemd, unit: Path, engine_url: str
) -> None:
    """C3: desktops hand the variables of a login to it."""
    elsewhere = systemd.folder / "not there"
    systemd.run("systemctl", "--user", "set-environment", "KB_PORT=1", f"KB_DATA_DIR={elsewhere}", "KB_API_KEY=sesame")
    try:
        installed = systemd.kb("service", "install")
        listed = systemd.kb("list", "--json")
    finally:
        systemd.run("systemctl", "--user", "unset-environment", "KB_PORT", "KB_DATA_DIR", "KB_API_KEY")

    assert installed.returncode == listed.returncode == 0, installed.stderr + listed.stderr
    assert engine_url in installed.stdout
    assert not elsewhere.exists()


def test_a_service_is_removed_from_another_shell_than_that_which_installed_it(
    systemd: UserSystemd, unit: Path, engine_url: str
) -> None:
    """C3: the other had another folder of configuration."""
    elsewhere = systemd.folder / "another configuration"
    (elsewhere / "kb").mkdir(parents=True)
    (elsewhere / "kb" / "kb.toml").write_text((systemd.home / ".config" / "kb" / "kb.toml").read_text())
    command = [sys.executable, "-m", "kb.cli.main", "service", "install"]

    installed = systemd.run(*command, XDG_CONFIG_HOME=str(elsewhere))
    status = systemd.kb("service", "status")
    removed = systemd.kb("service", "uninstall")
    again = systemd.kb("service", "uninstall")

    assert installed.returncode == status.returncode == removed.returncode == 0, removed.stderr
    assert again.returncode == 3
    assert not unit.is_symlink()
    assert not list(elsewhere.rglob("kb.service"))
    assert systemd.ask("kb.service", "LoadState") == "not-found"


def test_a_service_whose_unit_somebody_has_deleted_is_still_ended(
    systemd: UserSystemd, unit: Path, engine_url: str
) -> None:
    """C3"""
    assert systemd.kb("service", "install").returncode == 0
    unit.unlink()

    status = systemd.kb("service", "status")
    removed = systemd.kb("service", "uninstall")

    assert status.returncode == 3
    assert "Its unit is gone" in status.stderr
    assert removed.returncode == 0, removed.stderr
    assert not answers(engine_url)
    assert not list(unit.parent.rglob("kb.service"))
    assert systemd.ask("kb.service", "ActiveState") == "inactive"


def answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health/live", trust_env=False).is_success
    except httpx.TransportError:
        return False


def time_until_it_answers(url: str) -> float:
    began = time.monotonic()
    while not answers(url) and time.monotonic() < began + COMES_BACK_WITHIN_SECONDS:
        time.sleep(0.05)
    return time.monotonic() - began


def wait_until_it_has_started(systemd: UserSystemd) -> None:
    began = time.monotonic()
    while systemd.ask("kb.service", "ActiveState") != "active" and time.monotonic() < began + COMES_BACK_WITHIN_SECONDS:
        time.sleep(0.05)
