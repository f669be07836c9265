"""The least that anybody would have to do to make chunks searchable: sentence-transformers and plain SQLite.

    python -m bench.ingestion_anchor MODEL_FOLDER

Runs in an environment of its own, without kb: a line of JSON with the chunks of each document in, the processor
seconds that it took out.
"""

import json
import sqlite3
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from sentence_transformers import SentenceTransformer


def main() -> None:
    model = SentenceTransformer(sys.argv[1], device="cpu")
    with tempfile.TemporaryDirectory() as folder:
        store = open_plain_store(Path(folder) / "plain.sqlite")
        for line in sys.stdin:
            documents = json.loads(line)
            before = time.process_time()
            for chunks in documents:
                vectors = model.encode(chunks, normalize_embeddings=True, show_progress_bar=False)
                write_plainly(store, chunks, vectors)
            print(json.dumps({"cpu": time.process_time() - before}), flush=True)


def open_plain_store(path: Path) -> sqlite3.Connection:
    store = sqlite3.connect(path)
    store.executescript(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
        "CREATE TABLE chunks (id INTEGER PRIMARY KEY, text TEXT, vector BLOB);"
        "CREATE VIRTUAL TABLE words USING fts5 (text, content = 'chunks', content_rowid = 'id', tokenize = 'porter');"
    )
    return store


def write_plainly(store: sqlite3.Connection, chunks: Sequence[str], vectors: Sequence[memoryview]) -> None:
    with store:
        for text, vector in zip(chunks, vectors, strict=True):
            added = store.execute("INSERT INTO chunks (text, vector) VALUES (?, ?)", (text, memoryview(vector)))
            store.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (added.lastrowid, text))


if __name__ == "__main__":
    main()
