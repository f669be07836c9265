"""kb without its server: the store and the search that its engine calls, given the queries' vectors."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import apsw
from tokenizers import Tokenizer

from bench.contest.contestant import CHUNKS_PER_DOCUMENT, TOP, Contestant, Document, Mode, Query
from kb.engine.embedding import read_model
from kb.engine.model import (
    EVERYWHERE,
    Chunk,
    Computing,
    DocumentId,
    EmbeddingModel,
    IndexedChunk,
    IndexedText,
    NoteContent,
    Passage,
    Scope,
    Vector,
    Vectors,
)
from kb.engine.model.hashes import hash_of
from kb.engine.model.portable import DocumentRecord, PortableChunk, PortableDocument
from kb.engine.models_on_disk import model_locations
from kb.engine.search import hybrid
from kb.engine.storage import open_store
from kb.settings import cache_dir

MODES: dict[Mode, hybrid.Mode] = {
    "keyword": hybrid.Mode.KEYWORD,
    "vector": hybrid.Mode.VECTOR,
    "hybrid": hybrid.Mode.HYBRID,
}
PERCENTAGES = (1, 10, 50)


class GivenEmbedder:
    """Knows the vector of the query that is asked next. Tokens are the model's: search asks for them too."""

    is_ready = True
    failure = None
    computing = Computing()

    def __init__(self, model_folder: Path) -> None:
        self._model = read_model(model_folder)
        self._tokenizer = Tokenizer.from_file(str(model_folder / "tokenizer.json"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self.vector: Vector | None = None

    @property
    def model(self) -> EmbeddingModel:
        return self._model

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        raise NotImplementedError("Passages come with their vectors.")

    def embed_query(self, text: str) -> Vector:
        assert self.vector is not None
        return self.vector

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        offsets: list[tuple[int, int]] = self._tokenizer.encode(text, add_special_tokens=False).offsets
        return offsets


class KbStore(Contestant):
    def __init__(self, folder: Path, dimension: int) -> None:
        self._embedder = GivenEmbedder(model_locations(cache_dir(), None)[0])
        self._fingerprint = self._embedder.model.fingerprint
        self._connections: list[apsw.Connection] = []
        apsw.connection_hooks.append(self._connections.append)
        self._store = open_store(folder, model_fingerprint=self._fingerprint)

    def fill(self, documents: Iterable[Document]) -> None:
        # A document is a transaction, and the disk takes longer to confirm it than it takes to make: that would be
        # hours for a large base, and costs no processor time.
        for connection in self._connections:
            connection.pragma("synchronous", "off")
        for document in documents:
            self.add(document)
        self.tune()

    def add(self, document: Document) -> None:
        self._store.add_portable(_to_portable(document, self._fingerprint), now=datetime.now(UTC))

    def tune(self) -> None:
        """As a worker does: at the second look it sees that the base has come to rest."""
        self._store.tune_search()
        self._store.tune_search()

    def search(self, query: Query) -> list[int]:
        self._embedder.vector = query.vector
        request = hybrid.SearchRequest(query.text, _to_scope(query), MODES[query.mode], top=TOP)
        hits = hybrid.search(self._store, self._embedder, request).hits
        return [_number(hit.document.id, hit.chunk) for hit in hits]

    def find_nearest(self, query: Query) -> list[int]:
        found = self._store.find_by_vector(query.vector, _to_scope(query), limit=hybrid.CANDIDATES)
        chunks = self._store.load_chunks(found.matches.chunk_ids[:TOP].tolist())
        return [_number(one.document.id, one.chunk) for one in chunks]

    def update(self, document: Document) -> None:
        text = "\n\n".join(document.texts)
        content = NoteContent(
            text=text,
            title=_entitle(document),
            title_is_given=True,
            filename=f"{document.number}.md",
            size_bytes=len(text.encode()),
            content_hash=hash_of(text.encode()),
        )
        passages = zip(document.texts, document.vectors, strict=True)
        self._store.replace_note(
            DocumentId(document.number + 1),
            content,
            IndexedText([IndexedChunk(Passage(chunk), vector) for chunk, vector in passages], self._fingerprint),
            expected_version=None,
            now=datetime.now(UTC),
        )

    def delete(self, number: int) -> None:
        self._store.delete_document(DocumentId(number + 1), expected_version=None, now=datetime.now(UTC))

    def close(self) -> None:
        self._store.close()


def _number(document_id: DocumentId, chunk: Chunk) -> int:
    return (document_id - 1) * CHUNKS_PER_DOCUMENT + chunk.ordinal


def _to_scope(query: Query) -> Scope:
    return EVERYWHERE if query.percent is None else Scope(tags=(f"below-{query.percent}",))


def _to_portable(document: Document, fingerprint: str) -> PortableDocument:
    text = "\n\n".join(document.texts)
    record = DocumentRecord(
        id=document.number + 1,
        uuid=UUID(int=document.number + 1),
        title=_entitle(document),
        title_is_given=True,
        doc_type="note",
        format="note",
        filename=f"{document.number}.md",
        source_path=None,
        size_bytes=len(text.encode()),
        content_hash=hash_of(text.encode()),
        original=None,
        tags=tuple(f"below-{percent}" for percent in PERCENTAGES if document.part < percent),
        metadata={},
        processing_method="text_extraction",
        version=1,
        created_at=datetime.now(UTC),
        updated_at=None,
        vector_model=fingerprint,
        note_text=text,
        revisions=(),
        chunks=tuple(
            PortableChunk(UUID(int=(1 << 64) + number), chunk, None, None)
            for number, chunk in zip(document.chunk_numbers, document.texts, strict=True)
        ),
    )
    return PortableDocument(record, document.vectors)


def _entitle(document: Document) -> str:
    return " ".join(document.texts[0].split()[:6])
