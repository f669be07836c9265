"""What the tables need of their database, be it SQLite or PostgreSQL.

Statements bind values by `?`, or by `?1` where a value is used twice. What cannot be said in the same words stands in
`Dialect`; what takes more than other words is a method of `Connection`.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol
from uuid import UUID

from kb.engine.model import DocumentId, EventKind, JobId, Vector, Vectors
from kb.engine.model.portable import PortableChunk


class Rows(Protocol):
    """What a statement returns. Columns have the types that the schema and the statement give them, so `Any` it is."""

    def __iter__(self) -> Iterator[tuple[Any, ...]]: ...

    def fetchone(self) -> tuple[Any, ...] | None: ...

    def fetchall(self) -> list[tuple[Any, ...]]: ...

    @property
    def get(self) -> Any:
        """The value, of a statement that returns one row of one column; None without a row."""
        ...


class Dialect(Protocol):
    """Words of SQL that each database has of its own."""

    @property
    def id_list(self) -> str:
        """The ids that are bound as a JSON array, for use after IN."""
        ...

    @property
    def text_list(self) -> str:
        """SQL for use after IN: the texts that are bound as a JSON array. No text may contain a NUL."""
        ...

    @property
    def for_update(self) -> str:
        """At the end of a query: nobody else changes these rows before this transaction ends."""
        ...

    @property
    def for_use(self) -> str:
        """The same, but others may hold them so, too: nobody deletes these rows."""
        ...

    @property
    def skip_locked(self) -> str:
        """The same, leaving out rows that somebody else holds."""
        ...

    def by_index(self, index: str) -> str:
        """After the name of a table: read it by this index."""
        ...

    @property
    def join_from_left(self) -> str:
        """A join for which the rows of the left table are read first, in their order."""
        ...

    @property
    def names_hold(self) -> str:
        """A condition: title, filename or source path of a document hold a text, which is bound folded."""
        ...

    def metadata_equals(self, key: str, value: object) -> tuple[str, list[object]]:
        """A condition on a document's metadata, with what is bound in it. JSON's equality: 1, true and "1" differ."""
        ...


class Executor(Protocol):
    def execute(self, statement: str, values: Sequence[Any] = (), /) -> Rows: ...


class Connection(Executor, Protocol):
    """A connection within a transaction."""

    @property
    def dialect(self) -> Dialect: ...

    def executemany(self, statement: str, values: Sequence[Sequence[Any]], /) -> Rows | None: ...

    def lock(self, *subjects: str) -> None:
        """Let no other transaction that locks any of these subjects go on before this one ends."""
        ...

    def wake_workers(self) -> None:
        """There is a job to do once this transaction has ended."""
        ...

    def insert_chunks(
        self, document_id: DocumentId, chunks: Sequence[PortableChunk], vectors: Vectors | None, *, model: str
    ) -> None:
        """Give a document, which has none, its chunks with their words and, if there are any, vectors."""
        ...

    def delete_chunks(self, document_id: DocumentId) -> None:
        """With their words and vectors."""
        ...

    def delete_all_documents(self) -> None:
        """With all that belongs to them."""
        ...

    def read_vectors(self, document_id: DocumentId, *, offset: int, limit: int) -> Vectors:
        """One row for each chunk, in order, from the chunk at `offset` on."""
        ...

    def read_whole_vectors(self, document_ids: Sequence[int], *, model: str) -> Iterable[tuple[DocumentId, Vector]]:
        """Those of the model that are not damaged, in no order."""
        ...

    def index_new_title(self, document_id: DocumentId, *, former: str) -> AbstractContextManager[None]:
        """For the `with` block that changes the title of the document, and so the indexed words of its chunks."""
        ...

    def insert_event(
        self, kind: EventKind, document_id: DocumentId | None, document_uuid: UUID | None, job_id: JobId | None
    ) -> None:
        """Those who read events see it no sooner than any with a smaller number."""
        ...

    def highest_id(self, table: str) -> int:
        """The highest that was ever given in this table, which may be gone."""
        ...

    def reserve_ids(self, table: str, up_to: int) -> None:
        """Give only higher ones from now on."""
        ...


class Database(Protocol):
    trouble: str | None
    """Why the last write did not work, if the database or its disk was to blame."""

    def read(self) -> AbstractContextManager[Connection]:
        """All that is read in the block is as of one moment."""
        ...

    def write(self) -> AbstractContextManager[Connection]:
        """A transaction: committed, and safely on disk, when the block ends; undone if it raises."""
        ...
