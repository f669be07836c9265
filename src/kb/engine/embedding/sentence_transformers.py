"""The embedder that runs a model through sentence-transformers and torch: on a graphics processor, or any model.

What it gives for the weights of a model that ONNX Runtime can run too is the same within 1e-5, so that neither
of them ever has to embed anew what the other has embedded. Nothing is fetched: it reads the model's folder.
"""

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from huggingface_hub import constants as hub
from safetensors import SafetensorError
from sentence_transformers import SentenceTransformer
from transformers.utils.logging import disable_progress_bar, set_verbosity_error

from kb.engine.embedding.config_files import ModelRefused
from kb.engine.embedding.devices import BROKEN_PACKAGE, DeviceFull, DeviceLost, explain_broken_extra
from kb.engine.embedding.prompts import Prompts
from kb.engine.embedding.tokenizing import KEPT_QUERIES, find_token_spans, open_tokenizer
from kb.engine.errors import Unavailable
from kb.engine.model import Computing, EmbeddingModel, Vector, Vectors

# As many as one step of the worker has, so that a step is one batch. On a processor short batches are better, as with
# ONNX Runtime: docs/decisions/0033.
BATCH_ON_DEVICE = 32
BATCH_ON_PROCESSOR = 8

# Half of a network's precision would be enough to run it, and give other vectors than those of other machines.
_LOADING = {"dtype": torch.float32, "use_safetensors": True}
_MANY_SCRIPTS = "Naïve Café in ÜBERSEE, don't! 東京 ЖЮЛЬ Ψυχή 🚀 x_1 e-mail"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Query:
    """Two are the same if the model sees the same of them."""

    tokens: bytes
    text: str = field(compare=False)


class SentenceTransformersEmbedder:
    """May be used from several threads at once; they take turns, a call of `embed_passages` being one."""

    is_ready: Final = True
    failure: Final = None

    def __init__(
        self,
        model: EmbeddingModel,
        *,
        folder: Path,
        tokenizer: Path,
        computing: Computing,
        prompts: Prompts,
        threads: int,
    ) -> None:
        self.model: Final = model
        self.computing: Final = computing
        self._prompts = prompts
        self._turn = threading.Lock()
        self._whole_text = open_tokenizer(tokenizer)
        self._window = open_tokenizer(tokenizer)
        self._window.enable_truncation(model.window)
        with _translated_damage(model), translated_errors(computing):
            self._network = _open_network(folder, computing, threads)
            _require_all_weights(self._network, tokenizer.parent, model)
            self._require_the_same_tokens()
        self._network.max_seq_length = model.window
        self._batch = BATCH_ON_PROCESSOR if computing.device == "cpu" else BATCH_ON_DEVICE
        self._embed_seen = lru_cache(KEPT_QUERIES)(self._embed_one)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.empty((0, self.model.dimension), np.float32)
        return self._encode(texts, self._prompts.passage)

    def embed_query(self, text: str) -> Vector:
        """Not to be written to: of the last queries, by what the model sees of them, the vectors are kept."""
        tokens = np.array(self._window.encode(text).ids, np.int32).tobytes()
        return self._embed_seen(_Query(tokens, text))

    def _embed_one(self, query: _Query) -> Vector:
        vector: Vector = self._encode([query.text], self._prompts.query)[0]
        vector.flags.writeable = False
        return vector

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        return find_token_spans(self._whole_text, text)

    def _require_the_same_tokens(self) -> None:
        """The libraries make a tokenizer of their own from the files, and what they leave out is guessed.

        By others than those of `tokenizer.json` vectors would not be those of ONNX Runtime, and chunks be too long.
        """
        if list(self._network.tokenizer(_MANY_SCRIPTS)["input_ids"]) != self._window.encode(_MANY_SCRIPTS).ids:
            reason = (
                "sentence-transformers makes other tokens than its tokenizer.json; tokenizer_config.json may be missing"
            )
            raise ModelRefused(self.model.name, reason)

    def _encode(self, texts: Sequence[str], prompt: str) -> Vectors:
        # What fits may be more again the next time.
        batch = min(self._batch, len(texts))
        with self._turn, translated_errors(self.computing):
            while True:
                try:
                    vectors = self._network.encode(
                        list(texts),
                        prompt=prompt,
                        batch_size=batch,
                        normalize_embeddings=True,
                        convert_to_numpy=True,
                        show_progress_bar=False,
                    )
                    return np.ascontiguousarray(vectors, np.float32)
                except torch.OutOfMemoryError:
                    if batch == 1:
                        raise
                    batch //= 2
                # Outside the handler, whose traceback would keep the batch that did not fit.
                log.warning("The device has too little memory; going on with batches of %d.", batch)
                torch.cuda.empty_cache()


def _open_network(folder: Path, computing: Computing, threads: int) -> Any:  # Any: it has no types of its own
    # It is asked for nothing, and this makes sure: by default libraries look there for newer files.
    hub.HF_HUB_OFFLINE = True
    hub.HF_HUB_DISABLE_TELEMETRY = True
    # Both would be drawn into the log.
    disable_progress_bar()
    set_verbosity_error()
    # Full precision in products: by a shorter one vectors would differ from those of other machines.
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False
    torch.set_num_threads(threads)
    return SentenceTransformer(
        str(folder),
        # torch has no other word for AMD's.
        device="cpu" if computing.device == "cpu" else "cuda",
        local_files_only=True,
        trust_remote_code=False,
        model_kwargs=_LOADING,
    )


def _require_all_weights(network: Any, folder: Path, model: EmbeddingModel) -> None:
    """What is missing in the files is made up by chance, without a word: each process would have vectors of its own.

    The libraries tell what is missing only of a network that they load by themselves, so it is loaded once more.
    """
    _, told = type(network[0].auto_model).from_pretrained(
        str(folder), output_loading_info=True, local_files_only=True, **_LOADING
    )
    # What pools by another way than kb takes part in nothing here.
    missing = sorted(name for name in told["missing_keys"] if not name.startswith("pooler."))
    if missing:
        raise ModelRefused(
            model.name, f"its weights are not all there ({len(missing)} are missing, such as {missing[0]})"
        )


@contextmanager
def _translated_damage(model: EmbeddingModel) -> Iterator[None]:
    """For what is the same on every device. What a device raises has been translated before."""
    try:
        yield
    except (*BROKEN_PACKAGE, LookupError, SafetensorError) as error:
        raise explain_broken_extra(model) from error


@contextmanager
def translated_errors(computing: Computing) -> Iterator[None]:
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise DeviceFull("The device has too little memory for the embedding model at the moment.") from error
    except (AssertionError, IndexError, RuntimeError) as error:
        # The first is what torch says of a device that it turns out not to have, the second of text beyond a window.
        if computing.device == "cpu":
            raise Unavailable("The embedding model could not be run.") from error
        raise DeviceLost(f"The device ({computing.device}) has failed; the model is opened anew.") from error
