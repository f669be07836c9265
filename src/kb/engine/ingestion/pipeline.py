"""What a job does: text out of what was submitted, chunks out of the text, all of it into the store at once."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from kb.engine.errors import Unreadable
from kb.engine.ingestion.extraction import extract
from kb.engine.ingestion.indexing import Report, index_text
from kb.engine.ingestion.note_text import describe_note, sections_of_note
from kb.engine.ingestion.titles import shorten
from kb.engine.model import (
    Claim,
    Committed,
    FileSubmission,
    NewDocument,
    NoteSubmission,
    Progress,
    Section,
    Submission,
)
from kb.engine.originals import Originals
from kb.engine.ports import Embedder, Store

# As long as one that a caller may give.
MAX_TITLE_CHARACTERS = 500


@dataclass(frozen=True)
class Pipeline:
    store: Store
    originals: Originals
    embedder: Embedder
    clock: Callable[[], datetime]

    def run(self, claim: Claim, submission: Submission, report: Report) -> Committed:
        """Do the whole job. Before the commit nothing of it can be seen; after it everything can."""
        document = describe(submission)
        committed = self.store.commit_duplicate(claim, document, now=self.clock())
        if committed is None:
            committed = self._ingest(claim, document, submission, report)
        if committed.released_original is not None:
            self.originals.release([committed.released_original], self.store.is_original_in_use)
        return committed

    def _ingest(self, claim: Claim, document: NewDocument, submission: Submission, report: Report) -> Committed:
        report(Progress("Extracting text", 0, 2, f"Reading {document.filename}"))
        document, sections = self._read(document, submission)
        text = index_text(sections, document.title, self.embedder, report)
        total = len(text.chunks)
        if total == 0:
            raise Unreadable("no_text_found", "There is no text in it that could be searched.")
        report(Progress("Saving", 1 + total, 2 + total, f"Saving {total} chunks"))
        return self.store.commit_document(claim, document, text, now=self.clock())

    def _read(self, document: NewDocument, submission: Submission) -> tuple[NewDocument, list[Section]]:
        """The text, and the document with what the text itself tells about it."""
        if isinstance(submission, NoteSubmission):
            return document, sections_of_note(submission.text)
        extracted = extract(submission.format, self.originals.path_of(submission.original))
        document = replace(
            document,
            title=submission.title or shorten(extracted.title or submission.filename, MAX_TITLE_CHARACTERS),
            metadata={**extracted.metadata, **submission.metadata},
            processing_method=extracted.processing_method,
        )
        return document, extracted.sections


def describe(submission: Submission) -> NewDocument:
    """The document as far as it is known without opening it."""
    if isinstance(submission, FileSubmission):
        return NewDocument(
            doc_type=submission.format,
            format=submission.format,
            title=submission.title or submission.filename,
            title_is_given=submission.title is not None,
            filename=submission.filename,
            source_path=submission.source_path,
            size_bytes=submission.size_bytes,
            content_hash=f"sha256:{submission.original}",
            original=submission.original,
            note_text=None,
            tags=submission.tags,
            metadata=submission.metadata,
            processing_method="text_extraction",
        )
    note = describe_note(submission.text, submission.title)
    return NewDocument(
        doc_type="note",
        format="note",
        title=note.title,
        title_is_given=submission.title is not None,
        filename=note.filename,
        source_path=submission.source_path,
        size_bytes=note.size_bytes,
        content_hash=note.content_hash,
        original=None,
        note_text=submission.text,
        tags=submission.tags,
        metadata=submission.metadata,
        processing_method="text_extraction",
    )
