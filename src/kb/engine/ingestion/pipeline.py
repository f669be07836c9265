"""What a job does: text out of what was submitted, chunks out of the text, all of it into the store at once."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from kb.control_characters import without_control_characters
from kb.engine.errors import Unreadable
from kb.engine.ingestion.extraction.formats import PICTURE_FORMATS
from kb.engine.ingestion.extraction.sandbox import Extraction, open_extraction
from kb.engine.ingestion.indexing import index_text
from kb.engine.ingestion.markdown import sections_of_markdown
from kb.engine.ingestion.note_text import describe_note
from kb.engine.ingestion.progress import Course, Report
from kb.engine.ingestion.titles import shorten
from kb.engine.model import (
    OCR_FORCED,
    Claim,
    Committed,
    FileSubmission,
    IndexedText,
    Metadata,
    NewDocument,
    NoteSubmission,
    Submission,
)
from kb.engine.model.hashes import hash_of_original
from kb.engine.model.limits import MAX_GIVEN_TITLE_CHARACTERS, MAX_METADATA_BYTES, count_metadata_bytes
from kb.engine.originals import DamagedOriginal, Originals, Watch
from kb.engine.ports import Embedder, Store


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
            committed = self._ingest(claim, document, submission, Course(report, document.filename))
        if committed.released_original is not None:
            self.originals.release([committed.released_original], self.store.is_original_in_use)
        return committed

    def _ingest(self, claim: Claim, document: NewDocument, submission: Submission, course: Course) -> Committed:
        if isinstance(submission, NoteSubmission):
            sections = sections_of_markdown(submission.text)
            text = index_text([sections], document.title, self.embedder, course.embed)
        else:
            document, text = self._read(document, submission, course)
        if not text.chunks:
            raise Unreadable(
                "no_text_found",
                "There is no text in it that could be searched, nor any that can be recognised in its pictures. If "
                "you can read it, scan it anew, larger or with more contrast, and add that.",
            )
        course.save(len(text.chunks))
        return self.store.commit_document(claim, document, text, now=self.clock())

    def _read(
        self, document: NewDocument, submission: FileSubmission, course: Course
    ) -> tuple[NewDocument, IndexedText]:
        """The text, and the document with what the file itself tells about it."""
        format, force_ocr = submission.format, submission.force_ocr
        with (
            open_original(self.originals, submission.original, course.watch) as path,
            open_extraction(format, path, force_ocr=force_ocr, watch=course.watch) as extraction,
        ):
            head = extraction.head
            own_title = without_control_characters(head.title or "").strip() or submission.filename
            title = submission.title or shorten(own_title, MAX_GIVEN_TITLE_CHARACTERS)
            parts = course.follow(extraction.parts(), unit=head.unit, workload=extraction.workload)
            text = index_text(parts, title, self.embedder, course.embed)
        findings = extraction.findings
        noted = {**findings.describe(), **describe_unread(extraction)}
        was_recognised = findings.has_pages and head.processing_method == "text_extraction"
        if was_recognised and force_ocr:
            noted[OCR_FORCED] = True
        metadata = {**noted, **submission.metadata}
        document = replace(
            document,
            title=title,
            metadata={**choose_what_fits(head.metadata, beside=metadata), **metadata},
            processing_method="ocr" if was_recognised else head.processing_method,
        )
        return document, text


@contextmanager
def open_original(originals: Originals, name: str | None, watch: Watch) -> Iterator[Path]:
    """A file with its content. Raises `Unreadable` if there is none, also for what came without an original."""
    gone = Unreadable("corrupt_file", "Its original is missing or damaged. Add the file again.")
    if name is None:
        raise gone
    with ExitStack() as opened:
        try:
            path = opened.enter_context(originals.open_file(name, watch))
        except DamagedOriginal as error:
            raise gone from error
        yield path


def describe_unread(extraction: Extraction) -> dict[str, Any]:
    """What a document's metadata tells of the pages that could not be read, once all others are."""
    return {f"unread_{extraction.head.unit}s": extraction.unread} if extraction.unread else {}


def choose_what_fits(entries: Metadata, *, beside: Metadata) -> Metadata:
    """The file's own metadata, without the longest entries if all are too much together with the metadata `beside`.

    Nothing is lost: the original still has them. Entries that are not JSON, such as NaN, are left out too.
    """
    sizes = {name: _size_or_too_much(name, value) for name, value in entries.items() if name not in beside}
    room = MAX_METADATA_BYTES - count_metadata_bytes(beside)
    chosen = set()
    for name in sorted(sizes, key=sizes.__getitem__):
        room -= sizes[name]
        if room < 0:
            break
        chosen.add(name)
    return {name: value for name, value in entries.items() if name in chosen}


def _size_or_too_much(name: str, value: object) -> int:
    """The bytes of one entry, or too many if it is not JSON.

    The braces that are counted here are as long as the comma and the space between two entries.
    """
    try:
        return count_metadata_bytes({name: value})
    except ValueError:
        return MAX_METADATA_BYTES + 1


def describe(submission: Submission) -> NewDocument:
    """The document as far as it is known without opening it."""
    if isinstance(submission, FileSubmission):
        return NewDocument(
            doc_type="image" if submission.format in PICTURE_FORMATS else submission.format,
            format=submission.format,
            title=submission.title or submission.filename,
            title_is_given=submission.title is not None,
            filename=submission.filename,
            source_path=submission.source_path,
            size_bytes=submission.size_bytes,
            content_hash=hash_of_original(submission.original),
            original=submission.original,
            note_text=None,
            tags=submission.tags,
            metadata={**({OCR_FORCED: True} if submission.force_ocr else {}), **submission.metadata},
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
