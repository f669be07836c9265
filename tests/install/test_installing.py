"""The package as somebody gets it who has no clone: built, and installed into environments that hold nothing else."""

import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import IO

import httpx
import pytest
from deploy.sizes import measure
from tests.engine_program import EngineProgram
from tests.repository_files import repository_files

from kb.sizes import BYTES_PER_MB

ROOT = Path(__file__).parents[2]
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")
STARTS_WITHIN_SECONDS = 120
# The promises of docs/how-to/install.md.
BASE_MB = 40
ENGINE_MB = 500


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source archive and the wheel, which is made from that archive."""
    folder = tmp_path_factory.mktemp("built")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT))
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    return next(built.glob("*.whl"))


@pytest.fixture(scope="module")
def constraints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The lock's versions. Its digests would ask for one of the wheel, too."""
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    file = tmp_path_factory.mktemp("constraints") / "constraints.txt"
    file.write_text("\n".join(re.findall(r"^[\w.-]+==\S+", lock, re.MULTILINE)), encoding="utf-8")
    return file


class Installed:
    """An environment of its own with kb in it and without pip, as uv makes them; and a home of its own."""

    def __init__(self, folder: Path, constraints: Path) -> None:
        self._environment = folder / "environment"
        self._constraints = constraints
        self._home = folder / "home"
        self._home.mkdir()
        venv.create(self._environment, with_pip=False)

    def install(self, wheel: Path, extras: str = "") -> None:
        options = ["--quiet", "--constraint", str(self._constraints)]
        run(*PIP, "--python", str(self._environment / "bin/python"), "install", *options, f"{wheel}{extras}")

    @property
    def sizes(self) -> dict[str, int]:
        (packages,) = self._environment.glob("lib/python*/site-packages")
        return measure(packages)

    def kb(self, *arguments: str, settings: Mapping[str, str] = {}) -> subprocess.CompletedProcess[str]:
        command, environment = self._command(*arguments), self._settings(settings)
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)

    @contextmanager
    def running(self, *arguments: str, settings: Mapping[str, str] = {}) -> Iterator[IO[str]]:
        """What it writes, until it has ended or is no longer wanted."""
        command, environment = self._command(*arguments), self._settings(settings)
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as program:
            # It may say nothing, and then nobody is to wait for it.
            watchdog = Timer(STARTS_WITHIN_SECONDS, program.kill)
            watchdog.start()
            try:
                assert program.stdout is not None
                yield program.stdout
            finally:
                watchdog.cancel()
                program.terminate()

    def _command(self, *arguments: str) -> list[str]:
        return [str(self._environment / "bin/kb"), *arguments]

    def _settings(self, settings: Mapping[str, str]) -> dict[str, str]:
        return {**clean_environment(), "HOME": str(self._home), **settings}


def clean_environment() -> dict[str, str]:
    ours = ("KB_", "XDG_", "PYTHON")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


def run(*command: str, settings: Mapping[str, str] = {}) -> str:
    result = subprocess.run(
        command, env={**clean_environment(), **settings}, capture_output=True, text=True, check=False, timeout=600
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def find_pip_cache() -> dict[str, str]:
    """Where what pip fetches is kept from one run of the tests to the next, unless it keeps nothing here."""
    asked = subprocess.run([*PIP, "cache", "dir"], env=clean_environment(), capture_output=True, text=True, check=False)
    return {"PIP_CACHE_DIR": asked.stdout.strip()} if asked.returncode == 0 else {}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, wheel: Path, constraints: Path) -> Installed:
    installed = Installed(tmp_path_factory.mktemp("client"), constraints)
    installed.install(wheel)
    return installed


def test_d3_the_wheel_holds_what_runs_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()

    assert wheel.name == "kb_local-3.0.0-py3-none-any.whl"
    assert {name.split("/")[0] for name in names} == {"kb", "kb_local-3.0.0.dist-info"}
    sources = {path.relative_to(ROOT / "src").as_posix() for path in repository_files() if ROOT / "src" in path.parents}
    assert {name for name in names if name.startswith("kb/")} == sources
    assert "kb_local-3.0.0.dist-info/licenses/NOTICE" in names


def test_the_source_archive_holds_the_whole_project(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        names = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}

    assert names - {"PKG-INFO"} == {path.relative_to(ROOT).as_posix() for path in repository_files()}


def test_the_client_alone_is_small_and_complete(client: Installed, running_engine: EngineProgram) -> None:
    """C1: it speaks to an engine elsewhere, and says how to get one here."""
    at_engine = running_engine.client_settings

    added = client.kb("addnote", "The ferry leaves at noon", settings=at_engine)
    found = client.kb("search", "when does the boat go", settings=at_engine)
    no_engine = client.kb("up")

    assert sum(client.sizes.values()) < BASE_MB * BYTES_PER_MB, client.sizes
    assert added.returncode == 0, added.stderr
    assert "The ferry leaves at noon" in found.stdout
    assert no_engine.returncode == 1
    assert no_engine.stderr == "The engine is not installed here. Install it: pip install 'kb-local[engine]'.\n"


def test_engine_and_mcp_server_run_from_the_wheel_with_a_model_fetched_without_pip(
    wheel: Path, constraints: Path, tmp_path: Path
) -> None:
    """D3"""
    installed = Installed(tmp_path, constraints)
    installed.install(wheel, "[engine]")
    sizes = installed.sizes
    kept = find_pip_cache()

    fetched = installed.kb("model", "fetch", settings=kept)
    with installed.running("up", "--port", "0") as told:
        alone = installed.kb("status", settings={"KB_ENGINE_URL": read_url(told, "/api/v1")})
    installed.install(wheel, "[mcp]")
    with installed.running("up", "--port", "0", "--mcp-port", "0") as told:
        url, mcp_url = (read_url(told, path) for path in ("/api/v1", "/mcp"))
        demo = installed.kb("demo", settings={"KB_ENGINE_URL": url})
        mcp_server = httpx.get(f"{mcp_url}/health", trust_env=False, timeout=60)

    assert sum(sizes.values()) < ENGINE_MB * BYTES_PER_MB, sizes
    assert fetched.returncode == 0, fetched.stderr
    assert alone.returncode == 0, alone.stderr
    assert demo.returncode == 0, demo.stderr
    assert "Slugs: what worked for us" in demo.stdout
    assert mcp_server.is_success


def read_url(told: IO[str], path: str) -> str:
    return next(found[1] for line in told if (found := re.search(rf"(http://\S+){path}$", line.rstrip())))


def test_it_installs_as_a_tool(wheel: Path, constraints: Path, tmp_path: Path) -> None:
    folders = {"PIPX_HOME": str(tmp_path / "pipx"), "PIPX_BIN_DIR": str(tmp_path / "bin")}
    options = [f"--pip-args=--constraint {constraints}"]

    run(sys.executable, "-m", "pipx", "install", *options, f"{wheel}[mcp]", settings=folders)

    assert run(str(tmp_path / "bin/kb"), "version", "--json").startswith('{"version": "3.0.0"')
    assert "--engine-url" in run(str(tmp_path / "bin/kb"), "mcp", "--help")
