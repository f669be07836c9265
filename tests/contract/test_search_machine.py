"""Search as it is in a large base against brute force, whatever was done to the base before (S3, S4, S5).

Two stores on one base do it in turn, as two processes would. All sizes from which something is planned, coded or kept
are made so small that a few dozen chunks are a large base.
"""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test
from tests.amounts import amount
from tests.backends import BACKENDS
from tests.folders import open_folder
from tests.handmade_documents import LATER, add, index, note, revision, vector_of

from kb.engine.model import DocumentChange, DocumentId, Scope
from kb.engine.ports import Store
from kb.engine.storage.postgres import keywords, matching, near_index
from kb.engine.storage.sqlite import chunk_places, chunk_ranking, index_log, word_index, word_plan
from kb.engine.storage.sqlite.vectors import building, coded
from kb.engine.storage.tables import journal

WORDS = ("north", "south", "east", "walrus")
TITLES = ("Untitled", "north", "east pole")
TAGS = ("a", "b")
SMALL = {
    (building, "CODED_FROM"): 40,
    (building, "MOST_FRESH_ROWS"): 12,
    (coded, "COMPARED_WITHOUT_CODES"): 5,
    (word_plan, "SMALL_BASE"): 0,
    (word_plan, "RANKED_IN_FULL"): 5,
    (chunk_ranking, "RANKED_IN_FULL"): 5,
    (word_plan, "FEWEST_TO_RANK"): 10,
    (word_plan, "SHARE_TO_RANK"): 0.0,
    (word_index, "STALE_SHARE"): 0.5,
    (word_index, "FEWEST_TO_BE_SURE"): 2,
    (chunk_places, "FEW_CHUNKS"): 5,
    (chunk_places, "MOST_LEFT_OVER"): 20,
    (journal, "KEPT_EVENTS"): 30,
    (index_log, "KEPT_CHANGES"): 40,
    (keywords, "FEW_CHUNKS"): 5,
    (keywords, "COMPARED"): 10,
    (matching, "COMPARED"): 40,
    (near_index, "COMPARED"): 40,
    (near_index, "MOST_WITHOUT_INDEX"): 40,
}

who = st.integers(0, 1)
words = st.lists(st.sampled_from(WORDS), max_size=3)
counts = st.integers(1, 6)
tags = st.lists(st.sampled_from(TAGS), unique=True)
titles = st.sampled_from(TITLES)
choices = st.integers(0, 10_000)


@dataclass
class Known:
    title: str
    texts: list[str]
    tags: set[str]

    def has(self, place: int, phrase: str) -> bool:
        return any(f" {phrase} " in f" {text} " for text in (self.title.lower(), self.texts[place]))


