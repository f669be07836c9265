"""One size of base, all contestants: filled one after another, then asked in turn, query by query."""

import json
import shutil
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from bench.contest.contestant import CHUNKS_PER_DOCUMENT, MODES, PARTS, TOP, Corpus, Mode, Vectors
from bench.contest.processes import ContestantProcess, python_of, start_all, start_contestant

PERCENTAGES: tuple[int | None, ...] = (None, 1, 10, 50)
CHANGES = 20
ROWS_AT_ONCE = 50_000


@dataclass
class Searches:
    """Of one kind, by one contestant."""

    mode: Mode
    percent: int | None
    first_cpu_ms: list[float] = field(default_factory=list)
    """When each query was asked for the first time, with words that nobody had asked for."""
    cpu_ms: list[float] = field(default_factory=list)
    """When all of them were asked again."""
    recalls: list[float] = field(default_factory=list)
    """Of the ten that are truly nearest, the share that was found; for the mode that looks for them."""
    hits: list[int] = field(default_factory=list)


@dataclass
class Figures:
    """All that is known of one contestant at one size."""

    contestant: str
    chunks: int
    fill_cpu_seconds: float
    disk_bytes: int
    cold_start_cpu_seconds: float = 0.0
    searches: list[Searches] = field(default_factory=list)
    update_cpu_ms: list[float] = field(default_factory=list)
    delete_cpu_ms: list[float] = field(default_factory=list)
    rss_mb: float = 0.0
    anonymous_mb: float = 0.0


@dataclass(frozen=True)
class Contest:
    corpus_folder: Path
    folder: Path
    """Where the contestants keep what they were filled with; a base that is there is not filled again."""
    peers_python: Path
    names: tuple[str, ...]
    query_count: int
    is_kept: bool
    """Whether to leave the bases as they were filled, for another run, and so to measure no changes."""

    def run(self, chunk_count: int) -> list[Figures]:
        folder = self.folder / str(chunk_count)
        figures = {name: self._fill(name, folder / name, chunk_count) for name in self.names}
        with start_all(self.names, self.peers_python, self.corpus_folder, folder) as processes:
            for process in processes:
                first = process.ask("search", query=0, mode="vector", percent=None)
                figures[process.name].cold_start_cpu_seconds = first.cpu_seconds_since_start
            self._search(processes, figures, chunk_count)
            for process in processes:
                memory = process.weigh()
                figures[process.name].rss_mb, figures[process.name].anonymous_mb = memory.rss_mb, memory.anonymous_mb
            if not self.is_kept:
                change(processes, figures, chunk_count // CHUNKS_PER_DOCUMENT)
        if not self.is_kept:
            # What was updated and deleted is not the base that was filled any more.
            shutil.rmtree(folder)
        return list(figures.values())

    def _fill(self, name: str, folder: Path, chunk_count: int) -> Figures:
        told = folder.with_suffix(".json")
        if folder.exists() and told.exists():
            return Figures(**json.loads(told.read_text()))
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        python = python_of(name, self.peers_python)
        with start_contestant(name, python, self.corpus_folder, folder) as process:
            answer = process.ask("fill", chunks=chunk_count)
        size = sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file())
        figures = Figures(name, chunk_count, answer.cpu_seconds, size)
        told.write_text(json.dumps({key: value for key, value in asdict(figures).items() if value}))
        print(f"  {name}: filled with {chunk_count} chunks in {answer.cpu_seconds:.0f} CPU s", flush=True)
        return figures

    def _search(self, processes: list[ContestantProcess], figures: dict[str, Figures], chunk_count: int) -> None:
        corpus = Corpus(self.corpus_folder)
        queries = range(1, 1 + self.query_count)
        vectors = corpus.read_queries()[1][queries.start : queries.stop]
        for percent in PERCENTAGES:
            truths = find_nearest(corpus.vectors[:chunk_count], vectors, percent)
            for mode in MODES:
                kinds = {process.name: Searches(mode, percent) for process in processes}
                for query in queries:
                    for process in processes:
                        note_first(kinds[process.name], process, query)
                for query, truth in zip(queries, truths, strict=True):
                    for process in processes:
                        note(kinds[process.name], process, query, truth)
                for name, searches in kinds.items():
                    if searches.cpu_ms:
                        figures[name].searches.append(searches)


def note_first(searches: Searches, process: ContestantProcess, query: int) -> None:
    answer = process.ask("search", query=query, mode=searches.mode, percent=searches.percent)
    if answer.found is not None:
        searches.first_cpu_ms.append(answer.cpu_seconds * 1000)


def note(searches: Searches, process: ContestantProcess, query: int, truth: set[int]) -> None:
    answer = process.ask("search", query=query, mode=searches.mode, percent=searches.percent)
    if answer.found is None:
        return
    searches.cpu_ms.append(answer.cpu_seconds * 1000)
    searches.hits.append(len(answer.found))
    if searches.mode == "vector":
        nearest = process.ask("nearest", query=query, mode="vector", percent=searches.percent).found or []
        searches.recalls.append(len(truth.intersection(nearest[:TOP])) / len(truth))


def find_nearest(base: Vectors, queries: Vectors, percent: int | None) -> list[set[int]]:
    """By comparing each query with each vector that the filter lets through."""
    best_scores = np.full((len(queries), TOP), -np.inf, np.float32)
    best_rows = np.zeros((len(queries), TOP), np.int64)
    for start in range(0, len(base), ROWS_AT_ONCE):
        rows = np.arange(start, min(start + ROWS_AT_ONCE, len(base)))
        if percent is not None:
            rows = rows[rows // CHUNKS_PER_DOCUMENT % PARTS < percent]
        scores = np.hstack([best_scores, queries @ base[rows].T])
        all_rows = np.hstack([best_rows, np.broadcast_to(rows, (len(queries), len(rows)))])
        order = np.argpartition(-scores, TOP - 1, axis=1)[:, :TOP]
        best_scores = np.take_along_axis(scores, order, axis=1)
        best_rows = np.take_along_axis(all_rows, order, axis=1)
    return [set(rows.tolist()) for rows in best_rows]


def change(processes: list[ContestantProcess], figures: dict[str, Figures], document_count: int) -> None:
    chance = np.random.default_rng(5)
    documents: list[int] = chance.permutation(document_count)[: 3 * CHANGES].tolist()
    updated, others, deleted = documents[::3], documents[1::3], documents[2::3]
    for document, other, unwanted in zip(updated, others, deleted, strict=False):
        for process in processes:
            taken = process.ask("update", document=document, by=other).cpu_seconds
            figures[process.name].update_cpu_ms.append(taken * 1000)
        for process in processes:
            taken = process.ask("delete", document=unwanted).cpu_seconds
            figures[process.name].delete_cpu_ms.append(taken * 1000)


def median(values: Sequence[float]) -> float:
    return statistics.median(values) if values else float("nan")
