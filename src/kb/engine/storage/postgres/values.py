"""Numbers and vectors as PostgreSQL is given them, and back: without the detour over text."""

from collections.abc import Iterable, Sequence

import numpy as np
import psycopg
from psycopg.adapt import Buffer, Dumper
from psycopg.pq import Format

from kb.engine.model import Ids, Vector, Vectors

# How PostgreSQL sends an array of bigint: five words of 32 bits, and for each number its length and two more.
WORDS_IN_HEAD = 5
WORDS_PER_NUMBER = 3
# And a vector: how many numbers, and two bytes that mean nothing.
BYTES_IN_HEAD = 4


class VectorValue(bytes):
    """A vector on its way to PostgreSQL."""

    @classmethod
    def of(cls, vector: Vector) -> "VectorValue":
        return cls(np.array([len(vector), 0], ">i2").tobytes() + vector.astype(">f4").tobytes())


class _VectorDumper(Dumper):
    format = Format.BINARY
    # The server knows what it is: the number of the type is another in each database.
    oid = 0

    def dump(self, obj: bytes) -> Buffer:
        return obj


def register_vector(connection: psycopg.Connection) -> None:
    """Let the connection be given vectors."""
    connection.adapters.register_dumper(VectorValue, _VectorDumper)


def to_vectors(sent: Sequence[bytes]) -> Vectors:
    """Of what `vector_send` gave, all of one length."""
    if not sent:
        return np.empty((0, 0), np.float32)
    rows = np.frombuffer(b"".join(sent), np.uint8).reshape(len(sent), -1)
    return rows[:, BYTES_IN_HEAD:].copy().view(">f4").astype(np.float32)


def to_numbers(sent: bytes, counts: Ids) -> Ids:
    """Of what `array_send` gave of arrays, one after another, of so many numbers each; none is empty."""
    words = np.frombuffer(sent, ">u4")
    ends = np.cumsum(counts * WORDS_PER_NUMBER + WORDS_IN_HEAD)
    heads = (ends - counts * WORDS_PER_NUMBER - WORDS_IN_HEAD)[:, None] + np.arange(WORDS_IN_HEAD)
    is_number = np.ones(len(words), np.bool_)
    is_number[heads.ravel()] = False
    numbers = words[is_number].reshape(-1, WORDS_PER_NUMBER)[:, 1:]
    return np.ascontiguousarray(numbers).view(">i8").ravel().astype(np.int64)


def to_array(numbers: Iterable[int]) -> str:
    """As the text of an array of bigint."""
    return "{" + ",".join(map(str, numbers)) + "}"