class SearchMachine(RuleBasedStateMachine):
    backend_name: ClassVar[str]

    def __init__(self) -> None:
        super().__init__()
        self._opened = ExitStack()
        self._backend = BACKENDS[self.backend_name](Path(self._opened.enter_context(open_folder())))
        self._stores: list[Store] = [self._backend.open(), self._backend.open()]
        self._known: dict[DocumentId, Known] = {}
        self._written = 0

    def teardown(self) -> None:
        for store in self._stores:
            store.close()
        self._backend.remove()
        self._opened.close()

    def _write(self, words: list[str], count: int) -> list[str]:
        """No two texts are alike, so that no two vectors are."""
        self._written += 1
        return [" ".join([*words, f"filler u{self._written}x{place}"]) for place in range(count)]

    def _choose(self, choice: int) -> DocumentId:
        return sorted(self._known)[choice % len(self._known)]

    @rule(who=who, words=words, count=counts, tags=tags, title=titles)
    def add(self, who: int, words: list[str], count: int, tags: list[str], title: str) -> None:
        texts = self._write(words, count)
        added = add(self._stores[who], note(texts[0], title=title, tags=tags), index(*texts))
        self._known[added.id] = Known(title, texts, set(tags))

    @rule(who=who, words=words)
    def add_many(self, who: int, words: list[str]) -> None:
        for _ in range(15):
            self.add(who, words, 2, [], "Untitled")

    @precondition(lambda self: self._known)
    @rule(who=who, choice=choices)
    def delete(self, who: int, choice: int) -> None:
        document_id = self._choose(choice)
        self._stores[who].delete_document(document_id, expected_version=None, now=LATER)
        del self._known[document_id]

    @rule(who=who)
    def delete_the_newest(self, who: int) -> None:
        for document_id in sorted(self._known)[-4:]:
            self._stores[who].delete_document(document_id, expected_version=None, now=LATER)
            del self._known[document_id]

    @precondition(lambda self: self._known)
    @rule(who=who, choice=choices, words=words, count=counts)
    def rewrite(self, who: int, choice: int, words: list[str], count: int) -> None:
        document_id, texts = self._choose(choice), self._write(words, count)
        known = self._known[document_id]
        self._stores[who].replace_note(
            document_id, revision(texts[0], title=known.title), index(*texts), expected_version=None, now=LATER
        )
        known.texts = texts

    @precondition(lambda self: self._known)
    @rule(who=who, choice=choices, title=titles)
    def rename(self, who: int, choice: int, title: str) -> None:
        document_id = self._choose(choice)
        change = DocumentChange(title=title)
        self._stores[who].update_document(document_id, change, expected_version=None, now=LATER)
        self._known[document_id].title = title

    @precondition(lambda self: self._known)
    @rule(who=who, choice=choices, tags=tags)
    def tag(self, who: int, choice: int, tags: list[str]) -> None:
        document_id = self._choose(choice)
        self._stores[who].replace_tags(document_id, tags, expected_version=None, now=LATER)
        self._known[document_id].tags = set(tags)

    @precondition(lambda self: len(self._known) > 60)
    @rule(who=who)
    def clear(self, who: int) -> None:
        self._stores[who].delete_everything(now=LATER)
        self._known.clear()

    @rule(who=who)
    def tune(self, who: int) -> None:
        self._stores[who].tune_search()

    @rule(who=who)
    def reopen(self, who: int) -> None:
        self._stores[who].close()
        self._stores[who] = self._backend.open()

    @rule(
        who=who,
        words=st.lists(st.sampled_from((*WORDS, "nobody")), min_size=1, max_size=4),
        tags=st.lists(st.sampled_from((*TAGS, "unknown")), max_size=2, unique=True),
        required=st.sampled_from([(), (), ("north",), ("north south",)]),
        excluded=st.sampled_from([(), (), ("east",)]),
        limit=st.sampled_from([3, 10, 500]),
    )
    def search(
        self,
        who: int,
        words: list[str],
        tags: list[str],
        required: tuple[str, ...],
        excluded: tuple[str, ...],
        limit: int,
    ) -> None:
        scope = Scope(tags=tuple(tags), required=required, excluded=excluded)
        within = {
            (document_id, place): (known, place)
            for document_id, known in self._known.items()
            for place in range(len(known.texts))
            if known.tags.issuperset(tags)
            and all(known.has(place, phrase) for phrase in required)
            and not any(known.has(place, phrase) for phrase in excluded)
        }
        with_words = {
            name
            for name, (known, place) in within.items()
            if any(known.has(place, sought) for sought in (*words, *required))
        }

        by_text = self._stores[who].find_by_text(words, scope, limit=limit).matches
        found = list(zip(by_text.document_ids.tolist(), by_text.ordinals.tolist(), strict=True))
        assert len(set(found)) == len(found) == min(limit, len(with_words))
        assert with_words.issuperset(found)

        query = vector_of("anything")
        by_vector = self._stores[who].find_by_vector(query, scope, limit=limit).matches
        near = list(zip(by_vector.document_ids.tolist(), by_vector.ordinals.tolist(), strict=True))
        cosines = sorted(
            (float(vector_of(known.texts[place]) @ query) for known, place in within.values()), reverse=True
        )
        assert within.keys() >= set(near)
        # Numbers in files have half the precision.
        assert np.allclose(by_vector.scores, cosines[:limit], atol=2e-3)

    @rule(who=who)
    def load_vectors(self, who: int) -> None:
        store = self._stores[who]
        chunk_ids = np.array(
            [chunk.id for document_id in self._known for chunk in store.read_document(document_id).chunks], np.int64
        )

        assert store.load_vectors(chunk_ids).chunk_ids.tolist() == chunk_ids.tolist()


@pytest.mark.parametrize(("backend_name", "examples"), [("sqlite", 40), ("postgres", amount(selection=6, full=80))])
def test_search_in_a_large_base_agrees_with_brute_force_whatever_is_done_to_it(
    monkeypatch: pytest.MonkeyPatch, backend_name: str, examples: int
) -> None:
    for (module, name), value in SMALL.items():
        monkeypatch.setattr(module, name, value)
    run_state_machine_as_test(
        type("Machine", (SearchMachine,), {"backend_name": backend_name}),
        settings=settings(
            max_examples=examples, stateful_step_count=60, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
