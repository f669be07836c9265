"""The package as somebody gets it who has no clone: built, and installed into environments that hold nothing else."""

import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from deploy.sizes import BYTES_PER_MB, measure
from tests.engine_program import EngineProgram

ROOT = Path(__file__).parents[2]
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
    """An environment of its own with kb in it, and a home of its own."""

    def __init__(self, folder: Path, constraints: Path) -> None:
        self.bin = folder / "environment/bin"
        self._constraints = constraints
        self._home = folder / "home"
        self._home.mkdir()
        venv.create(folder / "environment", with_pip=True)

    def install(self, wheel: Path, extras: str = "") -> None:
        run(str(self.bin / "pip"), "install", "--quiet", "--constraint", str(self._constraints), f"{wheel}{extras}")

    @property
    def sizes(self) -> dict[str, int]:
        (packages,) = self.bin.parent.glob("lib/python*/site-packages")
        return {name: size for name, size in measure(packages).items() if name not in {"pip", "setuptools"}}

    def kb(self, *arguments: str, settings: Mapping[str, str] = {}) -> subprocess.CompletedProcess[str]:
        environment = {**clean_environment(), "HOME": str(self._home), **settings}
        command = [str(self.bin / "kb"), *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)


def clean_environment() -> dict[str, str]:
    ours = ("KB_", "XDG_", "PYTHON")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


def run(*command: str, settings: Mapping[str, str] = {}) -> str:
    result = subprocess.run(
        command, env={**clean_environment(), **settings}, capture_output=True, text=True, check=False, timeout=600
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


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
    assert {"kb/engine/web/index.html", "kb/sample/index.json", "kb_local-3.0.0.dist-info/licenses/NOTICE"} <= {*names}


def test_the_source_archive_can_be_set_up_and_tested(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    assert {"Makefile", "requirements.lock", "requirements-dev.lock", "tests/conftest.py", "docs/generate.py"} <= names


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


def test_engine_and_mcp_server_run_from_the_wheel(client: Installed, wheel: Path, model_folder: Path) -> None:
    client.install(wheel, "[engine]")
    size = sum(client.sizes.values())
    client.install(wheel, "[mcp]")
    ports = ["--port", "0", "--mcp-port", "0"]

    with subprocess.Popen(
        [str(client.bin / "kb"), "up", *ports],
        env={
            **clean_environment(),
            "HOME": str(client.bin.parents[1] / "home"),
            "XDG_CACHE_HOME": str(model_folder.parents[2]),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as program:
        assert program.stdout is not None
        url = next(found[1] for line in program.stdout if (found := re.search(r"(http://\S+)/api/v1", line)))
        demo = client.kb("demo", settings={"KB_ENGINE_URL": url})
        program.terminate()

    assert size < ENGINE_MB * BYTES_PER_MB, client.sizes
    assert demo.returncode == 0, demo.stderr
    assert "Slugs: what worked for us" in demo.stdout


def test_it_installs_as_a_tool(wheel: Path, constraints: Path, tmp_path: Path) -> None:
    folders = {"PIPX_HOME": str(tmp_path / "pipx"), "PIPX_BIN_DIR": str(tmp_path / "bin")}

    run(sys.executable, "-m", "pipx", "install", f"--pip-args=--constraint {constraints}", str(wheel), settings=folders)

    assert run(str(tmp_path / "bin/kb"), "version", "--json").startswith('{"version": "3.0.0"')
