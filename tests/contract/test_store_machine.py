"""Documents added, replaced, tagged, rewritten, deleted and cleared in any order, against a dictionary."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from tests.amounts import amount
from tests.backends import BACKENDS
from tests.folders import open_folder
from tests.handmade_documents import LATER, commit, digest, file, index, note, revision, vector_of

from kb.engine.model import EVERYWHERE, DocumentChange, DocumentId, DocumentQuery, FileSubmission, Lane, NewDocument
from kb.engine.storage.sqlite import clearing

WORDS = ("walrus", "otter", "seal", "ночь", "東京", "ข้าวผัด")
TAGS = ("a", "b/c", "日本")
PATHS = (None, "/one", "/two")

words = st.sampled_from(WORDS)
chunk_texts = st.lists(st.lists(words, min_size=1, max_size=3).map(" ".join), max_size=4)
tag_lists = st.lists(st.sampled_from(TAGS), max_size=3, unique=True)


@dataclass
class Expected:
    """What the dictionary knows of a document."""

    is_note: bool
    content: str
    source_path: str | None
    title: str
    tags: list[str]
    chunks: list[str]
    title_is_given: bool = False
    revisions: list[tuple[str, str]] = field(default_factory=list)
    """Title and text of each, oldest first."""

    def revise(self) -> None:
        now = (self.title, self.content)
        if self.is_note and self.revisions[-1:] != [now]:
            self.revisions.append(now)

    def add_tags(self, tags: list[str]) -> None:
        self.tags += [tag for tag in tags if tag not in self.tags]

    def has(self, word: str) -> bool:
        return any(word in f"{self.title} {chunk}" for chunk in self.chunks)


class StoreMachine(RuleBasedStateMachine):
    backend_name: ClassVar[str]

    def __init__(self) -> None:
        super().__init__()
        self._folder = open_folder()
        self.backend = BACKENDS[self.backend_name](Path(self._folder.name))
        self.store = self.backend.open()
        self.observer = self.backend.open()
        self.documents: dict[DocumentId, Expected] = {}
        self.used_ids: set[DocumentId] = set()

    def teardown(self) -> None:
        self.backend.check_integrity()
        self.store.close()
        self.observer.close()
        self._folder.cleanup()

    @initialize()
    def look_early(self) -> None:
        """So that what the observer keeps in memory is out of date from the first change on."""
        self.observer.find_by_vector(vector_of("x"), EVERYWHERE, limit=1)

    @rule(chunks=chunk_texts, title=words, tags=tag_lists, path=st.sampled_from(PATHS))
    def add_note(self, chunks: list[str], title: str, tags: list[str], path: str | None) -> None:
        content = "\n".join(chunks)
        same = next((i for i, d in self.documents.items() if path and d.source_path == path), None)
        self._commit(note(content, title=title, tags=tags, source_path=path), chunks, same)

    @rule(chunks=chunk_texts, title=words, tags=tag_lists, path=st.sampled_from(PATHS))
    def add_file(self, chunks: list[str], title: str, tags: list[str], path: str | None) -> None:
        content = "\n".join(chunks)
        same = next((i for i, d in self.documents.items() if path and d.source_path == path), None)
        if same is None:
            twins = [i for i, d in self.documents.items() if not d.is_note and d.content == content]
            free = [i for i in twins if self.documents[i].source_path is None]
            same = next(iter(free or (twins if path is None else [])), None)
        self._commit(file(content, title=title, tags=tags, source_path=path), chunks, same)

    def _commit(self, new: NewDocument, chunks: list[str], same: DocumentId | None) -> None:
        content = "\n".join(chunks)
        expected = Expected(new.note_text is not None, content, new.source_path, new.title, [], chunks)
        committed = commit(self.store, new, index(*chunks), now=LATER)

        if same is None:
            assert committed.document_id not in self.used_ids
        else:
            former = self.documents[same]
            assert committed.document_id == same
            assert committed.is_duplicate == (former.content == content)
            if committed.is_duplicate:
                former.source_path = former.source_path or new.source_path
                expected = former
            else:
                expected.tags = former.tags
                expected.revisions = former.revisions
                if former.title_is_given:
                    expected.title, expected.title_is_given = former.title, True
                if expected.is_note:
                    expected.revisions.append((expected.title, content))
        if same is None:
            expected.revise()
        expected.add_tags(list(new.tags))
        self.documents[committed.document_id] = expected
        self.used_ids.add(committed.document_id)

    @precondition(lambda self: self.documents)
    @rule(data=st.data(), add=tag_lists, remove=tag_lists)
    def change_tags(self, data: st.DataObject, add: list[str], remove: list[str]) -> None:
        document_id = self._pick(data)

        changed = self.store.change_tags(document_id, add=add, remove=remove, expected_version=None, now=LATER)

        expected = self.documents[document_id]
        expected.tags = [tag for tag in expected.tags if tag not in remove]
        expected.add_tags(add)
        assert list(changed.tags) == expected.tags

    @precondition(lambda self: self.documents)
    @rule(data=st.data(), title=words)
    def change_title(self, data: st.DataObject, title: str) -> None:
        document_id = self._pick(data)

        self.store.update_document(document_id, DocumentChange(title=title), expected_version=None, now=LATER)

        expected = self.documents[document_id]
        expected.title_is_given |= expected.title != title
        expected.title = title
        expected.revise()

    @precondition(lambda self: any(d.is_note for d in self.documents.values()))
    @rule(data=st.data(), chunks=chunk_texts, title=words)
    def rewrite_note(self, data: st.DataObject, chunks: list[str], title: str) -> None:
        document_id = data.draw(st.sampled_from([i for i, d in self.documents.items() if d.is_note]))
        content = "\n".join(chunks)

        self.store.replace_note(
            document_id, revision(content, title=title), index(*chunks), expected_version=None, now=LATER
        )

        expected = self.documents[document_id]
        expected.content, expected.title, expected.chunks = content, title, chunks
        expected.title_is_given = False
        expected.revise()

    @precondition(lambda self: self.documents)
    @rule(data=st.data())
    def index_anew(self, data: st.DataObject) -> None:
        document_id = self._pick(data)
        chunks = self.documents[document_id].chunks
        job = self.store.add_reindex(now=LATER)
        claim = self.store.claim_job(Lane.UPKEEP, now=LATER, lease_until=LATER)
        assert claim is not None
        assert claim.job_id == job.id
        version = self.store.get_document(document_id).version

        self.store.replace_text(claim, document_id, index(*chunks), expected_version=version)

        assert self.store.complete_reindex(claim, unreadable=(), now=LATER)

    @precondition(lambda self: self.documents)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        document_id = self._pick(data)

        deleted = self.store.delete_document(document_id, expected_version=None, now=LATER)

        assert deleted.chunks_removed == len(self.documents.pop(document_id).chunks)

    @rule(chunks=chunk_texts, is_running=st.booleans())
    def forget_upload(self, chunks: list[str], *, is_running: bool) -> None:
        content = "\n".join(chunks)
        upload = FileSubmission(digest(content), "a.txt", "txt", len(content))
        job = self.store.add_job(upload, idempotency_key="k", max_queued=1, now=LATER)
        if is_running:
            assert self.store.claim_job(Lane.BULK, now=LATER, lease_until=LATER) is not None

        self.store.forget_job(job.id, now=LATER)

        has_document = any(not d.is_note and d.content == content for d in self.documents.values())
        assert self.observer.is_original_in_use(upload.original) == has_document

    @precondition(lambda self: len(self.documents) > 2)
    @rule()
    def clear(self) -> None:
        cleared = self.store.delete_everything(now=LATER)

        assert cleared.documents_removed == len(self.documents)
        self.documents.clear()

    def _pick(self, data: st.DataObject) -> DocumentId:
        return data.draw(st.sampled_from(sorted(self.documents)))

    @invariant()
    def counts_agree(self) -> None:
        chunks = sum(len(expected.chunks) for expected in self.documents.values())
        statistics = self.store.read_statistics()
        listed = self.store.list_documents(DocumentQuery(limit=1000)).rows

        assert {document.id for document in listed} == set(self.documents)
        assert sum(document.chunk_count for document in listed) == chunks
        assert statistics.chunks == statistics.vectors == chunks

    @invariant()
    def revisions_agree(self) -> None:
        for document_id, expected in self.documents.items():
            if expected.is_note:
                page = self.observer.list_revisions(document_id, limit=1000, offset=0)
                assert [(one.title, one.text) for one in reversed(page.rows)] == expected.revisions

    @invariant()
    def tags_agree(self) -> None:
        counts = {tag: sum(tag in d.tags for d in self.documents.values()) for tag in TAGS}

        assert {tag.name: tag.count for tag in self.store.list_tags().rows} == {t: n for t, n in counts.items() if n}

    @invariant()
    def just_what_is_there_is_found_by_word(self) -> None:
        for word in WORDS:
            found = self.observer.find_by_text([word], EVERYWHERE, limit=1000).matches
            assert {*found.document_ids.tolist()} == {i for i, expected in self.documents.items() if expected.has(word)}

    @invariant()
    def just_what_is_there_is_found_by_vector(self) -> None:
        found = self.observer.find_by_vector(vector_of("otter"), EVERYWHERE, limit=1000).matches
        loaded = self.observer.load_chunks(found.chunk_ids.tolist())

        expected = [(i, n, text) for i, d in self.documents.items() for n, text in enumerate(d.chunks)]
        assert sorted((f.document.id, f.chunk.ordinal, f.chunk.text) for f in loaded) == sorted(expected)


@pytest.mark.parametrize("name", BACKENDS)
def test_the_store_agrees_with_a_dictionary_whatever_is_done_to_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Lower limits, so that a few chunks are cleared in pieces.
    monkeypatch.setattr(clearing, "MAX_CHUNKS_AT_ONCE", 2)
    monkeypatch.setattr(clearing, "CHUNKS_PER_PIECE", 2)
    machine = type(f"{name.title()}Machine", (StoreMachine,), {"backend_name": name})

    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=60 if name == "sqlite" else amount(selection=8, full=60),
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )
