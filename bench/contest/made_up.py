"""A corpus for those who have none: the standard library's words about itself, and made-up vectors."""

from itertools import islice
from pathlib import Path

import numpy as np

from bench.contest.contestant import ROWS_A_BLOCK
from bench.corpus import WORDS_PER_CHUNK
from bench.filled_base import make_queries, make_vectors, read_english

DIMENSION = 384
QUERY_COUNT = 500


def write_made_up_corpus(folder: Path, chunk_count: int) -> Path:
    folder.mkdir(parents=True)
    words = read_english()
    text = " ".join(words)
    ends = np.cumsum([len(word.encode()) + 1 for word in words])
    starts = np.concatenate([[0], ends[:-1]])
    (folder / "text.txt").write_text(text, encoding="utf-8")
    chance = np.random.default_rng(1)
    first = chance.integers(len(words) - WORDS_PER_CHUNK, size=chunk_count)
    begins, stops = starts[first], ends[first + WORDS_PER_CHUNK - 1] - 1
    np.save(folder / "chunks.npy", np.stack([begins, stops, begins, stops], axis=1))
    vectors = make_vectors(chunk_count + QUERY_COUNT, DIMENSION)
    np.save(folder / "vectors.f32.npy", vectors[:chunk_count])
    np.save(folder / "blocks.npy", np.ones(-(-chunk_count // ROWS_A_BLOCK), np.bool_))
    (folder / "queries.txt").write_text("\n".join(islice(make_queries(), QUERY_COUNT)), encoding="utf-8")
    np.save(folder / "queries.f32.npy", vectors[chunk_count:])
    return folder
