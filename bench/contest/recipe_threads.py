"""The plain recipe in a process of its own, searched by threads: a line of JSON with queries in, what it took out.

python -m bench.contest.recipe_threads FOLDER THREADS
"""

import json
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.contest.contestant import Query
from bench.contest.contestants.recipe import Recipe
from kb.engine.embedding import open_embedder
from kb.engine.models_on_disk import model_locations
from kb.settings import cache_dir


def main() -> None:
    folder, threads = Path(sys.argv[1]), int(sys.argv[2])
    embedder = open_embedder(*model_locations(cache_dir(), None), threads=1)
    # A connection serves one thread at a time.
    own = threading.local()

    def connect() -> None:
        own.recipe = Recipe(folder, embedder.model.dimension)

    def search(text: str) -> None:
        own.recipe.search(Query(text, embedder.embed_query(text), "hybrid"))

    with ThreadPoolExecutor(threads, initializer=connect) as pool:
        for line in sys.stdin:
            begun, before = time.perf_counter(), time.process_time()
            list(pool.map(search, json.loads(line)))
            told = {"seconds": time.perf_counter() - begun, "cpu": time.process_time() - before}
            print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
