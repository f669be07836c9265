"""The bundled model with a memory: what it was asked once, in whichever run, it need not compute again."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Final

import apsw
import numpy as np

from kb.engine.embedding import bundled_model_folder, open_embedder
from kb.engine.model import Computing, EmbeddingModel, Vector, Vectors
from kb.engine.ports import Embedder
from kb.settings import cache_dir

THREADS = 2


@contextmanager
def open_cached_embedder() -> Iterator[Embedder]:
    """The bundled model, which is asked for each text only once in the life of the cache."""
    cache = cache_dir()
    embedder = open_embedder(bundled_model_folder(cache), cache / "graphs", threads=THREADS)
    folder = cache / "evaluation-vectors"
    folder.mkdir(parents=True, exist_ok=True)
    with closing(apsw.Connection(str(folder / f"{embedder.model.fingerprint}.sqlite"))) as db:
        db.set_busy_timeout(60_000)
        db.pragma("journal_mode", "wal")
        # Losing the last vectors in a power cut costs a second; waiting for the disk costs minutes.
        db.pragma("synchronous", "off")
        db.execute("CREATE TABLE IF NOT EXISTS vectors (text_hash BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID")
        yield CachedEmbedder(embedder, db)


class CachedEmbedder:
    is_ready: Final = True
    failure: Final = None

    def __init__(self, embedder: Embedder, db: apsw.Connection) -> None:
        self._embedder = embedder
        self._db = db

    @property
    def model(self) -> EmbeddingModel:
        return self._embedder.model

    @property
    def computing(self) -> Computing:
        return self._embedder.computing

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        unknown = [text for text in dict.fromkeys(texts) if self._find(text) is None]
        if unknown:
            vectors = self._embedder.embed_passages(unknown)
            rows = [(_hash(text), vector.tobytes()) for text, vector in zip(unknown, vectors, strict=True)]
            with self._db:
                self._db.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)
        return np.array([self._find(text) for text in texts], np.float32)

    def embed_query(self, text: str) -> Vector:
        vector: Vector = self.embed_passages([text])[0]
        return vector

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        return self._embedder.token_spans(text)

    def _find(self, text: str) -> Vector | None:
        found = self._db.execute("SELECT vector FROM vectors WHERE text_hash = ?", (_hash(text),)).get
        return None if found is None else np.frombuffer(found, np.float32)


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
