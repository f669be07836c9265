"""From a document's text to searchable chunks: split, put in context, embed."""

from collections.abc import Callable, Sequence
from itertools import chain

from kb.engine.ingestion.chunking import split_into_passages
from kb.engine.model import IndexedChunk, IndexedText, Passage, Progress, Section, Vectors
from kb.engine.ports import Embedder

# The model sees title and heading in front of each chunk's text; this much of its window is theirs.
CONTEXT_TOKENS = 60
# [CLS] and [SEP].
SPECIAL_TOKENS = 2
# Enough to sort by length, few enough to report progress and notice a cancellation about every second.
PASSAGES_PER_STEP = 32

Report = Callable[[Progress], None]
"""Told of each step; raises `ClaimLost` when the job is no longer ours."""


def ignore_progress(progress: Progress) -> None:
    """For work that nobody watches and nobody can cancel."""


def chunk_tokens(embedder: Embedder) -> int:
    """How long a chunk may be: with its context it just fits into the model's window."""
    return embedder.model.window - SPECIAL_TOKENS - CONTEXT_TOKENS


def index_text(
    sections: Sequence[Section], title: str, embedder: Embedder, report: Report = ignore_progress
) -> IndexedText:
    def watched_spans(text: str) -> list[tuple[int, int]]:
        report(Progress("Splitting into chunks", 0, 2, "Splitting the text into chunks"))
        return embedder.token_spans(text)

    passages = split_into_passages(sections, watched_spans, max_tokens=chunk_tokens(embedder))
    total = len(passages)
    vectors: list[Vectors] = []
    for start in range(0, total, PASSAGES_PER_STEP):
        message = f"Embedding chunk {start + 1} of {total}"
        report(Progress("Generating embeddings", 1 + start, 2 + total, message))
        step = passages[start : start + PASSAGES_PER_STEP]
        vectors.append(embedder.embed_passages([_in_context(p, title, embedder) for p in step]))
    chunks = [IndexedChunk(p, vector) for p, vector in zip(passages, chain.from_iterable(vectors), strict=True)]
    return IndexedText(chunks, embedder.model.fingerprint)


def _in_context(passage: Passage, title: str, embedder: Embedder) -> str:
    """The chunk with what a reader of the whole document would know: its title and heading."""
    # A title is often the first heading, or a note's own first line: saying it twice tells nothing new.
    lines = [line for line in dict.fromkeys((title, passage.heading)) if line and not _begins_with(passage.text, line)]
    if not lines:
        return passage.text
    context = "\n".join(lines)
    spans = embedder.token_spans(context)
    if len(spans) > CONTEXT_TOKENS:
        context = context[: spans[CONTEXT_TOKENS - 1][1]]
    return f"{context}\n{passage.text}"


def _begins_with(text: str, line: str) -> bool:
    """Whether the text begins with this title or heading, marks in front and a cut at its end aside."""
    return text.lstrip("#>*- \t\n").startswith(line.removesuffix("…"))
