"""The least that anybody would have to do to make chunks searchable: sentence-transformers, sqlite-vec and FTS5.

    python -m bench.ingestion_anchor MODEL_FOLDER

Runs in an environment of its own, without kb: a line of JSON with the chunks of each document in, the processor
seconds that it took out.
"""

import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import apsw
import sqlite_vec
from sentence_transformers import SentenceTransformer


def main() -> None:
    model = SentenceTransformer(sys.argv[1], device="cpu")
    with tempfile.TemporaryDirectory() as folder:
        store = open_plain_store(Path(folder) / "plain.sqlite", model.get_embedding_dimension())
        for line in sys.stdin:
            documents = json.loads(line)
            before = time.process_time()
            for chunks in documents:
                vectors = model.encode(chunks, normalize_embeddings=True, show_progress_bar=False)
                write_plainly(store, chunks, vectors)
            print(json.dumps({"cpu": time.process_time() - before}), flush=True)


def open_plain_store(path: Path, dimension: int) -> apsw.Connection:
    store = apsw.Connection(str(path))
    store.enable_load_extension(enable=True)
    store.load_extension(sqlite_vec.loadable_path())
    store.execute(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
        "CREATE TABLE chunks (id INTEGER PRIMARY KEY, text TEXT);"
        "CREATE VIRTUAL TABLE words USING fts5 (text, content = 'chunks', content_rowid = 'id', tokenize = 'porter');"
        f"CREATE VIRTUAL TABLE vectors USING vec0 (id INTEGER PRIMARY KEY, vector float[{dimension}]);"
    ).fetchall()
    return store


def write_plainly(store: apsw.Connection, chunks: Sequence[str], vectors: Sequence[memoryview]) -> None:
    with store:
        for text, vector in zip(chunks, vectors, strict=True):
            store.execute("INSERT INTO chunks (text) VALUES (?)", (text,))
            number = store.last_insert_rowid()
            store.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (number, text))
            store.execute("INSERT INTO vectors (id, vector) VALUES (?, ?)", (number, bytes(vector)))


if __name__ == "__main__":
    main()
