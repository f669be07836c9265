"""What the engine needs of the world: a place to keep things, and a model that turns text into numbers.

A port exists only where there are two providers. Each method of `Store` is one transaction, but for these: what is
read at `one_moment` is a part of that one, `tune_search` is as many as it takes, and `watch_jobs` is none. Three that
change no document may be two: `check_batch`, `has_whole_vectors` and `read_base_id`.
"""

import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

from kb.engine.model import (
    AuditEntry,
    CheckCursor,
    CheckedBatch,
    ChunkId,
    Claim,
    Cleared,
    Committed,
    Computing,
    DeletedDocument,
    Document,
    DocumentChange,
    DocumentDetail,
    DocumentId,
    DocumentQuery,
    EmbeddingModel,
    Event,
    FoundChunk,
    Ids,
    IndexedText,
    IndexSource,
    Job,
    JobError,
    JobStatus,
    KeywordMatches,
    Lane,
    Layout,
    LoadedVectors,
    Map,
    NewDocument,
    NoteContent,
    NoteRevision,
    Page,
    Placement,
    Progress,
    QueueCounts,
    Ref,
    Scope,
    Scrub,
    Statistics,
    Submission,
    TagCount,
    Vector,
    VectorMatches,
    Vectors,
)
from kb.engine.model.portable import Arrived, PortableDocument


class ClaimLost(Exception):
    """The job was cancelled, finished or given to another worker: stop, and leave nothing behind."""


