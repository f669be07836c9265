"""The embedder that runs a model's graph on ONNX Runtime."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as runtime_errors

from kb.engine.embedding.graph import MASK_INPUT, TOKENS_INPUT
from kb.engine.embedding.prompts import Prompts
from kb.engine.embedding.tokenizing import KEPT_QUERIES, find_token_spans, open_tokenizer
from kb.engine.errors import Unavailable
from kb.engine.model import Computing, EmbeddingModel, Vector, Vectors

# In a batch, padding included: a long chunk or a dozen short ones. Measured on CPUs: in smaller batches the weights are
# read too often for short texts, and in larger ones the activations fall out of the caches.
BATCH_TOKENS = 256

_ERRORS_ONLY = 3


class OnnxEmbedder:
    """May be used from several threads at once; they share the session's threads.

    A single query is shared among `threads`. Of many passages `batches_at_once` are run at a time, on threads that are
    there for one call: that takes less of the processors than to share each batch, and none waits for another.
    """

    is_ready: Final = True
    failure: Final = None

    def __init__(
        self,
        model: EmbeddingModel,
        *,
        tokenizer: Path,
        graph: Path,
        prompts: Prompts,
        threads: int,
        batches_at_once: int = 1,
        computing: Computing,
    ) -> None:
        self.model: Final = model
        self.computing: Final = computing
        self._prompts = prompts
        self._batches_at_once = batches_at_once
        self._whole_text = open_tokenizer(tokenizer)
        self._window = open_tokenizer(tokenizer)
        self._window.enable_truncation(model.window)
        self._session = _open_session(graph, threads)
        self._embed_tokens = lru_cache(KEPT_QUERIES)(self._embed_one)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        # One text at a time: the tokenizer's own batches start a pool of threads as wide as the machine.
        tokens = [self._window.encode(self._prompts.passage + text).ids for text in texts]
        vectors = np.empty((len(tokens), self.model.dimension), np.float32)

        def embed_batch(batch: list[int]) -> None:
            vectors[batch] = self._run([tokens[index] for index in batch])

        with ThreadPoolExecutor(self._batches_at_once) as threads:
            for done in [threads.submit(embed_batch, batch) for batch in make_batches([*map(len, tokens)])]:
                done.result()
        return vectors

    def embed_query(self, text: str) -> Vector:
        """Not to be written to: of the last queries, by what the model sees of them, the vectors are kept."""
        return self._embed_tokens(np.array(self._window.encode(self._prompts.query + text).ids, np.int32).tobytes())

    def _embed_one(self, tokens: bytes) -> Vector:
        vector: Vector = self._run([np.frombuffer(tokens, np.int32)])[0]
        vector.flags.writeable = False
        return vector

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        return find_token_spans(self._whole_text, text)

    def _run(self, batch: Sequence[Sequence[int] | npt.NDArray[np.int32]]) -> Vectors:
        tokens = np.zeros((len(batch), max(map(len, batch))), np.int32)
        mask = np.zeros_like(tokens)
        for row, ids in enumerate(batch):
            tokens[row, : len(ids)] = ids
            mask[row, : len(ids)] = 1
        with translated_errors():
            (vectors,) = self._session.run(None, {TOKENS_INPUT: tokens, MASK_INPUT: mask})
        return np.asarray(vectors, np.float32)


def make_batches(lengths: Sequence[int]) -> list[list[int]]:
    """The places of texts of so many tokens, in batches of some `BATCH_TOKENS`.

    Neighbours in length share a batch, so that next to nothing is spent on padding.
    """
    batches: list[list[int]] = []
    for place in sorted(range(len(lengths)), key=lambda place: lengths[place], reverse=True):
        # The first of a batch is its longest.
        if batches and (len(batches[-1]) + 1) * lengths[batches[-1][0]] <= BATCH_TOKENS:
            batches[-1].append(place)
        else:
            batches.append([place])
    return batches


@contextmanager
def translated_errors() -> Iterator[None]:
    try:
        yield
    except (
        runtime_errors.EPFail,
        runtime_errors.Fail,
        runtime_errors.InvalidArgument,
        runtime_errors.InvalidGraph,
        runtime_errors.InvalidProtobuf,
        runtime_errors.NoSuchFile,
        runtime_errors.NotImplemented,
        runtime_errors.RuntimeException,
    ) as error:
        raise Unavailable("The embedding model's graph could not be run.") from error


def _open_session(graph: Path, threads: int) -> onnxruntime.InferenceSession:
    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _ERRORS_ONLY
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Waiting threads sleep: a busy wait wins 0.3 ms a query at most and takes a core from everyone else.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # A pattern is kept for every shape seen, and nearly every batch has its own. The arena stays on: without
    # it memory peaks up to a quarter higher, at no gain in speed.
    options.enable_mem_pattern = False
    with translated_errors():
        return onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
