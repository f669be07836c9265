"""From a document's text to searchable chunks: split, put in context, embed, mix with the neighbours."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from kb.engine.ingestion.chunking import split_into_passages
from kb.engine.ingestion.sections import Section
from kb.engine.model import IndexedChunk, IndexedText, Passage, Vector, Vectors
from kb.engine.ports import Embedder

# Measured: longer ones are read in vain, shorter ones cut answers in two (docs/decisions/0021-how-long-a-chunk-is.md).
CHUNK_TOKENS = 160
# The model sees title and heading in front of each chunk's text; this much of its window is theirs.
CONTEXT_TOKENS = 60
# [CLS] and [SEP].
SPECIAL_TOKENS = 2
# What a chunk says often depends on the one before it, and goes on in the next: so much of their meaning it is given.
NEIGHBOUR_SHARE = 0.3
# Enough to sort by length, few enough to report progress and notice a cancellation about every second.
PASSAGES_PER_STEP = 32

OnStep = Callable[[int, int], None]
"""Told before each step how many chunks are embedded, and how many there are so far. What it raises ends the work."""


def ignore_steps(embedded: int, known: int) -> None:
    """For work that nobody watches and nobody can cancel."""


def chunk_tokens(embedder: Embedder) -> int:
    """How long a chunk may be; with its context it fits into the model's window."""
    model = embedder.model
    return min(CHUNK_TOKENS, model.window - model.prompt_tokens - SPECIAL_TOKENS - CONTEXT_TOKENS)


def index_text(
    parts: Iterable[Sequence[Section]], title: str, embedder: Embedder, on_step: OnStep = ignore_steps
) -> IndexedText:
    """Each part is embedded as soon as it is there, while the next may still be read."""
    passages: list[Passage] = []
    vectors: list[Vectors] = []
    embedded = 0

    def watched_spans(text: str) -> list[tuple[int, int]]:
        on_step(embedded, len(passages))
        return embedder.token_spans(text)

    def embed_step() -> None:
        nonlocal embedded
        on_step(embedded, len(passages))
        step = passages[embedded : embedded + PASSAGES_PER_STEP]
        vectors.append(embedder.embed_passages([in_context(passage, title, embedder) for passage in step]))
        embedded += len(step)

    for sections in parts:
        passages += split_into_passages(sections, watched_spans, max_tokens=chunk_tokens(embedder))
        while len(passages) - embedded >= PASSAGES_PER_STEP:
            embed_step()
    if embedded < len(passages):
        embed_step()
    mixed: Iterable[Vector] = mix_with_neighbours(np.concatenate(vectors)) if vectors else []
    chunks = [IndexedChunk(passage, vector) for passage, vector in zip(passages, mixed, strict=True)]
    return IndexedText(chunks, embedder.model.fingerprint)


def mix_with_neighbours(vectors: Vectors) -> Vectors:
    """The vectors of a document's chunks, each turned a little towards the one before and the one after."""
    mixed = vectors.copy()
    mixed[1:] += NEIGHBOUR_SHARE * vectors[:-1]
    mixed[:-1] += NEIGHBOUR_SHARE * vectors[1:]
    # Never 0: of a vector of length 1, two neighbours can take .6 at most.
    return np.asarray(mixed / np.linalg.norm(mixed, axis=1, keepdims=True), np.float32)


def in_context(passage: Passage, title: str, embedder: Embedder) -> str:
    """The chunk with what a reader of the whole document would know: its title and heading."""
    # A title is often the first heading, or a note's own first line: saying it twice tells nothing new.
    lines = [line for line in dict.fromkeys((title, passage.heading)) if line and not _begins_with(passage.text, line)]
    if not lines:
        return passage.text
    context = "\n".join(lines)
    # To some models the end of a line is a token, too.
    room = CONTEXT_TOKENS - len(embedder.token_spans("\n"))
    spans = embedder.token_spans(context)
    if len(spans) > room:
        context = context[: spans[room - 1][1]]
    return f"{context}\n{passage.text}"


def _begins_with(text: str, line: str) -> bool:
    """Whether the text begins with this title or heading, marks in front and a cut at its end aside."""
    return text.lstrip("#>*- \t\n").startswith(line.removesuffix("…"))
