"""The extra for graphics processors is installed, and what it brought cannot be loaded."""

import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from kb.engine.embedding import open_embedder
from kb.engine.embedding.devices import find_device
from kb.engine.errors import Unavailable
from kb.engine.model import Computing, WantedDevice

pytestmark = pytest.mark.skipif(find_spec("torch") is not None, reason="tests/gpu is for where there is torch")

TORCH_WITH_A_DEVICE = """
class version:
    hip, cuda = None, "13.0"
class cuda:
    is_available = staticmethod(lambda: True)
class OutOfMemoryError(RuntimeError):
    pass
"""

SAFETENSORS = """
class SafetensorError(Exception):
    pass
"""

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Makes packages of these names importable that are as little as is said."""
    folder = tmp_path / "packages"
    names: list[str] = []

    def install(*, torch: str = TORCH_WITH_A_DEVICE, sentence_transformers: str) -> None:
        packages = {"torch": torch, "sentence_transformers": sentence_transformers, "safetensors": SAFETENSORS}
        for name, program in packages.items():
            (folder / name).mkdir(parents=True)
            (folder / name / "__init__.py").write_text(program)
        names.extend(packages)
        monkeypatch.syspath_prepend(folder)

    yield install
    for name in names:
        sys.modules.pop(name, None)


@pytest.fixture
def unknown_folder(model_folder: Path, tmp_path: Path) -> Path:
    """The bundled model as one that ONNX Runtime cannot run."""
    folder = tmp_path / "models" / "unknown"
    (folder / "1_Pooling").mkdir(parents=True)
    for file in (*model_folder.glob("*.*"), model_folder / "1_Pooling" / "config.json"):
        (folder / file.relative_to(model_folder)).symlink_to(file)
    config = (folder / "config.json").read_text()
    (folder / "config.json").unlink()
    (folder / "config.json").write_text(config.replace('"gelu"', '"relu"'))
    return folder


@pytest.mark.parametrize("wanted", ["auto", "cuda"])
@pytest.mark.parametrize("error", ["ImportError", "OSError", "ValueError", "RuntimeError", "AttributeError"])
def test_a_model_that_onnx_can_run_computes_on_the_processor_and_says_why(
    install: Install,
    model_folder: Path,
    cache_dir: Path,
    caplog: pytest.LogCaptureFixture,
    wanted: WantedDevice,
    error: str,
) -> None:
    install(sentence_transformers=f"raise {error}('half-done upgrade')")

    embedder = open_embedder(model_folder, cache_dir / "graphs", threads=1, device=wanted)

    assert embedder.embed_query("ferry").shape == (384,)
    assert embedder.computing.device == "cpu"
    assert "not on cuda: sentence-transformers cannot load it. The log says why" in str(embedder.computing.shortfall)
    assert "half-done upgrade" in caplog.text


def test_a_model_that_onnx_cannot_run_is_refused_with_the_way_out(
    install: Install, unknown_folder: Path, tmp_path: Path
) -> None:
    install(sentence_transformers="raise ImportError('half-done upgrade')")

    with pytest.raises(Unavailable, match=r"unknown cannot be run here: .*use-a-gpu\.md"):
        open_embedder(unknown_folder, tmp_path, threads=1)


@pytest.mark.parametrize("torch", ["raise AttributeError('half of it')", "version = None"])
def test_a_torch_that_is_not_whole_is_told_to_who_asked_for_a_device(
    install: Install, caplog: pytest.LogCaptureFixture, torch: str
) -> None:
    install(torch=torch, sentence_transformers="")

    computing = find_device("cuda")

    assert "not on cuda: torch cannot be loaded" in str(computing.shortfall)
    assert "torch is installed and cannot be loaded." in caplog.messages
    assert find_device("auto") == Computing()
