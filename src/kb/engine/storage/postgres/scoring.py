"""BM25, as FTS5 has it, of chunks whose terms are at hand. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kb.engine.model import Ids, Mask, Scores
from kb.engine.storage.words.scores import BM25_B, BM25_K1, TITLE_WEIGHT


@dataclass(frozen=True, eq=False)
class ChunkTokens:
    """Chunks, and one after another the numbers of their terms."""

    chunk_ids: Ids
    document_ids: Ids
    ordinals: Ids
    title_lengths: Ids
    heading_lengths: Ids
    lengths: Ids
    tokens: Ids

    @classmethod
    def of(cls, arrays: Iterable[Ids]) -> "ChunkTokens":
        """In the order of its fields."""
        return cls(*arrays)

    def __len__(self) -> int:
        return len(self.chunk_ids)

    def join(self, other: "ChunkTokens") -> "ChunkTokens":
        return ChunkTokens.of(np.concatenate(pair) for pair in zip(self._arrays, other._arrays, strict=True))

    def take(self, is_taken: Mask) -> "ChunkTokens":
        *per_chunk, tokens = self._arrays
        return ChunkTokens.of([*(array[is_taken] for array in per_chunk), tokens[is_taken[self.rows]]])

    @property
    def _arrays(self) -> tuple[Ids, ...]:
        return (
            self.chunk_ids,
            self.document_ids,
            self.ordinals,
            self.title_lengths,
            self.heading_lengths,
            self.lengths,
            self.tokens,
        )

    @cached_property
    def rows(self) -> Ids:
        """Of each term, in which of the chunks it is."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @cached_property
    def columns(self) -> Ids:
        """Of each term, in which column of which chunk it is: numbers of which no two columns share one."""
        starts = np.cumsum(self.lengths) - self.lengths
        places = np.arange(len(self.tokens)) - starts[self.rows]
        title_ends = self.title_lengths[self.rows]
        heading_ends = title_ends + self.heading_lengths[self.rows]
        return self.rows * 3 + (places >= title_ends) + (places >= heading_ends)

    @cached_property
    def weights(self) -> Scores:
        return np.where(self.columns % 3 == 0, TITLE_WEIGHT, 1.0)

    def find(self, phrase: Sequence[Sequence[int]]) -> Ids:
        """Where the phrase begins: in each of its places any of some terms."""
        count = len(self.tokens) - len(phrase) + 1
        if count <= 0 or not phrase:
            return np.empty(0, np.int64)
        places = np.flatnonzero(_is_any(self.tokens[:count], phrase[0]))
        for offset, terms in enumerate(phrase[1:], start=1):
            places = places[_is_any(self.tokens[places + offset], terms)]
        if len(phrase) > 1:
            places = places[self.columns[places] == self.columns[places + len(phrase) - 1]]
        return places


def _is_any(tokens: Ids, wanted: Sequence[int]) -> Mask:
    return tokens == wanted[0] if len(wanted) == 1 else np.isin(tokens, wanted)


def score(chunks: ChunkTokens, phrases: Sequence[tuple[Sequence[Sequence[int]], float]], mean_length: float) -> Scores:
    """How well each fits phrases of such worth."""
    scores = np.zeros(len(chunks))
    length_share = BM25_K1 * (1 - BM25_B + BM25_B * chunks.lengths / mean_length)
    for phrase, worth in phrases:
        places = chunks.find(phrase)
        frequencies = np.bincount(chunks.rows[places], chunks.weights[places], minlength=len(chunks))
        scores += worth * frequencies * (BM25_K1 + 1) / (frequencies + length_share)
    return scores
