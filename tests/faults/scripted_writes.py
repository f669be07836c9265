"""A fixed sequence of writes, and the base that each beginning of it makes.

Run as a program it does the writes one after the other in a data directory and says which are done. It has the
store and the originals of engine and worker, but neither HTTP nor a model: so it starts quickly, and nearly every
call to the system that it makes is one for the sake of the writes.

Whoever kills it, or copies the files under its hands, knows what to expect: the base as the first n writes make it,
for some n that is not less than what the program has said.
"""

import itertools
import os
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path

from tests.backends import MODEL
from tests.handmade_documents import NOW, digest, file, index, note, revision

from kb.engine.documents import delete_document, submit_file
from kb.engine.errors import StorageFull, Unavailable
from kb.engine.model import DocumentChange, DocumentQuery, FileSubmission, Lane, NoteSubmission
from kb.engine.originals import FolderOriginals
from kb.engine.ports import Store
from kb.engine.storage import open_store

ATTEMPTS = 3


class Kind(StrEnum):
    SUBMIT_NOTE = "submit note"
    SUBMIT_FILE = "submit file"
    INGEST_NOTE = "ingest note"
    INGEST_FILE = "ingest file"
    REWRITE = "rewrite"
    RETITLE = "retitle"
    TAG = "tag"
    DELETE = "delete"


@dataclass(frozen=True)
class Write:
    number: int
    kind: Kind
    name: str
    """Of the document; its source path, since its title changes."""


@dataclass(frozen=True)
class Known:
    content_hash: str
    title: str
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class State:
    waiting_jobs: int = 0
    documents: dict[str, Known] = field(default_factory=dict)


def script() -> Iterator[Write]:
    """Without end. In each round a note and a file come, an older note changes, and something older goes."""
    numbers = itertools.count(1)
    for this in itertools.count():
        last = this - 1
        steps = [
            (Kind.SUBMIT_NOTE, f"note-{this}"),
            (Kind.SUBMIT_FILE, f"file-{this}"),
            (Kind.INGEST_FILE, f"file-{this}"),
            (Kind.INGEST_NOTE, f"note-{this}"),
            (Kind.TAG, f"file-{this}"),
            (Kind.RETITLE, f"note-{this}"),
        ]
        if last >= 0:
            steps += [
                (Kind.REWRITE, f"note-{last}"),
                (Kind.TAG, f"note-{last}"),
                (Kind.DELETE, f"file-{last}" if last % 2 else f"note-{last}"),
            ]
        yield from (Write(next(numbers), kind, name) for kind, name in steps)


def first_content(name: str) -> str:
    """A file is long enough to go to the disk in several pieces."""
    return f"This is {name}. " * (2_000 if name.startswith("file") else 1)


def rewritten(write: Write) -> list[str]:
    """One to four chunks."""
    return [f"Part {part} of {write.name} after write {write.number}. " * 20 for part in range(1 + write.number % 4)]


def state_after(state: State, write: Write) -> State:
    waiting, documents = state.waiting_jobs, dict(state.documents)
    match write.kind:
        case Kind.SUBMIT_NOTE | Kind.SUBMIT_FILE:
            waiting += 1
        case Kind.INGEST_NOTE | Kind.INGEST_FILE:
            waiting -= 1
            documents[write.name] = Known(f"sha256:{digest(first_content(write.name))}", write.name)
        case Kind.REWRITE:
            content_hash = f"sha256:{digest(''.join(rewritten(write)))}"
            documents[write.name] = replace(documents[write.name], content_hash=content_hash)
        case Kind.RETITLE:
            documents[write.name] = replace(documents[write.name], title=f"Title {write.number}")
        case Kind.TAG:
            documents[write.name] = replace(documents[write.name], tags=(f"tag {write.number}",))
        case Kind.DELETE:
            del documents[write.name]
    return State(waiting, documents)


