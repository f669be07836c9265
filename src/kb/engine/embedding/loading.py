"""An embedder that is still being opened, so that the engine can serve from its first moment."""

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from kb.engine.embedding.devices import DeviceLost
from kb.engine.errors import KbError, Unavailable
from kb.engine.model import Computing, EmbeddingModel, Vector, Vectors
from kb.engine.ports import Embedder

LONGEST_WAIT_SECONDS = 60.0
# What keeps a model from loading (a full disk, a file that is being replaced) often passes.
TRY_AGAIN_AFTER_SECONDS = 10.0

log = logging.getLogger(__name__)


class LoadingEmbedder:
    """Opens an embedder on a thread of its own, again and again until it succeeds, and stands in for it meanwhile.

    Embedding waits for the first attempt, at most a minute, and raises `Unavailable` while there is no model. A model
    whose device has failed is opened anew.
    """

    def __init__(self, model: EmbeddingModel, open_embedder: Callable[[], Embedder]) -> None:
        self._model = model
        self._open = open_embedder
        self._embedder: Embedder | None = None
        self._failure: str | None = None
        self._was_tried = threading.Event()
        self._is_closed = threading.Event()
        self._changing = threading.Lock()
        self._loading = self._start_loading()

    def close(self) -> None:
        """Wait for an attempt under way: a process that ends in the middle of one crashes in the runtime."""
        with self._changing:
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

    @property
    def computing(self) -> Computing:
        embedder = self._embedder
        return Computing() if embedder is None else embedder.computing

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        with self._opened() as embedder:
            return embedder.embed_passages(texts)

    def embed_query(self, text: str) -> Vector:
        with self._opened() as embedder:
            return embedder.embed_query(text)

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        with self._opened() as embedder:
            return embedder.token_spans(text)

    def _start_loading(self) -> threading.Thread:
        loading = threading.Thread(target=self._load, name="load-model", daemon=True)
        loading.start()
        return loading

    def _load(self) -> None:
        told = None
        while self._embedder is None and not self._is_closed.is_set():
            try:
                self._embedder = self._open_the_same()
                self._failure = None
            except Exception as error:
                # Once, and not every ten seconds.
                if repr(error) != told:
                    log.exception("The embedding model could not be loaded.")
                told = repr(error)
                is_for_people = isinstance(error, KbError)
                self._failure = str(error) if is_for_people else "The model could not be loaded; the log says why."
            self._was_tried.set()
            if self._embedder is None:
                self._is_closed.wait(TRY_AGAIN_AFTER_SECONDS)

    def _open_the_same(self) -> Embedder:
        """Vectors of another would be stored under this one's name."""
        opened = self._open()
        if opened.model != self._model:
            raise Unavailable("The model's files have changed since the start. Start again once they are all there.")
        return opened

    @contextmanager
    def _opened(self) -> Iterator[Embedder]:
        while (embedder := self._embedder) is None:
            if not self._was_tried.wait(LONGEST_WAIT_SECONDS):
                raise Unavailable("The embedding model is still being loaded; try again shortly.")
            if self._embedder is None:
                raise Unavailable(self._failure or "The embedding model could not be loaded.")
        try:
            yield embedder
        except DeviceLost:
            self._open_anew(embedder)
            raise

    def _open_anew(self, lost: Embedder) -> None:
        with self._changing:
            # Of several threads that find it lost, the first is enough.
            if self._embedder is lost and not self._is_closed.is_set():
                log.warning("The device has failed; opening the model anew.", exc_info=True)
                # In this order: who sees that there is no model has to wait for the next.
                self._was_tried.clear()
                self._embedder = None
                self._loading = self._start_loading()
