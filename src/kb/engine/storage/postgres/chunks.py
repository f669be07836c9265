"""The chunks of a document in PostgreSQL, with their words and vectors: written together, deleted together."""

from collections import Counter
from collections.abc import Iterable, Sequence

from kb.engine.model import DocumentId, Vectors
from kb.engine.model.portable import PortableChunk
from kb.engine.storage.postgres.terms import ChunkTerms, find_chunk_terms, find_known_terms, to_token
from kb.engine.storage.postgres.values import VectorValue, to_array
from kb.engine.storage.tables.connection import Connection, Executor
from kb.engine.storage.tables.rows import fetch_all
from kb.engine.words import space_out

# What `word_counts` counts besides terms and pairs, of which none looks like these. (A lone accent is a term: "".)
CHUNKS = "  "
TERMS = " "

WORD_COUNTS = "the counts of words"
"""To be locked by who changes those of others."""


def insert_chunks(
    db: Connection,
    document_id: DocumentId,
    chunks: Sequence[PortableChunk],
    vectors: Vectors | None,
    *,
    model: str,
) -> None:
    if not chunks:
        return
    ids = [
        row[0]
        for row in fetch_all(
            db,
            "SELECT nextval(pg_get_serial_sequence('chunks', 'id')) FROM generate_series(1, ?)",
            (len(chunks),),
        )
    ]
    db.executemany(
        "INSERT INTO chunks (id, uuid, document_id, ordinal, text, heading, page_num) VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (chunk_id, chunk.uuid.bytes, document_id, ordinal, chunk.text, chunk.heading, chunk.page_num)
            for ordinal, (chunk_id, chunk) in enumerate(zip(ids, chunks, strict=True))
        ],
    )
    _insert_words(
        db,
        document_id,
        [
            (chunk_id, ordinal, chunk.heading, chunk.text)
            for ordinal, (chunk_id, chunk) in enumerate(zip(ids, chunks, strict=True))
        ],
    )
    if vectors is not None:
        db.executemany(
            "INSERT INTO embeddings (chunk_id, document_id, ordinal, model, vector) VALUES (?, ?, ?, ?, ?)",
            [
                (chunk_id, document_id, ordinal, model, VectorValue.of(vectors[ordinal]))
                for ordinal, chunk_id in enumerate(ids)
            ],
        )


def delete_chunks(db: Connection, document_id: DocumentId) -> None:
    _delete_words(db, document_id, read_title_terms(db, document_id))
    db.execute("DELETE FROM chunks WHERE document_id = ?", (document_id,))


def index_title(db: Connection, document_id: DocumentId, *, former: str) -> None:
    """Give the chunks of a document the words of its new title in place of those of its former one."""
    _delete_words(db, document_id, find_known_terms(space_out(former)))
    texts = fetch_all(db, "SELECT id, ordinal, heading, text FROM chunks WHERE document_id = ?", (document_id,))
    _insert_words(db, document_id, texts)


def index_all_words(db: Connection) -> None:
    # What is being summed up would come back after it was deleted.
    db.lock(WORD_COUNTS)
    db.execute("LOCK TABLE chunks IN SHARE MODE")
    db.execute("DELETE FROM chunk_words")
    db.execute("DELETE FROM word_counts")
    for (document_id,) in fetch_all(db, "SELECT id FROM documents WHERE chunk_count > 0 ORDER BY id"):
        texts = fetch_all(db, "SELECT id, ordinal, heading, text FROM chunks WHERE document_id = ?", (document_id,))
        _insert_words(db, document_id, texts)


def read_title_terms(db: Executor, document_id: DocumentId) -> list[str]:
    title = db.execute("SELECT COALESCE(search_title, title) FROM documents WHERE id = ?", (document_id,)).get
    return find_known_terms(title)


def _insert_words(db: Connection, document_id: DocumentId, texts: Sequence[tuple[int, int, str | None, str]]) -> None:
    title = read_title_terms(db, document_id)
    rows = [(chunk_id, ordinal, find_chunk_terms(title, heading, text)) for chunk_id, ordinal, heading, text in texts]
    db.executemany(
        "INSERT INTO chunk_words (chunk_id, document_id, ordinal, title_length, heading_length, tokens, pairs) "
        "VALUES (?, ?, ?, ?, ?, ?::bigint[], NULLIF(?, '{}')::bigint[])",
        [
            (
                chunk_id,
                document_id,
                ordinal,
                len(terms.title),
                len(terms.heading),
                to_array(map(to_token, terms.all)),
                to_array(map(to_token, terms.pairs)),
            )
            for chunk_id, ordinal, terms in rows
        ],
    )
    _count(db, (terms for _, _, terms in rows), sign=1)


def _delete_words(db: Connection, document_id: DocumentId, title: list[str]) -> None:
    """What is kept of words are numbers, so to be counted out they are found in the text again."""
    texts = fetch_all(db, "SELECT heading, text FROM chunks WHERE document_id = ? ORDER BY ordinal", (document_id,))
    _count(db, (find_chunk_terms(title, heading, text) for heading, text in texts), sign=-1)
    db.execute("DELETE FROM chunk_words WHERE document_id = ?", (document_id,))


def _count(db: Executor, chunks: Iterable[ChunkTerms], *, sign: int) -> None:
    counts: Counter[str] = Counter()
    for terms in chunks:
        counts.update({*terms.all, *terms.pairs})
        counts[CHUNKS] += 1
        counts[TERMS] += len(terms.all)
    # Thousands of values are sent far sooner as one text; no term has a line break.
    db.execute(
        "INSERT INTO word_counts SELECT * FROM unnest(string_to_array(?, chr(10)), ?::bigint[])",
        ("\n".join(counts), to_array(sign * count for count in counts.values())),
    )
