"""What a model is, and its embedder, ready to use: on the device that is wanted, if it can be had."""

import hashlib
import logging
from pathlib import Path

import numpy as np

from kb.engine.embedding.architecture import UnknownNetwork, has_graph, read_architecture
from kb.engine.embedding.bundled_model import PINNED_SHA256
from kb.engine.embedding.config_files import ModelRefused
from kb.engine.embedding.description import describe_any_model
from kb.engine.embedding.devices import (
    BROKEN_PACKAGE,
    DeviceFull,
    DeviceLost,
    choose_processor_instead,
    explain_broken_extra,
    find_device,
    has_extra,
)
from kb.engine.embedding.graph import GRAPH_VERSION, write_graph
from kb.engine.embedding.modules import tokenizer_file
from kb.engine.embedding.prompts import Prompts, count_prompt_tokens, read_prompts
from kb.engine.embedding.weights import WEIGHTS_FILE, read_digest, read_tensors, require_tensors
from kb.engine.errors import Unavailable
from kb.engine.model import Computing, EmbeddingModel, WantedDevice
from kb.engine.ports import Embedder

# What sentence-transformers makes of this text with the bundled weights. Whatever may have happened to a
# cached graph, to the runtime or to this machine's arithmetic shows here.
_GOLDEN_TEXT = "how do I reset my password?"
_GOLDEN_VECTOR = Path(__file__).with_name("golden.npy")
_LEAST_AGREEMENT = 0.9999
# Seconds are lost with longer ones, and those that see so much at once count no places that they could run out of.
_LONGEST_WINDOW_TRIED = 1024

log = logging.getLogger(__name__)


def read_model(folder: Path) -> EmbeddingModel:
    """What the model in this folder is, without loading it. Raises `Unavailable` if it cannot be run."""
    try:
        architecture = read_architecture(folder)
    except UnknownNetwork:
        if not has_extra():
            raise
        return describe_any_model(folder)
    digest = _weights_digest(folder)
    require_tensors(folder / WEIGHTS_FILE)
    return EmbeddingModel(
        name=folder.name,
        dimension=architecture.hidden_size,
        window=architecture.window,
        fingerprint=f"{folder.name}-{digest[:12]}{_prompts_digest(folder)}-fp32",
        prompt_tokens=count_prompt_tokens(folder),
    )


def open_embedder(
    folder: Path, graph_dir: Path, *, threads: int, batches_at_once: int = 1, device: WantedDevice = "cpu"
) -> Embedder:
    """Open the model in `folder`, whose graph is kept in `graph_dir`: made if missing, made anew if bad.

    On a processor, each batch of texts is shared among `threads`, and of many passages `batches_at_once` are under way
    at a time. Where the device cannot be had, the model computes on the processor, and says so.
    """
    computing = find_device(device)
    if computing.device != "cpu":
        try:
            return _open_on_torch(folder, computing, threads)
        except Unavailable as error:
            log.warning("The model could not be opened on %s.", computing.device, exc_info=True)
            computing = choose_processor_instead(computing.device, error)
    if computing.shortfall is not None:
        log.warning(computing.shortfall)
    if has_graph(folder):
        return _open_on_onnx(folder, graph_dir, computing, threads, batches_at_once)
    return _open_on_torch(folder, computing, threads * batches_at_once)


def _open_on_onnx(folder: Path, graph_dir: Path, computing: Computing, threads: int, batches_at_once: int) -> Embedder:
    graph = graph_dir / _graph_name(folder)

    def open_graph() -> Embedder:
        # Imported here because it takes a fifth of a second, and this runs while the engine already serves.
        from kb.engine.embedding.onnx import OnnxEmbedder

        return _checked(
            folder,
            OnnxEmbedder(
                read_model(folder),
                tokenizer=tokenizer_file(folder),
                graph=graph,
                prompts=read_prompts(folder),
                threads=threads,
                batches_at_once=batches_at_once,
                computing=computing,
            ),
        )

    if graph.exists():
        try:
            return open_graph()
        except Unavailable:
            log.warning("The cached graph %s is damaged; making it anew.", graph.name, exc_info=True)
    write_graph(read_tensors(folder / WEIGHTS_FILE), read_architecture(folder), graph)
    return open_graph()


def _open_on_torch(folder: Path, computing: Computing, threads: int) -> Embedder:
    # Raises what a person can make use of where there is no extra at all.
    model = read_model(folder)
    try:
        # It takes seconds.
        from kb.engine.embedding.sentence_transformers import SentenceTransformersEmbedder
    except BROKEN_PACKAGE as error:
        raise explain_broken_extra(model) from error
    embedder = SentenceTransformersEmbedder(
        model,
        folder=folder,
        tokenizer=tokenizer_file(folder),
        computing=computing,
        prompts=read_prompts(folder),
        threads=threads,
    )
    return _checked(folder, embedder)


def _checked(folder: Path, embedder: Embedder) -> Embedder:
    vector = embedder.embed_query(_GOLDEN_TEXT)
    if vector.shape != (embedder.model.dimension,) or not np.isfinite(vector).all():
        raise Unavailable(f"The model {folder.name} does not give vectors such as its files announce.")
    if embedder.model.window <= _LONGEST_WINDOW_TRIED:
        _try_the_window(folder, embedder)
    is_bundled = has_graph(folder) and _weights_digest(folder) == PINNED_SHA256[WEIGHTS_FILE]
    if is_bundled and read_prompts(folder) == Prompts():
        agreement = float(vector @ np.load(_GOLDEN_VECTOR))
        # Written so that a vector of NaN fails too.
        if not agreement >= _LEAST_AGREEMENT:
            raise Unavailable("The embedding model does not give the vectors it should on this machine.")
    return embedder


def _try_the_window(folder: Path, embedder: Embedder) -> None:
    """One that sees less than its files say would fail at the first long text."""
    try:
        embedder.embed_query("a " * embedder.model.window)
    except (DeviceFull, DeviceLost):
        # That may be so with any model.
        raise
    except Unavailable as error:
        reason = f"its files say that it sees {embedder.model.window} tokens at once, and with so many it fails"
        raise ModelRefused(folder.name, reason) from error


def _graph_name(folder: Path) -> str:
    inputs = f"{_weights_digest(folder)} {read_architecture(folder)}"
    return f"{folder.name}-{hashlib.sha256(inputs.encode()).hexdigest()[:16]}-v{GRAPH_VERSION}.onnx"


def _prompts_digest(folder: Path) -> str:
    """Nothing of a model that has none, as most."""
    prompts = read_prompts(folder)
    return "" if prompts == Prompts() else f"-{hashlib.sha256(repr(prompts).encode()).hexdigest()[:6]}"


def _weights_digest(folder: Path) -> str:
    try:
        return read_digest(folder / WEIGHTS_FILE)
    except FileNotFoundError as error:
        raise Unavailable(
            f"The model {folder.name} is not complete: it has no {WEIGHTS_FILE}.", model=folder.name
        ) from error
