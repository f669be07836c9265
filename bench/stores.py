"""Search on SQLite and on PostgreSQL side by side: the same documents, the same queries, in turn.

    python -m bench.stores CORPUS STORE_URL [--chunks N] [--queries N]

CORPUS is a folder that `python -m bench.corpus` has made, STORE_URL an empty PostgreSQL database, best with
`?options=-c%20synchronous_commit%3Doff` behind it: SQLite does not wait for the disk while it is filled either. Both
stores are called in this process, and each query is asked of one and then of the other, so that both meet the same
load: the ratio of the two says more than either. Time is what a caller waits, since a database's work is done
elsewhere. Recall is the share of the ten truly nearest chunks that search by vectors finds.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

from bench.contest.contestant import MODES, Corpus, Document, Mode, Query, Vectors
from bench.contest.contestants.kb_store import GivenEmbedder, KbStore
from bench.contest.measuring import PERCENTAGES, find_nearest
from bench.figures import p95
from kb.engine.models_on_disk import model_locations
from kb.engine.storage import open_shared_store
from kb.engine.storage.postgres.database import Database
from kb.engine.storage.postgres.word_counts import MOST_WAITING, sum_up_counts
from kb.settings import cache_dir


class KbOnPostgres(KbStore):
    def __init__(self, url: str) -> None:
        self._embedder = GivenEmbedder(model_locations(cache_dir(), None)[0])
        self._fingerprint = self._embedder.model.fingerprint
        self._connections = []
        self._url = url
        self._store = open_shared_store(url, model_fingerprint=self._fingerprint)

    def fill(self, documents: Iterable[Document]) -> None:
        with closing(Database(self._url)) as database:
            for document in documents:
                self.add(document)
                # What a worker does meanwhile.
                if document.number % MOST_WAITING == 0:
                    sum_up_counts(database)
        self.tune()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.stores", description="Compare the stores.")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("store_url")
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=100)
    options = parser.parse_args()
    corpus = Corpus(options.corpus)
    with tempfile.TemporaryDirectory() as folder:
        stores = {
            "sqlite": KbStore(Path(folder), corpus.vectors.shape[1]),
            "postgresql": KbOnPostgres(options.store_url),
        }
        for name, store in stores.items():
            began = time.perf_counter()
            store.fill(corpus.read_documents(options.chunks))
            print(f"{name} filled with {options.chunks:,} chunks in {time.perf_counter() - began:.0f} s", flush=True)
        vectors = corpus.vectors[: options.chunks]
        queries = list(zip(*corpus.read_queries(), strict=True))[: options.queries]
        print(f"{'':24}{'p50 ms':>20}{'p95 ms':>20}{'p50 ratio':>12}{'recall@10':>20}")
        for mode in MODES:
            for percent in PERCENTAGES:
                _compare(stores, [Query(text, vector, mode, percent) for text, vector in queries], vectors)
        for store in stores.values():
            store.close()


def _compare(stores: dict[str, KbStore], queries: Sequence[Query], vectors: Vectors) -> None:
    took: dict[str, list[float]] = {name: [] for name in stores}
    recalls: dict[str, list[float]] = {name: [] for name in stores}
    for round_number in range(2):
        for query in queries:
            nearest = (
                find_nearest(vectors, query.vector[None], query.percent)[0]
                if query.mode == "vector" and round_number
                else None
            )
            for name, store in stores.items():
                began = time.perf_counter()
                store.search(query)
                # Of the first round, in which words and pages are met for the first time, nothing is told.
                if round_number:
                    took[name].append(1000 * (time.perf_counter() - began))
                if nearest is not None:
                    recalls[name].append(len(nearest & set(store.find_nearest(query))) / max(len(nearest), 1))
    _report(queries[0].mode, queries[0].percent, took, recalls)


def _report(mode: Mode, percent: int | None, took: dict[str, list[float]], recalls: dict[str, list[float]]) -> None:
    def both(figures: Sequence[float], digits: int) -> str:
        return " / ".join(f"{figure:.{digits}f}" for figure in figures)

    medians = [statistics.median(times) for times in took.values()]
    tails = [p95(times) for times in took.values()]
    found = both([statistics.mean(shares) for shares in recalls.values()], 3) if all(recalls.values()) else ""
    name = mode + ("" if percent is None else f", {percent} % allowed")
    print(f"{name:24}{both(medians, 1):>20}{both(tails, 1):>20}{medians[0] / medians[1]:>12.2f}{found:>20}", flush=True)


if __name__ == "__main__":
    main()
