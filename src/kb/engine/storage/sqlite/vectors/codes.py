"""Vectors as short codes: a bit for each number, whether it is positive.

Two vectors that point in the same direction differ in few bits, so counting those finds the nearest roughly, in a
thirty-second of the memory. The codes of all vectors stand in columns of 64 bits, since numpy counts the bits of a
column at some 6 ns a vector of 384 numbers, as fast as libraries made for it.

A code can also be compared with a vector itself instead of its code: the vector's numbers are added up, each with the
sign that the code has there. That is dearer, and of those it ranks first five times fewer need to be looked at.
"""

import numpy as np
import numpy.typing as npt

from kb.engine.model import Ids, Vector, Vectors

Codes = npt.NDArray[np.uint64]
"""A column a vector, a row for each 64 of its numbers."""
Distances = npt.NDArray[np.uint16]

BITS_PER_WORD = 64
BYTES_PER_WORD = 8
SIGNS_OF_BYTES = np.where(np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1), 1, -1).astype(np.float32)
# Of so many words the bits that differ can be counted in eight bits, which is twice as fast as in sixteen.
WORDS_PER_COUNT = 3
# What is computed of so many vectors stays in the processor's cache until it is added up.
VECTORS_AT_ONCE = 32_768
# So many distances tell how they are spread.
SAMPLED_DISTANCES = 16_384
# Looking once more for lack of vectors costs more than looking at some in vain.
SPARE_SHARE = 1.25


def encode(vectors: Vectors) -> Codes:
    words = np.packbits(fill_words(vectors) > 0, axis=1).view(np.uint64)
    return np.ascontiguousarray(words.T)


def fill_words(vectors: Vectors) -> Vectors:
    """With as many zeros at the end of each as make its numbers fill whole words."""
    missing = -vectors.shape[1] % BITS_PER_WORD
    return np.pad(vectors, ((0, 0), (0, missing))) if missing else vectors


def count_differences(codes: Codes, vector: Vector) -> Distances:
    """In how many bits each code differs from that of the vector."""
    wanted = encode(vector[None])[:, 0]
    distances = np.zeros(codes.shape[1], np.uint16)
    differing = np.empty(VECTORS_AT_ONCE, np.uint64)
    counts, of_words = np.empty((2, VECTORS_AT_ONCE), np.uint8)
    for start in range(0, len(distances), VECTORS_AT_ONCE):
        total = distances[start : start + VECTORS_AT_ONCE]
        differing, counts, of_words = differing[: len(total)], counts[: len(total)], of_words[: len(total)]
        for first in range(0, len(codes), WORDS_PER_COUNT):
            words = slice(first, first + WORDS_PER_COUNT)
            of_words[:] = 0
            for column, word in zip(codes[words, start : start + len(total)], wanted[words], strict=True):
                np.bitwise_xor(column, word, out=differing)
                of_words += np.bitwise_count(differing, out=counts)
            total += of_words
    return distances


def compare_signs(codes: Codes, rows: Ids, vector: Vector) -> npt.NDArray[np.float32]:
    """How similar the codes of these rows are to the vector: the sum of its numbers with their signs."""
    # For each eight numbers of the vector, the sum for each byte that a code may have in their place.
    sums = fill_words(vector[None]).reshape(len(codes), BYTES_PER_WORD, 8) @ SIGNS_OF_BYTES.T
    first_of_byte = np.arange(BYTES_PER_WORD)[:, None] * sums.shape[2]
    similarities = np.zeros(len(rows), np.float32)
    for word, of_word in zip(codes, sums, strict=True):
        bytes_of_rows = np.ascontiguousarray(word.take(rows).view(np.uint8).reshape(-1, BYTES_PER_WORD).T)
        similarities += of_word.reshape(-1).take(first_of_byte + bytes_of_rows).sum(axis=0)
    return similarities


def pick_nearest(distances: Distances, count: int) -> Ids:
    """The places of the `count` smallest distances, in no order; which of equal ones at the edge is left open."""
    if count >= len(distances):
        return np.arange(len(distances))
    sample = distances[:: max(1, len(distances) // SAMPLED_DISTANCES)]
    wanted_of_sample = SPARE_SHARE * count * len(sample) / len(distances)
    farthest = int(np.searchsorted(np.bincount(sample).cumsum(), wanted_of_sample))
    rows = np.flatnonzero(distances <= farthest)
    while len(rows) < count:
        farthest += 1
        rows = np.flatnonzero(distances <= farthest)
    return rows[np.argpartition(distances[rows], count - 1)[:count]]