class Embedder(Protocol):
    @property
    def model(self) -> EmbeddingModel: ...

    @property
    def is_ready(self) -> bool:
        """Whether embedding would start at once rather than wait for the model to load."""
        ...

    @property
    def failure(self) -> str | None:
        """Why it will not become ready, in a sentence for a person; None while it may or is."""
        ...

    @property
    def computing(self) -> Computing:
        """On what, once it is ready. Until then nothing computes."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """One unit vector a text, in the order given; text beyond the model's window is not seen."""
        ...

    def embed_query(self, text: str) -> Vector: ...

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Where each token of the whole text begins and ends, in characters."""
        ...


class Store(Protocol):
    def close(self) -> None: ...

    # documents

    def get_document(self, ref: Ref) -> Document: ...

    def read_document(self, ref: Ref, *, chunk_limit: int | None = None, chunk_offset: int = 0) -> DocumentDetail: ...

    def list_documents(self, query: DocumentQuery) -> Page[Document]: ...

    def replace_note(
        self,
        ref: Ref,
        revision: NoteContent,
        text: IndexedText,
        *,
        expected_version: int | None,
        now: datetime,
    ) -> DocumentDetail:
        """Give a note new content; what it said before stays among its revisions."""
        ...

    def list_revisions(self, ref: Ref, *, limit: int, offset: int) -> Page[NoteRevision]:
        """What the note says and said, newest first."""
        ...

    def get_revision(self, ref: Ref, version: int) -> NoteRevision:
        """What the note said when it was this version."""
        ...

    def update_document(
        self,
        ref: Ref,
        change: DocumentChange,
        *,
        expected_version: int | None,
        now: datetime,
    ) -> Document:
        """A change that changes nothing is not one. Raises `Conflict` if another document has the source path."""
        ...

    def delete_document(self, ref: Ref, *, expected_version: int | None, now: datetime) -> DeletedDocument: ...

    def delete_everything(self, *, now: datetime) -> Cleared:
        """Delete all documents, cancel all unfinished jobs and forget what any job was given."""
        ...

    def is_original_in_use(self, original: str) -> bool: ...

    # tags

    def change_tags(
        self,
        ref: Ref,
        *,
        add: Sequence[str],
        remove: Sequence[str],
        expected_version: int | None,
        now: datetime,
    ) -> Document: ...

    def replace_tags(
        self, ref: Ref, tags: Sequence[str], *, expected_version: int | None, now: datetime
    ) -> Document: ...

    def list_tags(self) -> list[TagCount]: ...

    # jobs

    def add_job(self, submission: Submission, *, idempotency_key: str | None, max_queued: int, now: datetime) -> Job:
        """Queue the work, or return the job that the same key queued before.

        Raises `TooManyRequests` if so many of its kind are waiting already.
        """
        ...

    def require_room(self, kind: type[Submission], *, max_queued: int) -> None:
        """Raise `TooManyRequests` if so many of the kind are waiting already."""
        ...

    def get_job(self, ref: Ref) -> Job: ...

    def list_jobs(self, *, status: JobStatus | None, limit: int, offset: int) -> Page[Job]: ...

    def count_jobs(self) -> QueueCounts: ...

    def claim_job(self, lane: Lane, *, now: datetime, lease_until: datetime) -> Claim | None:
        """Take the next job that is waiting, or whose worker has let its lease run out.

        Raises `Unavailable` if the engine has another model than this store.
        """
        ...

    def renew_claim(self, claim: Claim, progress: Progress, *, lease_until: datetime) -> None: ...

    def release_claim(self, claim: Claim, *, available_at: datetime) -> None:
        """Queue the job again as if it had not been taken: neither it nor the worker is to blame."""
        ...

    def commit_document(self, claim: Claim, document: NewDocument, text: IndexedText, *, now: datetime) -> Committed:
        """Add the document, or what E25 makes of it, and complete the job: both or neither.

        If a later job has been there first, with the same source path, it completes as a duplicate of that document.
        """
        ...

    def commit_duplicate(self, claim: Claim, document: NewDocument, *, now: datetime) -> Committed | None:
        """Complete the job without a text, if `commit_document` would make no use of one; else None, and no change."""
        ...

    def fail_job(self, claim: Claim, error: JobError, *, retry_at: datetime | None, now: datetime) -> None:
        """Queue the job again for `retry_at`, or end it for good."""
        ...

    def cancel_job(self, ref: Ref, *, now: datetime) -> Job: ...

    def forget_job(self, ref: Ref, *, now: datetime) -> tuple[Job, str | None]:
        """Cancel the job, unless it has failed or is cancelled, and drop what it was given; returns it, and the
        original that it had. Raises `JobFinished` if it is completed."""
        ...

    def watch_jobs(self, on_job: Callable[[], None], stopping: threading.Event) -> None:
        """Until told to stop, call whenever there may be a job to do that was submitted on another machine.

        A hint: whoever does jobs looks for them now and then all the same.
        """
        ...

    def claim_upkeep(self, owner: str, *, now: datetime, lease_until: datetime) -> bool:
        """Whether it is for this worker, until then, to do what one worker is enough for."""
        ...

    def was_looked_after(self, *, since: datetime) -> bool:
        """Whether there has been such a worker since then, as far as can be told."""
        ...

    def report_shortfall(self, worker: str, shortfall: str | None, *, now: datetime, until: datetime) -> None:
        """Have it known until then what the worker lacks, a sentence for a person; None if it lacks nothing."""
        ...

    def list_shortfalls(self, *, now: datetime) -> list[str]:
        """What workers lack, each sentence once."""
        ...

    def retry_job(self, ref: Ref, *, now: datetime) -> Job: ...

    def delete_finished_jobs(self, *, finished_before: datetime) -> list[str]:
        """Forget old jobs; returns the originals that those of them which came to nothing had kept."""
        ...

    # reindexing

    def adopt_model(self, *, now: datetime) -> bool:
        """Make this store's model the one that all workers must have, and see to it that every document gets vectors
        of it: by a job, unless all have them, which is what is returned."""
        ...

    def add_reindex(self, *, now: datetime) -> Job:
        """Queue a job that makes everything derived anew, or return the one that is doing it."""
        ...

    def has_whole_vectors(self) -> bool:
        """Whether it can search by vectors: all documents have once had some of this store's model, and they are at
        hand."""
        ...

    def list_documents_to_index(self, source: IndexSource, *, after: DocumentId, limit: int) -> list[DocumentId]:
        """The documents with greater ids that such a job has to do, by id."""
        ...

    def count_documents_to_index(self, source: IndexSource, *, after: DocumentId) -> int: ...

    def replace_text(self, claim: Claim, document_id: DocumentId, text: IndexedText, *, expected_version: int) -> None:
        """Give a document new chunks without changing it; the job need not come back to it."""
        ...

    def complete_reindex(self, claim: Claim, *, unreadable: Collection[DocumentId], now: datetime) -> bool:
        """Complete the job and search by vectors from now on; False, and no change, if documents are left to do
        other than those that are unreadable."""
        ...

    # from base to base

    def find_portable(self, *, after: DocumentId) -> PortableDocument | None:
        """The document with the next greater id and all that belongs to it, as of one moment; None if there is none."""
        ...

    def add_portable(self, document: PortableDocument, *, now: datetime) -> Arrived:
        """Add a document as it was elsewhere, or put it in the place of an earlier version of itself."""
        ...

    # what happened

    def list_audit_log(self, *, document_id: int | None, limit: int, offset: int) -> Page[AuditEntry]:
        """Who changed what, newest first."""
        ...

    def forget_audit_log(self, *, before: datetime) -> None: ...

    def newest_event(self) -> int: ...

    def list_events(self, *, after: int, limit: int) -> list[Event]:
        """What happened after that event, in order. Of long ago only the newest is known."""
        ...

    # search

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
        """The chunks that still exist, in the order asked for."""
        ...

    def suggest_words(self, words: Sequence[str]) -> dict[str, str]:
        """What was probably meant by words that the base does not know; left out are those that it has nothing like."""
        ...

    def tune_search(self) -> None:
        """See to what search needs to stay quick, if it has come to that. Takes its time."""
        ...

    # the map

    def read_map(self, *, limit: int) -> Map:
        """Those documents that have a place on it, most recent first."""
        ...

    def read_layout(self) -> Layout: ...

    def load_document_vectors(self, document_ids: Ids) -> dict[DocumentId, Vector]:
        """Of those that have vectors: the direction in which their chunks lie on the whole, a unit vector each."""
        ...

    def place_documents(self, placement: Placement) -> None:
        """Write down where documents lie; those that are gone, or have other vectors by now, are left out.

        Does nothing if they have been laid out by somebody else meanwhile.
        """
        ...

    # integrity

    def check_batch(self, cursor: CheckCursor) -> CheckedBatch:
        """Check some of what is stored: what stands at the cursor."""
        ...

    def mend_full_text(self) -> None:
        """Make the full-text index anew if it does not fit the text; of a base that is too large to compare the two
        while writers wait, nothing is done."""
        ...

    def read_scrub(self) -> Scrub: ...

    def write_scrub(self, scrub: Scrub) -> None: ...

    # status

    def find_trouble(self) -> str | None:
        """Why nothing can be written, if it could not last time and still cannot: a sentence for a person."""
        ...

    def read_mark_of_originals(self) -> str | None:
        """Of the place where its originals are, if it has been told."""
        ...

    def adopt_originals(self, mark: str) -> str:
        """Have the base know, if it does not yet, the mark of the place where its originals are; returns what it
        knows."""
        ...

    def read_base_id(self) -> str:
        """What tells this base from all others, copies of it among them, for as long as it lives."""
        ...

    def read_statistics(self) -> Statistics: ...
