"""The chunks of a document: written together, with their words and vectors."""

import uuid

import numpy as np

from kb.engine.model import DocumentId, IndexedText
from kb.engine.model.portable import PortableChunk
from kb.engine.storage.tables.connection import Connection
from kb.engine.words import space_out


def insert_chunks(db: Connection, document_id: DocumentId, text: IndexedText) -> None:
    passages = [chunk.passage for chunk in text.chunks]
    chunks = [PortableChunk(uuid.uuid4(), passage.text, passage.heading, passage.page_num) for passage in passages]
    vectors = np.stack([chunk.vector for chunk in text.chunks]) if chunks else None
    db.insert_chunks(document_id, chunks, vectors, model=text.model_fingerprint)
    db.execute(
        "UPDATE documents SET chunk_count = ?, vector_model = ? WHERE id = ?",
        (len(chunks), text.model_fingerprint, document_id),
    )


def spaced_or_none(text: str | None) -> str | None:
    """The text as it must be indexed, or None where that is the text itself: most text is stored once."""
    if text is None:
        return None
    spaced = space_out(text)
    return None if spaced == text else spaced
