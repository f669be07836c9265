"""A base of real text with real vectors: made once from any plain text, read by every contestant.

    python -m bench.corpus FOLDER SOURCES... [--chunks N] [--processes N] [--queries FILE...]

SOURCES are text files, or folders of them: one document a line, or one a file. A chunk is a window of 150 words of the
running text, ten in a row are a document, and the documents come in random order, so that every beginning of the
corpus is a fair sample of it. A vector is of a passage of 15 words from the middle of its chunk: a quarter of the cost
of embedding the chunk, and as far from its neighbours. Where there is less text than the chunks need, windows begin
anew at other words; no passage is taken twice.

Stopped and started again, it goes on where it was. The files, all in FOLDER:

    text.txt         the running text, words one blank apart
    chunks.npy       a row a chunk: where it begins and ends in the text, and its passage, in bytes
    vectors.f32.npy  a row a chunk; those of blocks that are not done are zeros
    blocks.npy       whether each block of 1,000 rows has its vectors
    queries.txt      a query a line, in random order
    queries.f32.npy  their vectors
"""

import argparse
import multiprocessing
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from bench.contest.contestant import CHUNKS_PER_DOCUMENT, ROWS_A_BLOCK, Corpus
from kb.engine.embedding import open_embedder
from kb.engine.models_on_disk import model_locations
from kb.engine.ports import Embedder
from kb.settings import cache_dir

WORDS_PER_CHUNK = 150
WORDS_PER_PASSAGE = 15
QUERY_COUNT = 1_000
BLANK = 32

Words = NDArray[np.int64]
"""Where each word begins, in bytes, and where one more would."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Make a corpus for benchmarks.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("sources", type=Path, nargs="+")
    parser.add_argument("--chunks", type=int, default=1_000_000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--queries", type=Path, nargs="*", default=[], help="text files of queries, one a line")
    options = parser.parse_args()
    folder: Path = options.folder
    if not (folder / "blocks.npy").exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / "text.txt", options.sources)
        lay_out(folder, options.chunks)
    if not (folder / "queries.f32.npy").exists():
        write_queries(folder, options.queries)
    tasks = [(folder, number, options.processes) for number in range(options.processes)]
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        pool.starmap(embed_share, tasks)
    print(f"{Corpus(folder).chunk_count} chunks")


def write_text(path: Path, sources: Sequence[Path]) -> None:
    files = [file for source in sources for file in (sorted(source.rglob("*.txt")) if source.is_dir() else [source])]
    with path.open("w", encoding="utf-8") as text:
        for file in files:
            with file.open(encoding="utf-8", errors="replace") as lines:
                for line in lines:
                    if words := line.split():
                        text.write(" ".join(words) + " ")


def lay_out(folder: Path, chunk_count: int) -> None:
    text = np.fromfile(folder / "text.txt", np.uint8)
    words: Words = np.concatenate([[0], np.flatnonzero(text == BLANK) + 1])
    content = text.tobytes()
    seen: set[bytes] = set()
    rows: list[list[tuple[int, int, int, int]]] = []
    for start in list_document_starts(len(words) - 1, chunk_count):
        document = [span_chunk(words, start + chunk * WORDS_PER_CHUNK) for chunk in range(CHUNKS_PER_DOCUMENT)]
        passages = {content[begin:end].lower() for _, _, begin, end in document}
        if len(passages) == CHUNKS_PER_DOCUMENT and seen.isdisjoint(passages):
            seen |= passages
            rows.append(document)
        if len(rows) * CHUNKS_PER_DOCUMENT >= chunk_count:
            break
    spans = np.array(rows, np.int64).reshape(-1, 4)[:chunk_count]
    np.save(folder / "chunks.npy", spans)
    open_memmap(folder / "vectors.f32.npy", "w+", np.float32, (len(spans), open_model().model.dimension))
    # The last one to be written: what is there from here on is gone on with.
    np.save(folder / "blocks.npy", np.zeros(-(-len(spans) // ROWS_A_BLOCK), np.bool_))


def list_document_starts(word_count: int, chunk_count: int) -> list[int]:
    """At which words documents may begin, in random order."""
    words_per_document = WORDS_PER_CHUNK * CHUNKS_PER_DOCUMENT
    # One more than needed at the least, for the documents that are left out because they repeat others.
    shifts = chunk_count * WORDS_PER_CHUNK // word_count + 2
    longest = WORDS_PER_CHUNK // WORDS_PER_PASSAGE
    assert shifts <= longest, f"{word_count} words are too few for {chunk_count} chunks."
    step = WORDS_PER_CHUNK // shifts
    starts = np.concatenate(
        [np.arange(shift * step, word_count - words_per_document, words_per_document) for shift in range(shifts)]
    )
    ordered: list[int] = np.random.default_rng(1).permutation(starts).tolist()
    return ordered


def span_chunk(words: Words, first: int) -> tuple[int, int, int, int]:
    middle = first + (WORDS_PER_CHUNK - WORDS_PER_PASSAGE) // 2
    marks = words[[first, first + WORDS_PER_CHUNK, middle, middle + WORDS_PER_PASSAGE]]
    return int(marks[0]), int(marks[1]) - 1, int(marks[2]), int(marks[3]) - 1


def write_queries(folder: Path, files: Sequence[Path]) -> None:
    queries = [*cut_queries((folder / "text.txt").read_bytes())]
    for file in files:
        queries += [line.strip() for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    shuffled = [queries[number] for number in np.random.default_rng(3).permutation(len(queries))]
    (folder / "queries.txt").write_text("\n".join(shuffled) + "\n", encoding="utf-8")
    np.save(folder / "queries.f32.npy", open_model().embed_passages(shuffled))


def cut_queries(text: bytes) -> Iterator[str]:
    """The beginnings of sentences from anywhere in the text, 4 to 12 words each."""
    chance = np.random.default_rng(2)
    seen: set[str] = set()
    while len(seen) < QUERY_COUNT:
        place = int(chance.integers(len(text) - 10_000))
        sentence = text.find(b". ", place, place + 2_000) + 2
        words = text[sentence : sentence + 400].decode(errors="ignore").split()[: int(chance.integers(4, 13))]
        query = " ".join(words).rstrip(".,;:")
        if sentence > 1 and len(words) >= 4 and ". " not in query and query not in seen:
            seen.add(query)
            yield query


def embed_share(folder: Path, share: int, shares: int) -> None:
    """Every so manieth block that is not done yet."""
    corpus, embedder = Corpus(folder), open_model()
    vectors = open_memmap(folder / "vectors.f32.npy", "r+")
    is_done = open_memmap(folder / "blocks.npy", "r+")
    for block in range(share, len(is_done), shares):
        if is_done[block]:
            continue
        numbers = range(block * ROWS_A_BLOCK, min((block + 1) * ROWS_A_BLOCK, len(vectors)))
        vectors[numbers.start : numbers.stop] = embedder.embed_passages([corpus.read_passage(n) for n in numbers])
        vectors.flush()
        is_done[block] = True
        is_done.flush()


def open_model() -> Embedder:
    return open_embedder(*model_locations(cache_dir(), None), threads=1)


if __name__ == "__main__":
    main()
