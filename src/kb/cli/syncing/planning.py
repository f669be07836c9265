"""What must be done so that the documents of a folder are its files. Pure."""

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

PATH_OF_A_NOTE = "a note has its path"
GONE = "its file is gone"
SECOND_OF_A_FILE = "another document has its file"


@dataclass(frozen=True)
class KnownDocument:
    """The document of a file, as the engine has it."""

    id: int
    source_path: str
    content_hash: str
    version: int
    is_note: bool = False


@dataclass(frozen=True)
class Add:
    path: str


@dataclass(frozen=True)
class Replace:
    path: str
    document: KnownDocument


@dataclass(frozen=True)
class Rename:
    """The file of the document lies at this path now."""

    path: str
    document: KnownDocument


@dataclass(frozen=True)
class Delete:
    document: KnownDocument
    reason: str = GONE


@dataclass(frozen=True)
class Skip:
    path: str
    reason: str
    detail: str = ""


@dataclass(frozen=True)
class Keep:
    """The document stays as it is, although its file is not there to be sent."""

    document: KnownDocument
    reason: str


Step: TypeAlias = Add | Replace | Rename | Delete | Skip | Keep


@dataclass(frozen=True)
class Plan:
    renames: Sequence[Rename] = ()
    adds: Sequence[Add] = ()
    replaces: Sequence[Replace] = ()
    deletes: Sequence[Delete] = ()
    skips: Sequence[Skip] = ()
    keeps: Sequence[Keep] = ()
    unchanged: int = 0

    def steps(self) -> Iterator[Step]:
        """All of them, in the order in which they are done."""
        for steps in (self.skips, self.keeps, self.renames, self.adds, self.replaces, self.deletes):
            yield from steps

    def deleting_kept(self, reason: str) -> "Plan":
        """What is kept for this reason is deleted instead."""
        deletes = [Delete(keep.document, reason) for keep in self.keeps if keep.reason == reason]
        keeps = [keep for keep in self.keeps if keep.reason != reason]
        return replace(self, deletes=[*self.deletes, *deletes], keeps=keeps)

    def keeping_all(self, reason: str | None = None) -> "Plan":
        """What would be deleted is kept instead, for this reason or for that why it would be."""
        keeps = [Keep(delete.document, reason or delete.reason) for delete in self.deletes]
        return replace(self, deletes=(), keeps=[*self.keeps, *keeps])


@dataclass(frozen=True)
class FolderContent:
    """Each path as the engine is told it."""

    files: Mapping[str, str]
    """The content hash of each file that can be sent."""
    present: Mapping[str, str] = field(default_factory=dict)
    """Why a file or a folder that is there is not sent. What the base has of it and of all below it stays."""
    refused: dict[str, Skip] = field(default_factory=dict)
    """Files that are not worth sending as they are: the engine could not read them before, or we cannot now."""


def plan_sync(content: FolderContent, documents: Iterable[KnownDocument]) -> Plan:
    """The folder is the truth: each of its files is to be the content of one document, and there are no others.

    A document keeps its id as long as its path is there, and beyond that if its content is now at a new path. Notes
    are nobody's files: a file at the path of one is left alone, since the engine would put it in the note's place.
    """
    documents = sorted(documents, key=lambda document: document.id)
    taken = {document.source_path for document in documents if document.is_note}
    files = {path: content_hash for path, content_hash in content.files.items() if path not in taken}
    by_path: dict[str, KnownDocument] = {}
    missing: list[KnownDocument] = []
    for document in documents:
        if document.is_note:
            continue
        if document.source_path in files and document.source_path not in by_path:
            by_path[document.source_path] = document
        else:
            missing.append(document)
    keeps, gone = _divide(missing, content.present)
    new = {path: files[path] for path in sorted(files.keys() - by_path.keys())}
    renames = list(_pair(gone, new))
    moved = {rename.document.id for rename in renames}
    arrived = {rename.path for rename in renames}
    changed = [path for path in sorted(by_path) if files[path] != by_path[path].content_hash]
    added = [path for path in new if path not in arrived]
    settled = arrived | (by_path.keys() - changed)
    refused = content.refused | {path: Skip(path, PATH_OF_A_NOTE) for path in taken & content.files.keys()}
    return Plan(
        renames=renames,
        adds=[Add(path) for path in added if path not in content.refused],
        replaces=[Replace(path, by_path[path]) for path in changed if path not in content.refused],
        deletes=[
            Delete(document, SECOND_OF_A_FILE if document.source_path in by_path else GONE)
            for document in gone
            if document.id not in moved
        ],
        skips=[skip for path, skip in sorted(refused.items()) if path not in settled],
        keeps=keeps,
        unchanged=len(by_path) - len(changed),
    )


def _divide(missing: Iterable[KnownDocument], present: Mapping[str, str]) -> tuple[list[Keep], Sequence[KnownDocument]]:
    """Those that stay because something is still at their path or above it, and those that are gone, by path."""
    keeps, gone = [], []
    for document in sorted(missing, key=lambda document: (document.source_path, document.id)):
        reason = _find_reason(document.source_path, present)
        if reason is None:
            gone.append(document)
        else:
            keeps.append(Keep(document, reason))
    return keeps, gone


def _find_reason(path: str, present: Mapping[str, str]) -> str | None:
    while present and path not in present:
        path, shorter = os.path.dirname(path), path
        if path == shorter:
            return None
    return present.get(path)


def _pair(gone: Sequence[KnownDocument], new: dict[str, str]) -> Iterator[Rename]:
    """Documents whose file is gone with new files of the very same content, first those of the same name."""
    namesakes: dict[tuple[str, str], list[str]] = defaultdict(list)
    # Backwards, so that the first of them is at the end and quickly taken.
    for path, content_hash in reversed(new.items()):
        namesakes[content_hash, os.path.basename(path)].append(path)
    taken, waiting = set(), []
    for document in gone:
        if paths := namesakes[document.content_hash, os.path.basename(document.source_path)]:
            taken.add(paths[-1])
            yield Rename(paths.pop(), document)
        else:
            waiting.append(document)
    others: dict[str, list[str]] = defaultdict(list)
    for path, content_hash in reversed(new.items()):
        if path not in taken:
            others[content_hash].append(path)
    for document in waiting:
        if paths := others[document.content_hash]:
            yield Rename(paths.pop(), document)
