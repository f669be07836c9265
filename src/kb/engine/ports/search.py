"""What is found, by words and by vectors, and what to show of it."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from kb.engine.model import ChunkId, FoundChunk, Ids, KeywordMatches, LoadedVectors, Scope, Vector, VectorMatches


class Search(Protocol):
    def one_moment(self) -> AbstractContextManager[None]:
        """What this thread reads in the block is as of one moment."""
        ...

    def find_by_text(
        self,
        words: Sequence[str],
        scope: Scope,
        *,
        limit: int,
        any_endings: bool = False,
        spellings: Sequence[str] = (),
        beginning: str = "",
    ) -> KeywordMatches:
        """The chunks with any of the words; with `any_endings` also with words that differ from them in the ending.

        A chunk with one of the other `spellings` ranks higher, and none is expected to have them. If the last of the
        words is given as `beginning`, all that begin like it will do, unless nearly everything does.
        """
        ...

    def find_by_vector(self, vector: Vector, scope: Scope, *, limit: int) -> VectorMatches: ...

    def load_vectors(self, chunk_ids: Ids) -> LoadedVectors:
        """Those that have a vector, in the order asked for."""
        ...

    def load_chunks(self, chunk_ids: Sequence[ChunkId]) -> list[FoundChunk]:
        """The chunks that still exist, in the given order: as many as one answer has room for, but at least one."""
        ...

    def suggest_words(self, words: Sequence[str]) -> dict[str, str]:
        """What was probably meant by words that the base does not know; left out are those that it has nothing like."""
        ...

    def tune_search(self) -> None:
        """See to what search needs to stay quick, if it has come to that. Takes its time."""
        ...