def states(count: int) -> list[State]:
    """The state after none of the writes, after the first, and so on."""
    return list(itertools.accumulate(itertools.islice(script(), count), state_after, initial=State()))


def read_state(store: Store) -> State:
    queue = store.count_jobs()
    documents = store.list_documents(DocumentQuery(limit=100_000)).rows
    return State(
        queue.queued + queue.running,
        {str(each.source_path): Known(each.content_hash, each.title, each.tags) for each in documents},
    )


class Writer:
    """Does the writes. Each can be done again when it is not known whether it was."""

    def __init__(self, store: Store, originals: FolderOriginals) -> None:
        self._store = store
        self._originals = originals
        self._ticks = itertools.count()

    def do(self, write: Write) -> None:
        match write.kind:
            case Kind.SUBMIT_NOTE:
                submission = NoteSubmission(first_content(write.name), source_path=write.name)
                self._store.add_job(submission, idempotency_key=write.name, max_queued=100, now=self._now())
            case Kind.SUBMIT_FILE:
                self._submit_file(write.name)
            case Kind.INGEST_NOTE:
                self._ingest(write.name, Lane.INTERACTIVE)
            case Kind.INGEST_FILE:
                self._ingest(write.name, Lane.BULK)
            case _:
                self._change(write)

    def _submit_file(self, name: str) -> None:
        content = first_content(name).encode()
        with self._originals.receive() as incoming:
            for start in range(0, len(content), 10_000):
                incoming.write(content[start : start + 10_000])
            submission = FileSubmission(incoming.finish(), f"{name}.txt", "txt", incoming.size_bytes, source_path=name)
            submit_file(
                self._store,
                self._originals,
                incoming,
                submission,
                idempotency_key=name,
                max_queued=100,
                now=self._now(),
            )

    def _ingest(self, name: str, lane: Lane) -> None:
        # The lease ends at once, so that an attempt that failed is not in the way of the next.
        now = self._now()
        claim = self._store.claim_job(lane, now=now, lease_until=now)
        if claim is not None:
            make = note if lane is Lane.INTERACTIVE else file
            document = make(first_content(name), title=name, source_path=name)
            self._store.commit_document(claim, document, index(first_content(name)), now=now)

    def _change(self, write: Write) -> None:
        found = self._store.list_documents(DocumentQuery(source_path=write.name)).rows
        if not found:
            assert write.kind is Kind.DELETE
            return
        document_id, title, now = found[0].id, found[0].title, self._now()
        match write.kind:
            case Kind.REWRITE:
                parts = rewritten(write)
                content = revision("".join(parts), title=title)
                self._store.replace_note(document_id, content, index(*parts), expected_version=None, now=now)
            case Kind.RETITLE:
                self._store.update_document(
                    document_id, DocumentChange(title=f"Title {write.number}"), expected_version=None, now=now
                )
            case Kind.TAG:
                self._store.replace_tags(document_id, [f"tag {write.number}"], expected_version=None, now=now)
            case Kind.DELETE:
                delete_document(self._store, self._originals, document_id, expected_version=None, now=now)

    def _now(self) -> datetime:
        return NOW + timedelta(seconds=next(self._ticks))


def say(word: str) -> None:
    # In a call of its own kind: the calls of the other kinds are made to fail.
    os.writev(sys.stdout.fileno(), [f"{word}\n".encode()])


def main() -> None:
    folder, count = Path(sys.argv[1]), int(sys.argv[2])
    with closing(open_store(folder, model_fingerprint=MODEL)) as store:
        writer = Writer(store, FolderOriginals(folder / "originals"))
        for write in itertools.islice(script(), count):
            for attempt in range(ATTEMPTS):
                try:
                    writer.do(write)
                    break
                except (StorageFull, Unavailable):
                    say("refused")
                    if attempt == ATTEMPTS - 1:
                        raise
            say(str(write.number))


if __name__ == "__main__":
    main()
