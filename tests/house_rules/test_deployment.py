"""What containers and services are told must be what the programs know: `compose.yaml` and `deploy/` against the code.

D2, and the deployment scenarios of the MCP server. No container and no service is started here.
"""

import json
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.house_rules.deployment import (
    PROGRAMS,
    ROOT,
    SCALED,
    SERVICES,
    engine_settings,
    last_of,
    mcp_settings,
    read_compose,
    read_stages,
    steps_of,
)

from kb.child import STOP_WITHIN_SECONDS
from kb.cli.table import ENTRIES
from kb.engine.api.app import create_routes
from kb.engine.processes.engine_process import SHUTDOWN_WITHIN_SECONDS
from kb.mcp.guard import HEALTH_PATH
from kb.mcp.uploads import MAX_STAGED_BYTES
from kb.settings import EngineSettings, SettingsError, describe_options, read_settings
from kb.sizes import BYTES_PER_MB

DOCKERFILES = sorted((ROOT / "deploy").glob("*.Dockerfile"))
HOW_TO = ROOT / "docs" / "how-to"
NAMING_SETTINGS = ("run-in-containers", "run-as-a-service", "secure-with-tls", "harden", "scale-out")
PAGES = [HOW_TO / f"{name}.md" for name in NAMING_SETTINGS]
UNIT = ROOT / "deploy" / "systemd" / "kb.service"

# Fixed by the image; the port that the host sees is chosen where it is published.
FIXED = {"KB_PORT", "KB_MCP_PORT", "KB_EMBEDDING_MODEL"}

# On its own, each of these is an engine or an MCP server that can be called from the host.
SINGLE = [name for name in PROGRAMS if name not in SCALED]
ENGINES = [name for name in SINGLE if PROGRAMS[name]["build"]["target"] == "engine"]


def test_engine_and_mcp_server_start_by_default_and_one_profile_stands_for_each_kind_of_device() -> None:
    """D2"""
    profiles = {name: service.get("profiles") for name, service in SERVICES.items() if name not in SCALED}

    assert profiles == {"engine": None, "mcp": None, "engine-nvidia": ["nvidia"], "engine-rocm": ["rocm"]}
    assert {Path(service["build"]["dockerfile"]) for service in PROGRAMS.values()} == {
        path.relative_to(ROOT) for path in DOCKERFILES
    }


@pytest.mark.parametrize("name", SINGLE)
def test_each_image_runs_the_kb_command_of_its_program(name: str) -> None:
    """D2"""
    commands = set(ENTRIES)

    command = json.loads(last_of("CMD", steps_of(SERVICES[name])))

    assert command == ["kb", SERVICES[name]["build"]["target"]]
    assert command[1] in commands


@pytest.mark.parametrize("name", SINGLE)
def test_each_port_is_the_programs_own_and_published_on_loopback_only(name: str, tmp_path: Path) -> None:
    """D2"""
    port = mcp_settings(tmp_path).mcp_port if name == "mcp" else engine_settings(name, tmp_path).port

    assert SERVICES[name]["ports"] == [f"127.0.0.1:{port}:{port}"]
    assert last_of("EXPOSE", steps_of(SERVICES[name])) == str(port)
    assert f'"127.0.0.1", {port}' in SERVICES[name]["healthcheck"]["test"][-1]


@pytest.mark.parametrize("name", ENGINES)
def test_the_health_check_of_the_engine_asks_a_route_that_exists(name: str) -> None:
    """D2"""
    check = SERVICES[name]["healthcheck"]["test"][-1]

    assert '"/health/ready"' in check
    assert "/health/ready" in create_routes().openapi()["paths"]


def test_the_health_check_of_the_mcp_server_asks_a_route_that_exists() -> None:
    """D2"""
    assert f'"{HEALTH_PATH}"' in SERVICES["mcp"]["healthcheck"]["test"][-1]


@pytest.mark.parametrize("name", ENGINES)
def test_docker_compose_deployment(name: str, tmp_path: Path) -> None:
    """D2; scenario "Docker Compose deployment": the MCP server calls the engine by the service's name."""
    called = urlsplit(mcp_settings(tmp_path).engine_url)
    aliases = SERVICES[name].get("networks", {}).get("default", {}).get("aliases", [])

    engine = engine_settings(name, tmp_path)

    assert (called.scheme, called.hostname, called.port) == ("http", "engine", engine.port)
    assert called.hostname in [name, *aliases]
    assert called.hostname in engine.accepted_hosts
    assert "localhost" in engine.accepted_hosts


