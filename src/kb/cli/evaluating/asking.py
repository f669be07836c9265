"""A user's own questions, searched in every mode and compared with the documents that were expected."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

import httpx

from kb.cli.calling import failure_of
from kb.cli.evaluating.in_turn import for_each
from kb.cli.evaluating.measures import all_alike, ndcg, recall, reciprocal_rank
from kb.cli.evaluating.questions import BadQuestions, Question
from kb.client import EngineClient, Json, read_all

MODES = ("hybrid", "fts", "vector")
MEASURES = {"ndcg": ndcg, "recall": recall, "mrr": reciprocal_rank}
# What a person looks at; what is below counts as not found.
DEPTH = 10
# How far down to look for what was missed: told, not counted.
FAR = 100
NOTHING = -1
_ID = re.compile(r"[0-9]{1,18}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


@dataclass(frozen=True)
class Target:
    """What was expected. Where a name fits several documents any of them will do; where it fits none, nothing will."""

    name: str
    document_ids: frozenset[int]


@dataclass(frozen=True)
class Outcome:
    question: Question
    targets: tuple[Target, ...]
    answers: dict[str, Json]
    """What each mode found, at most `DEPTH`."""
    far: tuple[int, ...]
    """The documents of a longer answer, if something was missed."""

    def measure(self, mode: str) -> dict[str, float]:
        ranking = rank_targets(document_ids_of(self.answers[mode]), self.targets)
        expected = all_alike(range(len(self.targets)))
        return {name: measure(ranking, expected, DEPTH) for name, measure in MEASURES.items()}

    def missed(self) -> list[Target]:
        """What the usual search did not find."""
        found = rank_targets(document_ids_of(self.answers["hybrid"]), self.targets)
        return [target for number, target in enumerate(self.targets) if number not in found]

    def place_of(self, target: Target) -> int | None:
        places = (place for place, found in enumerate(self.far, start=1) if found in target.document_ids)
        return next(places, None)


def rank_targets(document_ids: Sequence[int], targets: Sequence[Target]) -> list[int]:
    """For each document the number of the target that it meets, or `NOTHING`; each target is met once."""
    ranking: list[int] = []
    for document_id in document_ids:
        met = (number for number, target in enumerate(targets) if document_id in target.document_ids)
        ranking.append(next((number for number in met if number not in ranking), NOTHING))
    return ranking


def document_ids_of(answer: Json) -> list[int]:
    return [hit["document_id"] for hit in answer["results"]]


def average(outcomes: Sequence[Outcome]) -> dict[str, dict[str, float]]:
    """Of each mode each measure, over all questions."""
    measured = {mode: [outcome.measure(mode) for outcome in outcomes] for mode in MODES}
    return {mode: {name: fmean(one[name] for one in each) for name in MEASURES} for mode, each in measured.items()}


async def evaluate_questions(
    engine: EngineClient, questions: Sequence[Question], on_progress: Callable[[str, int, int], None]
) -> list[Outcome]:
    """In the order of the questions. Raises `BadQuestions` for what the engine does not take for one."""
    names = dict.fromkeys(name for question in questions for name in question.expected)

    async def find(name: str) -> Target:
        return Target(name, await _find_documents(engine, name))

    async def ask(question: Question) -> Outcome:
        return await _ask(engine, question, [targets[name] for name in question.expected])

    targets = {target.name: target for target in await for_each(names, find)}
    return await for_each(questions, ask, lambda done, question: on_progress(question.query, done, len(questions)))


async def _ask(engine: EngineClient, question: Question, targets: Sequence[Target]) -> Outcome:
    async def search(mode: str, top: int) -> Json:
        return await engine.search(question.query, top=top, mode=mode, tags=question.tags, group_by="document")

    # Two names for the same document are one.
    distinct = tuple({target.document_ids or target.name: target for target in targets}.values())
    try:
        answers = {mode: await search(mode, DEPTH) for mode in MODES}
        outcome = Outcome(question, distinct, answers, ())
        if not any(target.document_ids for target in outcome.missed()):
            return outcome
        return Outcome(question, distinct, answers, tuple(document_ids_of(await search("hybrid", FAR))))
    except httpx.HTTPStatusError as error:
        if error.response.status_code != httpx.codes.UNPROCESSABLE_ENTITY:
            raise
        raise BadQuestions([(question.line, failure_of(error.response).sentence)]) from None


async def _find_documents(engine: EngineClient, name: str) -> frozenset[int]:
    if _ID.fullmatch(name):
        try:
            return frozenset([(await engine.get_document(name, chunks=False))["id"]])
        except httpx.HTTPStatusError as error:
            if error.response.status_code not in (404, 422):
                raise
    documents = read_all(engine.list_documents, "documents", q=name, sort="date_added")
    return frozenset([document["id"] async for document in documents if _is_named(document, name)])


def _is_named(document: Json, name: str) -> bool:
    """Of a path its end is enough: the same files lie elsewhere on another machine."""
    path = document["source_path"] or ""
    return name in (document["title"], document["filename"], path) or path.endswith(f"/{name}")
