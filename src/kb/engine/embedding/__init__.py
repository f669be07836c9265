"""Text to vectors: the model's files, the graph made of them, and the embedder that runs it."""

import hashlib
import logging
from pathlib import Path

import numpy as np

from kb.engine.embedding.architecture import read_architecture
from kb.engine.embedding.files import PINNED_SHA256, bundled_model_folder, fetch_bundled_model
from kb.engine.embedding.graph import GRAPH_VERSION, write_graph
from kb.engine.embedding.loading import LoadingEmbedder
from kb.engine.embedding.weights import WEIGHTS_FILE, read_digest, read_tensors
from kb.engine.errors import Unavailable
from kb.engine.model import EmbeddingModel
from kb.engine.ports import Embedder

__all__ = ["LoadingEmbedder", "bundled_model_folder", "fetch_bundled_model", "open_embedder", "read_model"]

# What sentence-transformers makes of this text with the bundled weights. Whatever may have happened to a
# cached graph, to the runtime or to this machine's arithmetic shows here.
_GOLDEN_TEXT = "how do I reset my password?"
_GOLDEN_VECTOR = Path(__file__).with_name("golden.npy")
_LEAST_AGREEMENT = 0.9999

logger = logging.getLogger(__name__)


def read_model(folder: Path) -> EmbeddingModel:
    """What the model in this folder is, without loading it. Raises `Unavailable` if it cannot be run."""
    architecture = read_architecture(folder)
    return EmbeddingModel(
        name=folder.name,
        dimension=architecture.hidden_size,
        window=architecture.window,
        fingerprint=f"{folder.name}-{_weights_digest(folder)[:12]}-fp32",
    )


def open_embedder(folder: Path, graph_dir: Path, *, threads: int, lanes: int = 1) -> Embedder:
    """Open the model in `folder`, whose graph is kept in `graph_dir`: made if missing, made anew if bad.

    What is embedded is shared among `threads`, and of many passages `lanes` batches are under way at a time.
    """
    graph = graph_dir / _graph_name(folder)
    if graph.exists():
        try:
            return _open_checked(folder, graph, threads, lanes)
        except Unavailable:
            logger.warning("The cached graph %s is damaged; making it anew.", graph.name, exc_info=True)
    write_graph(read_tensors(folder / WEIGHTS_FILE), read_architecture(folder), graph)
    return _open_checked(folder, graph, threads, lanes)


def _open_checked(folder: Path, graph: Path, threads: int, lanes: int) -> Embedder:
    # Imported here because it takes a fifth of a second, and this runs while the engine already serves.
    from kb.engine.embedding.onnx import OnnxEmbedder

    embedder = OnnxEmbedder(
        read_model(folder), tokenizer=folder / "tokenizer.json", graph=graph, threads=threads, lanes=lanes
    )
    if _weights_digest(folder) == PINNED_SHA256[WEIGHTS_FILE]:
        agreement = float(embedder.embed_query(_GOLDEN_TEXT) @ np.load(_GOLDEN_VECTOR))
        # Written so that a vector of NaN fails too.
        if not agreement >= _LEAST_AGREEMENT:
            raise Unavailable("The embedding model does not give the vectors it should on this machine.")
    return embedder


def _graph_name(folder: Path) -> str:
    inputs = f"{_weights_digest(folder)} {read_architecture(folder)}"
    return f"{folder.name}-{hashlib.sha256(inputs.encode()).hexdigest()[:16]}-v{GRAPH_VERSION}.onnx"


def _weights_digest(folder: Path) -> str:
    try:
        return read_digest(folder)
    except FileNotFoundError as exc:
        raise Unavailable(
            f"The model {folder.name} is not complete: it has no {WEIGHTS_FILE}.", model=folder.name
        ) from exc