@pytest.mark.parametrize("name", ENGINES)
def test_the_programs_listen_for_other_containers_and_start_with_nothing_set(name: str, tmp_path: Path) -> None:
    """D2"""
    engine, server = engine_settings(name, tmp_path), mcp_settings(tmp_path)

    engine.refuse_public_without_key()
    server.refuse_public_without_key()

    assert (engine.host, server.mcp_host) == ("0.0.0.0", "0.0.0.0")  # noqa: S104  inside a container


def test_without_that_leave_they_refuse_to_start_unless_they_have_their_keys(tmp_path: Path) -> None:
    """D2"""
    without = {"KB_INSECURE": "false"}
    keys = {**without, "KB_API_KEY": "for-programs", "KB_MCP_API_KEY": "for-agents"}
    engine, server = engine_settings("engine", tmp_path, keys), mcp_settings(tmp_path, keys)

    for program in (engine_settings("engine", tmp_path, without), mcp_settings(tmp_path, without)):
        with pytest.raises(SettingsError, match="no key is set"):
            program.refuse_public_without_key()
    engine.refuse_public_without_key()
    server.refuse_public_without_key()

    assert engine.api_key.get_secret_value() == server.api_key.get_secret_value() == "for-programs"
    assert server.mcp_api_key.get_secret_value() == "for-agents"


def test_names_that_are_added_do_not_shut_out_the_health_checks_and_the_mcp_server(tmp_path: Path) -> None:
    """D2"""
    names = {"KB_ALLOWED_HOSTS": "kb.example.org", "KB_MCP_ALLOWED_HOSTS": "agents.example.org"}

    engine, server = engine_settings("engine", tmp_path, names), mcp_settings(tmp_path, names)

    assert {"127.0.0.1", "engine", "kb.example.org"} <= set(engine.accepted_hosts)
    assert {"127.0.0.1", "agents.example.org"} <= set(server.accepted_hosts)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_option_of_a_program_can_be_given_to_its_container(name: str) -> None:
    """D2"""
    program = SERVICES[name]["build"]["target"]
    options = {option.variable for option in describe_options() if program in option.programs}

    assert set(SERVICES[name]["environment"]) == options - FIXED


@pytest.mark.parametrize("path", [ROOT / "compose.yaml", UNIT, *PAGES, *DOCKERFILES], ids=lambda path: path.name)
def test_every_variable_that_is_named_is_a_setting(path: Path) -> None:
    """D2"""
    settings = {option.variable for option in describe_options()}

    named = set(re.findall(r"\bKB_[A-Z0-9_]+", path.read_text(encoding="utf-8")))

    assert {name.removesuffix("_FILE") for name in named} <= settings


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_container_is_not_root_and_can_write_only_where_it_must(name: str) -> None:
    """D2"""
    service = SERVICES[name]

    user, _, group = last_of("USER", steps_of(service)).partition(":")

    assert int(user) > 0
    assert int(group) > 0
    assert any(rest.startswith(f"useradd --uid {user} ") for _, rest in steps_of(service))
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert [mount.partition(":")[0] for mount in service["tmpfs"]] == ["/tmp"]  # noqa: S108  a container's own


@pytest.mark.parametrize("name", ENGINES)
def test_the_one_volume_is_the_data_directory_and_belongs_to_the_containers_user(name: str, tmp_path: Path) -> None:
    """D2"""
    settings = engine_settings(name, tmp_path)

    assert "data" in read_compose()["volumes"]
    assert "volumes" not in SERVICES["mcp"]
    assert SERVICES[name]["volumes"] == [f"data:{settings.data_dir}"]
    assert ("RUN", f"install --directory --owner=kb --group=kb {settings.data_dir}") in steps_of(SERVICES[name])


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=lambda path: path.name)
def test_the_model_is_in_the_image_where_the_engine_looks_for_it(dockerfile: Path) -> None:
    """D2, D3"""
    stages = read_stages(dockerfile)
    cache = last_of("ENV", stages["engine"])
    (origin,) = re.findall(r"--from=(\S+) /opt/kb /opt/kb", last_of("COPY", stages["engine"]))

    fetched = [rest for _, rest in stages[origin] if "kb model fetch" in rest]

    assert cache.startswith("XDG_CACHE_HOME=/opt/kb/")
    assert len(fetched) == 1
    assert fetched[0].startswith(f"{cache} kb model fetch")


