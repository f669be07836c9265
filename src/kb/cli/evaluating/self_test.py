"""Is every document found by its own title, and by rare words out of its own text? If not, why not?

The documents are gone through twice. The first time they are read, which tells what is rare; the second time they are
searched for. Where that misses, it is asked further: what stands below the first ten, what words and meaning find by
themselves, and what came instead.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from kb.cli.evaluating.asking import DEPTH, FAR, document_ids_of
from kb.cli.evaluating.attempts import Attempt, By, Hit, Miss
from kb.cli.evaluating.diagnosis import GarbledText, NoText, Reason, diagnose, fold_title, is_wordless_picture
from kb.cli.evaluating.in_turn import for_each
from kb.cli.evaluating.likeness import Shingles, cut_shingles, share_within
from kb.cli.evaluating.phrases import count_documents, pick_phrases
from kb.cli.evaluating.reading import EVERYWHERE, Reading, Scope, list_documents, read_document, read_whole, spread_out
from kb.cli.evaluating.terms import type_plainly
from kb.cli.evaluating.titles import says_nothing
from kb.client import EngineClient, Json

# A hit that shares less with the document than this is no twin of it, whatever stands around the hit.
_LEAST_LIKENESS = 0.3

OnProgress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Verdict:
    document: Json
    attempts: tuple[Attempt, ...]
    misses: tuple[Miss, ...]
    reasons: tuple[Reason, ...]

    @property
    def is_lost(self) -> bool:
        """Whether neither its title nor its text helps somebody who looks for it."""
        has_title = self._is_found_by_title and not says_nothing(self.document["title"])
        return not has_title and not self._share_of_phrases

    @property
    def badness(self) -> tuple[bool, float, bool]:
        return self.is_lost, 1 - self._share_of_phrases, not self._is_found_by_title

    @property
    def _is_found_by_title(self) -> bool:
        return any(attempt.is_found for attempt in self.attempts if attempt.by is By.TITLE)

    @property
    def _share_of_phrases(self) -> float:
        """A text that nobody can read is found by nothing that anybody would type."""
        found = [attempt.is_found for attempt in self.attempts if attempt.by is By.PHRASE]
        is_unreadable = any(isinstance(reason, NoText | GarbledText) for reason in self.reasons)
        return 0.0 if is_unreadable or not found else sum(found) / len(found)


@dataclass(frozen=True)
class SelfTest:
    total: int
    """How many documents there are in the scope; those beyond the number that was wanted were not asked for."""
    verdicts: list[Verdict]
    is_degraded: bool

    @property
    def attempts(self) -> list[Attempt]:
        return [attempt for verdict in self.verdicts for attempt in verdict.attempts]

    @property
    def hard_to_find(self) -> list[Verdict]:
        """Worst first."""
        return sorted((v for v in self.verdicts if v.reasons), key=lambda verdict: verdict.badness, reverse=True)

    @property
    def wordless_pictures(self) -> list[Json]:
        """Those that are found, but by nothing except their titles."""
        return [v.document for v in self.verdicts if not v.reasons and is_wordless_picture(v.document)]


async def run_self_test(engine: EngineClient, scope: Scope, most: int, on_progress: OnProgress) -> SelfTest:
    """At most so many documents of the scope; they are searched for in the whole base, as a person would."""
    documents = await list_documents(engine, scope)
    everything = documents if scope == EVERYWHERE else await list_documents(engine, EVERYWHERE)
    chosen = spread_out(documents, most)
    steps = 2 * len(chosen)

    def tell(done: int, document: Json) -> None:
        on_progress(document["title"], done, steps)

    read = await for_each(chosen, lambda document: read_document(engine, document), tell)
    readings = [reading for reading in read if reading is not None]
    frequencies = count_documents(reading.texts for reading in readings)
    titles = Counter(fold_title(document["title"]) for document in everything)
    search = _Search(engine)

    async def judge(reading: Reading) -> Verdict:
        phrases = pick_phrases(reading.texts, frequencies, len(readings))
        return await _judge(search, reading, phrases, titles[fold_title(reading.title)])

    verdicts = await for_each(readings, judge, lambda done, reading: tell(len(chosen) + done, reading.document))
    return SelfTest(len(documents), verdicts, search.is_degraded)


@dataclass
class _Search:
    """The engine, and what is remembered of its answers."""

    engine: EngineClient
    is_degraded: bool = False
    shingles: dict[int, Shingles] = field(default_factory=dict)
    """Of documents that came in the place of others, and may come again."""

    async def ask(self, query: str, *, top: int = DEPTH, mode: str = "hybrid") -> Json:
        answer = await self.engine.search(query, top=top, mode=mode, group_by="document")
        self.is_degraded |= answer["degraded"]
        return answer

    async def find(self, document_id: int, query: str, mode: str) -> bool:
        return document_id in document_ids_of(await self.ask(query, mode=mode))

    async def cut(self, document_id: int) -> Shingles:
        if document_id not in self.shingles:
            self.shingles[document_id] = cut_shingles(await read_whole(self.engine, document_id))
        return self.shingles[document_id]


async def _judge(search: _Search, reading: Reading, phrases: Iterable[str], namesakes: int) -> Verdict:
    queries = [(By.TITLE, type_plainly(reading.title)), *((By.PHRASE, phrase) for phrase in phrases)]
    attempts = [await _attempt(search, reading.document_id, by, query) for by, query in queries if query]
    misses: list[Miss] = []
    likenesses: dict[int, float] = {}
    for attempt in attempts:
        if not attempt.is_found:
            answer = await search.ask(attempt.query, top=FAR)
            misses.append(await _look_closer(search, attempt, document_ids_of(answer)))
            likenesses |= await _compare(search, cut_shingles(reading.texts), answer["results"][:DEPTH])
    reasons = diagnose(reading, misses, namesakes, likenesses)
    return Verdict(reading.document, tuple(attempts), tuple(misses), tuple(reasons))


async def _attempt(search: _Search, document_id: int, by: By, query: str) -> Attempt:
    answer = await search.ask(query)
    return Attempt(by, query, document_id, tuple(Hit(hit["document_id"], hit["title"]) for hit in answer["results"]))


async def _look_closer(search: _Search, attempt: Attempt, far: list[int]) -> Miss:
    document_id, query = attempt.document_id, attempt.query
    place = far.index(document_id) + 1 if document_id in far else None
    by_words = await search.find(document_id, query, "fts")
    # Without a model there is nobody to ask for the meaning.
    by_meaning = not search.is_degraded and await search.find(document_id, query, "vector")
    return Miss(attempt, place, by_words, by_meaning)


async def _compare(search: _Search, own: Shingles, hits: Iterable[Json]) -> dict[int, float]:
    """How much of the document each of the others holds, of those whose hit looks like a part of it."""
    return {
        hit["document_id"]: share_within(own, await search.cut(hit["document_id"]))
        for hit in hits
        if share_within(cut_shingles([hit["text"]]), own) >= _LEAST_LIKENESS
    }
