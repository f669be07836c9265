"""Which models are on this machine, and are they fit to be used?"""

from dataclasses import asdict, dataclass
from pathlib import Path

from kb.engine.embedding import bundled_model_folder, fetch_bundled_model, open_embedder, read_model
from kb.engine.errors import Unavailable


def model_locations(cache_dir: Path, model_folder: Path | None) -> tuple[Path, Path]:
    """Where the model is (`None` means the bundled one) and where the graphs made of models are kept."""
    return model_folder or bundled_model_folder(cache_dir), cache_dir / "graphs"


def fetch_model(cache_dir: Path, source: Path | None) -> Path:
    """Put the bundled model into the cache, verified and ready to run; does nothing if it is there."""
    folder = fetch_bundled_model(cache_dir, source)
    open_embedder(folder, cache_dir / "graphs", threads=1)
    return folder


@dataclass(frozen=True)
class ModelOnDisk:
    name: str
    folder: str
    size_bytes: int
    used: bool
    """Whether it is the one that was asked for."""
    ready: bool
    dimension: int | None
    problem: str | None
    """Why it cannot be used, and what to do."""

    def to_json(self) -> dict[str, object]:
        return asdict(self)


def list_models(cache_dir: Path, chosen: Path | None) -> list[ModelOnDisk]:
    """Those in the cache and the chosen one (`None` means the bundled one), whether it is there or not."""
    used = chosen or bundled_model_folder(cache_dir)
    cached = (cache_dir / "models").glob("[!.]*/")
    return [_look_at_model(folder, used=folder == used) for folder in sorted({used, *cached})]


def _look_at_model(folder: Path, *, used: bool) -> ModelOnDisk:
    dimension, problem = None, None
    try:
        dimension = read_model(folder).dimension
    except Unavailable as error:
        problem = str(error)
    size_bytes = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return ModelOnDisk(folder.name, str(folder), size_bytes, used, problem is None, dimension, problem)
