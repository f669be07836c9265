"""A base of any size for benchmarks: real English, made-up vectors, written through the store itself.

The text is what the standard library says about itself, cut at ever other places. The vectors are random
around random topics: how long a search takes does not depend on what they mean.
"""

import ast
import random
import sysconfig
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

import numpy as np

from kb.engine.embedding import read_model
from kb.engine.model import IndexedChunk, IndexedText, Lane, NewDocument, NoteSubmission, Passage, Vectors
from kb.engine.model.hashes import hash_of
from kb.engine.models_on_disk import model_locations
from kb.engine.ports import Store
from kb.engine.storage import open_store
from kb.settings import cache_dir

WORDS_PER_CHUNK = 150
CHUNKS_PER_DOCUMENT = 10
TOPICS = 200
SEED = 1


def read_docstrings() -> Iterator[list[str]]:
    """What each module of the standard library says about itself, and about what is in it."""
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue
        nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef))
        yield [said for node in nodes if (said := ast.get_docstring(node))]


def read_english() -> list[str]:
    """The words of the standard library's docstrings, in their order."""
    return [word for module in read_docstrings() for said in module for word in said.split()]


def plain_words() -> list[str]:
    """Those of them that are nothing but letters."""
    return [word for word in read_english() if word.isalpha()]


def make_queries() -> Iterator[str]:
    """Three to twelve of those words that stand together, without end and always the same."""
    words = plain_words()
    chance = random.Random(2)  # noqa: S311 - no secret
    while True:
        start = chance.randrange(len(words) - 12)
        yield " ".join(words[start : start + chance.randint(3, 12)])


def make_chunks(count: int, words: list[str], chance: random.Random) -> Iterator[str]:
    for _ in range(count):
        start = chance.randrange(len(words) - WORDS_PER_CHUNK)
        yield " ".join(words[start : start + WORDS_PER_CHUNK])


def make_vectors(count: int, dimension: int) -> Vectors:
    chance = np.random.default_rng(SEED)
    topics = chance.normal(size=(TOPICS, dimension))
    vectors = topics[chance.integers(TOPICS, size=count)] + chance.normal(size=(count, dimension))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors.astype(np.float32)


def fill_base(data_dir: Path, chunk_count: int, *, chunks_per_document: int = CHUNKS_PER_DOCUMENT) -> None:
    """For the bundled model, whose vectors they could be."""
    model = read_model(model_locations(cache_dir(), None)[0])
    texts = make_chunks(chunk_count, read_english(), random.Random(SEED))  # noqa: S311 - no secret
    vectors = iter(make_vectors(chunk_count, model.dimension))
    store = open_store(data_dir, model_fingerprint=model.fingerprint)
    number = 0
    while chunks := list(islice(texts, chunks_per_document)):
        number += 1
        indexed = [IndexedChunk(Passage(text), next(vectors)) for text in chunks]
        _add(store, number, IndexedText(indexed, model.fingerprint))
    store.close()


def _add(store: Store, number: int, text: IndexedText) -> None:
    now = datetime.now(UTC)
    title = " ".join(text.chunks[0].passage.text.split()[:6])
    note = f"{number} {title}"
    store.add_job(NoteSubmission(text=title), idempotency_key=None, max_queued=1, now=now)
    claim = store.claim_job(Lane.INTERACTIVE, now=now, lease_until=now + timedelta(minutes=1))
    assert claim is not None
    document = NewDocument(
        doc_type="note",
        format="note",
        title=title,
        title_is_given=True,
        filename=f"{number}.md",
        source_path=None,
        size_bytes=len(note.encode()),
        content_hash=hash_of(note.encode()),
        original=None,
        note_text=note,
        tags=("all", f"group-{number % 100}"),
        metadata={},
        processing_method="text_extraction",
    )
    store.commit_document(claim, document, text, now=now)
