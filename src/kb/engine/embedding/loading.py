"""An embedder that is still being opened, so that the engine can serve from its first moment."""

import logging
import threading
from collections.abc import Callable, Sequence

from kb.engine.errors import KbError, Unavailable
from kb.engine.model import EmbeddingModel, Vector, Vectors
from kb.engine.ports import Embedder

LONGEST_WAIT_SECONDS = 60.0
# What keeps a model from loading (a full disk, a file that is being replaced) often passes.
TRY_AGAIN_AFTER_SECONDS = 10.0

logger = logging.getLogger(__name__)


class LoadingEmbedder:
    """Opens an embedder on a thread of its own, again and again until it succeeds, and stands in for it meanwhile.

    Embedding waits for the first attempt, at most a minute, and raises `Unavailable` while there is no model.
    """

    def __init__(self, model: EmbeddingModel, open_embedder: Callable[[], Embedder]) -> None:
        self._model = model
        self._open = open_embedder
        self._embedder: Embedder | None = None
        self._failure: str | None = None
        self._was_tried = threading.Event()
        self._is_closed = threading.Event()
        self._loading = threading.Thread(target=self._load, name="load-model", daemon=True)
        self._loading.start()

    def close(self) -> None:
        """Wait for an attempt under way: a process that ends in the middle of one crashes in the runtime."""
        self._is_closed.set()
        self._loading.join()

    @property
    def model(self) -> EmbeddingModel:
        return self._model

    @property
    def is_ready(self) -> bool:
        return self._embedder is not None

    @property
    def failure(self) -> str | None:
        """Why the model did not load, in a sentence fit for strangers; None while that is not known."""
        return None if self.is_ready else self._failure

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return self._opened().embed_passages(texts)

    def embed_query(self, text: str) -> Vector:
        return self._opened().embed_query(text)

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        return self._opened().token_spans(text)

    def _load(self) -> None:
        while self._embedder is None and not self._is_closed.is_set():
            try:
                self._embedder = self._open()
            except Exception as error:
                logger.exception("The embedding model could not be loaded.")
                is_for_people = isinstance(error, KbError)
                self._failure = str(error) if is_for_people else "The model could not be loaded; the log says why."
            self._was_tried.set()
            if self._embedder is None:
                self._is_closed.wait(TRY_AGAIN_AFTER_SECONDS)

    def _opened(self) -> Embedder:
        if not self._was_tried.wait(LONGEST_WAIT_SECONDS):
            raise Unavailable("The embedding model is still being loaded; try again shortly.")
        if self._embedder is None:
            raise Unavailable(self._failure or "The embedding model could not be loaded.")
        return self._embedder