def test_the_builds_are_sent_what_the_dockerfiles_copy_and_nothing_else() -> None:
    """D2"""
    steps = [step for path in DOCKERFILES for stage in read_stages(path).values() for step in stage]
    sent = re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text(encoding="utf-8"), flags=re.MULTILINE)

    copied = {source for name, rest in steps if name == "COPY" and "--from" not in rest for source in rest.split()[:-1]}

    assert copied == set(sent)
    assert all((ROOT / source).exists() for source in copied)


@pytest.mark.parametrize(("name", "device"), [("engine", "auto"), ("engine-nvidia", "cuda"), ("engine-rocm", "rocm")])
def test_each_engine_asks_for_the_device_that_its_image_is_for(name: str, device: str, tmp_path: Path) -> None:
    """D2"""
    assert engine_settings(name, tmp_path).device == device
    assert engine_settings(name, tmp_path, {"KB_DEVICE": "cpu"}).device == "cpu"


def test_what_images_for_graphics_processors_add_is_pinned_with_digests_and_fits_the_rest() -> None:
    """D2, D3"""
    locks = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "deploy" / "gpu").glob("*.lock")}
    pinned = dict(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "requirements.lock").read_text("utf-8"), re.MULTILINE))
    tested = (ROOT / "tests" / "gpu" / "requirements.txt").read_text(encoding="utf-8")

    assert locks.keys() == {"cuda", "sentence-transformers"}
    for name, lock in locks.items():
        added = dict(re.findall(r"^([\w.-]+)==(\S+)", lock, re.MULTILINE))
        assert len(re.findall(r"^[\w.-]+==\S+ .*\n    --hash=sha256:", lock, re.MULTILINE)) == len(added)
        assert {"cuda": "torch", "sentence-transformers": "sentence-transformers"}[name] in added
        assert all(pinned.get(package, version) == version for package, version in added.items())
        for package in {"torch", "sentence-transformers"} & added.keys():
            assert f"{package}=={added[package]}" in tested
        assert "://" not in lock


@pytest.mark.parametrize("name", SERVICES)
def test_a_stopped_container_has_time_to_finish_what_is_under_way(name: str) -> None:
    """D2"""
    grace = int(SERVICES[name]["stop_grace_period"].removesuffix("s"))

    assert grace > SHUTDOWN_WITHIN_SECONDS + STOP_WITHIN_SECONDS


def test_the_mcp_server_has_room_for_all_the_uploads_that_it_accepts() -> None:
    """D2, M13: each lies there twice while its chunks are joined."""
    (room,) = re.findall(r"size=(\d+)g", SERVICES["mcp"]["tmpfs"][0])

    assert int(room) * 1024 * BYTES_PER_MB >= 2 * MAX_STAGED_BYTES


def unit_lines(name: str) -> list[str]:
    return re.findall(rf"^{name}=(.*)$", UNIT.read_text(encoding="utf-8"), flags=re.MULTILINE)


def test_the_service_runs_kb_up_as_its_own_user_on_its_own_folder_with_its_keys(tmp_path: Path) -> None:
    """D2"""
    (program,), folder = unit_lines("ExecStart"), tmp_path / "state"
    given = dict(entry.split("=") for line in unit_lines("Environment") for entry in line.split())

    settings = read_settings(EngineSettings, {}, {"KB_DATA_DIR": given["KB_DATA_DIR"]}, folder)

    assert program.split()[1:] == ["up"]
    assert "up" in ENTRIES
    assert unit_lines("User") == ["kb"]
    assert settings.data_dir == Path("/var/lib") / unit_lines("StateDirectory")[0]
    assert {"KB_API_KEY_FILE", "KB_MCP_API_KEY_FILE"} <= given.keys()
    assert int(unit_lines("TimeoutStopSec")[0]) > SHUTDOWN_WITHIN_SECONDS + STOP_WITHIN_SECONDS


def test_the_service_takes_nothing_that_the_readers_of_files_need() -> None:
    """D2, I5, I8: readers lower their priority and limits, and confine themselves; ONNX Runtime reads /proc/cpuinfo."""
    confining = "seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self"
    assert unit_lines("SystemCallFilter") == ["@system-service", confining, "~@privileged"]
    assert unit_lines("ProcSubset") == []
    assert unit_lines("NoNewPrivileges") == ["yes"]
    assert unit_lines("ProtectSystem") == ["strict"]
