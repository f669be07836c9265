"""Measure how long a chunk should be, on long texts of which the exact places of the answers are known.

    python -m evaluation.chunks DATA [TOKENS ...]

For each length the texts of the set `chunkeval` are cut by the engine's own chunker and searched. Two questions are
asked of the hits. Does one of the first five or ten hold the whole answer? Longer chunks do so more often. And how
much of the answer has somebody seen who read so many tokens of the hits, best first? That is the fair
comparison, since a longer chunk also takes longer to read.
"""

import argparse
import re
import tempfile
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from evaluation.bases import add_note
from evaluation.cached_embedder import open_cached_embedder
from evaluation.sets import QUERIES, read_lines, read_rows
from kb.engine.ingestion.chunking import split_into_passages
from kb.engine.ingestion.indexing import in_context, mix_with_neighbours
from kb.engine.ingestion.sections import Section
from kb.engine.model import DocumentId, IndexedChunk, IndexedText, NoteSubmission
from kb.engine.ports import Embedder, Store
from kb.engine.search.hybrid import SearchRequest, search
from kb.engine.storage import open_store

LENGTHS = (64, 96, 128, 160, 194, 230)
FIRST_HITS = (1, 5, 10)
READ_TOKENS = (250, 500, 1_000, 2_000)
# Enough of the shortest chunks for the longest reading.
DEPTH = 60

# The set's encyclopedia articles stand in one text, each headed " = Title = " and with parts headed " = = Part = = ".
ARTICLES = "wikitexts"
_HEADING = re.compile(r"^ ((?:= )+)(.*?)(?: =)+ $", re.MULTILINE)

Place = range
"""A stretch of text, by the numbers of its tokens; all texts are counted through, one after the other."""


@dataclass(frozen=True)
class LongText:
    title: str
    sections: list[Section]
    first: int
    """The number of its first token."""


@dataclass(frozen=True)
class Question:
    text: str
    answers: list[Place]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m evaluation.chunks", description="Measure lengths of chunks.")
    parser.add_argument("data", type=Path, help="the folder that holds a folder for each set")
    parser.add_argument("lengths", nargs="*", type=int, default=LENGTHS, help="tokens in a chunk", metavar="TOKENS")
    options = parser.parse_args()
    with open_cached_embedder() as embedder:
        texts, questions = load(options.data / "chunkeval", embedder)
        for max_tokens in options.lengths:
            print(render(max_tokens, measure(texts, questions, embedder, max_tokens)), flush=True)


def load(folder: Path, embedder: Embedder) -> tuple[list[LongText], list[Question]]:
    texts: list[LongText] = []
    token_starts: dict[str, list[int]] = {}
    firsts: dict[str, int] = {}
    total = 0

    def number(text_id: str, position: int) -> int:
        return firsts[text_id] + bisect_left(token_starts[text_id], position)

    for row in read_rows(folder, "docs.jsonl"):
        text_id, text = row["id"], row["text"]
        token_starts[text_id] = [start for start, _ in embedder.token_spans(text)]
        firsts[text_id] = total
        total += len(token_starts[text_id])
        for start, title, sections in _articles(text) if text_id == ARTICLES else [(0, text_id, [Section(text)])]:
            texts.append(LongText(title, sections, number(text_id, start)))
    answers: dict[str, list[Place]] = {}
    _, *spans = read_lines(folder, "spans.tsv")
    for line in spans:
        question_id, text_id, *ends = line.split("\t")
        first, beyond = (number(text_id, int(end)) for end in ends)
        answers.setdefault(question_id, []).append(range(first, beyond))
    return texts, [Question(row["text"], answers[row["id"]]) for row in read_rows(folder, QUERIES)]


def _articles(text: str) -> Iterator[tuple[int, str, list[Section]]]:
    """Where each begins, its title and its sections."""
    headings = [(match.start(), match[1].count("="), match[2]) for match in _HEADING.finditer(text)]
    ends = [start for start, _, _ in headings[1:]] + [len(text)]
    path: list[tuple[int, str]] = []
    article: tuple[int, str, list[Section]] | None = None
    for (start, level, name), end in zip(headings, ends, strict=True):
        path = [*(above for above in path if above[0] < level), (level, name)]
        if article is None or level == 1:
            if article is not None:
                yield article
            article = (start, name, [])
        article[2].append(Section(text[start:end], " > ".join(title for _, title in path)))
    if article is not None:
        yield article


def measure(
    texts: Sequence[LongText], questions: Sequence[Question], embedder: Embedder, max_tokens: int
) -> dict[str, float]:
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(open_store(Path(folder), model_fingerprint=embedder.model.fingerprint)) as store,
    ):
        places = dict(_add(store, embedder, text, max_tokens) for text in texts)
        answered = []
        for question in questions:
            hits = search(store, embedder, SearchRequest(question.text, top=DEPTH)).hits
            answered.append(([places[hit.document.id][hit.chunk.ordinal] for hit in hits], question.answers))
    return {
        "chunks": sum(map(len, places.values())),
        **{f"whole@{first}": fmean(_share_held(h[:first], answers) for h, answers in answered) for first in FIRST_HITS},
        **{
            f"read {tokens}": fmean(_share_read(h, answers, tokens) for h, answers in answered)
            for tokens in READ_TOKENS
        },
    }


def _add(store: Store, embedder: Embedder, text: LongText, max_tokens: int) -> tuple[DocumentId, list[Place]]:
    passages = split_into_passages(text.sections, embedder.token_spans, max_tokens=max_tokens)
    embedded = embedder.embed_passages([in_context(passage, text.title, embedder) for passage in passages])
    vectors = mix_with_neighbours(embedded)
    chunks = [IndexedChunk(passage, vector) for passage, vector in zip(passages, vectors, strict=True)]
    places, first = [], text.first
    for passage in passages:
        # The chunker drops nothing but blanks, and those are in no token.
        beyond = first + len(embedder.token_spans(passage.text))
        places.append(range(first, beyond))
        first = beyond
    submission = NoteSubmission("\n\n".join(section.text for section in text.sections), text.title)
    return add_note(store, submission, IndexedText(chunks, embedder.model.fingerprint)), places


def _share_held(hits: Sequence[Place], answers: Sequence[Place]) -> float:
    """The share of the answers that stand in a single hit from beginning to end."""
    return fmean(any(hit.start <= a.start and a.stop <= hit.stop for hit in hits) for a in answers)


def _share_read(hits: Sequence[Place], answers: Sequence[Place], tokens: int) -> float:
    """The share of the answers' text that is among the first `tokens` tokens of the hits."""
    read: set[int] = set()
    for hit in hits:
        read.update(hit[: tokens - len(read)])
    wanted = {token for answer in answers for token in answer}
    return len(read & wanted) / len(wanted)


def render(max_tokens: int, figures: dict[str, float]) -> str:
    cells = (f"{name} {value:.0f}" if name == "chunks" else f"{name} {value:.3f}" for name, value in figures.items())
    return f"{max_tokens:>4} tokens: " + "  ".join(cells)


if __name__ == "__main__":
    main()
