"""An embedder that is still being opened, so that the engine can serve from its first moment."""

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from kb.engine.errors import KbError, Unavailable
from kb.engine.model import EmbeddingModel, Vector, Vectors
from kb.engine.ports import Embedder

LONGEST_WAIT_SECONDS = 60.0

logger = logging.getLogger(__name__)


class LoadingEmbedder:
    """Opens an embedder on a thread of its own and stands in for it meanwhile.

    Embedding waits for it, at most a minute, and raises `Unavailable` if it did not open.
    """

    def __init__(self, model: EmbeddingModel, open_embedder: Callable[[], Embedder]) -> None:
        self._model = model
        executor = ThreadPoolExecutor(1, thread_name_prefix="load-model")
        self._opening = executor.submit(open_embedder)
        executor.shutdown(wait=False)
        self._opening.add_done_callback(_log_failure)

    @property
    def model(self) -> EmbeddingModel:
        return self._model

    @property
    def is_ready(self) -> bool:
        return self._opening.done() and self._opening.exception() is None

    @property
    def failure(self) -> str | None:
        """Why the model did not load, in a sentence fit for strangers; None while that is not known."""
        if not self._opening.done():
            return None
        match self._opening.exception():
            case None:
                return None
            case KbError() as error:
                return error.message
            case _:
                return "The embedding model could not be loaded; the engine's log says why."

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return self._opened().embed_passages(texts)

    def embed_query(self, text: str) -> Vector:
        return self._opened().embed_query(text)

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        return self._opened().token_spans(text)

    def _opened(self) -> Embedder:
        try:
            error = self._opening.exception(timeout=LONGEST_WAIT_SECONDS)
        except TimeoutError as exc:
            raise Unavailable("The embedding model is still being loaded; try again shortly.") from exc
        if error is not None:
            raise Unavailable(self.failure or "The embedding model could not be loaded.") from error
        return self._opening.result()


def _log_failure(opening: Future[Embedder]) -> None:
    error = opening.exception()
    if error is not None:
        logger.error("The embedding model could not be loaded.", exc_info=error)
