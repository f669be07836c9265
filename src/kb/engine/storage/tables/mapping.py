"""Where documents lie on the map, and what they are laid out by.

A document's first chunk marks its vectors: whatever changes them makes its chunks anew, and no id is given twice. So
nobody who writes documents has to think of the map; and a place is out of date when its mark is another.

What is read of a place is cast to a number: places have no checksums, and a damaged one may misplace one document.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import numpy as np

from kb.engine.model import DocumentId, Ids, Layout, Map, MappedDocument, Placement, Vector
from kb.engine.storage.tables.connection import Connection, Database
from kb.engine.storage.tables.documents import RECENCY
from kb.engine.storage.tables.journal import announce_map
from kb.engine.storage.tables.rows import TAGS_BYTES, count_fitting, damage_told, fetch_all, load_tags, to_datetime

# Four times what most bases need. Only one map is read at a time.
MAX_MAP_BYTES = 16 * 1024 * 1024


class MappingPart:
    """The part of the store that knows the map."""

    _database: Database
    _model_fingerprint: str

    def read_map(self, *, limit: int) -> Map:
        with self._database.read() as db:
            total: int = db.execute("SELECT count(*) FROM documents").get
            placed: int = db.execute("SELECT count(*) FROM document_places").get
            to_place: int = db.execute(
                "SELECT count(*) FROM documents WHERE vector_model = ? AND chunk_count > 0", (self._model_fingerprint,)
            ).get
            newest_first = (
                f"FROM documents {db.dialect.join_from_left} document_places ON document_id = documents.id "
                f"ORDER BY {RECENCY} DESC, id DESC LIMIT ?"
            )
            sizes = fetch_all(db, f"SELECT 250 + octet_length(title) + {TAGS_BYTES} {newest_first}", (limit,))
            rows = fetch_all(
                db,
                "SELECT id, uuid, title, doc_type, format, CAST(x AS DOUBLE PRECISION), CAST(y AS DOUBLE PRECISION), "
                f"chunk_count, created_at, updated_at {newest_first}",
                (count_fitting((size for (size,) in sizes), max_bytes=MAX_MAP_BYTES),),
            )
            tags = load_tags(db, [row[0] for row in rows])
        with damage_told():
            documents = [_to_mapped(row, tags.get(row[0], ())) for row in rows]
        return Map(documents, total, placed, is_whole=placed >= to_place)

    def read_layout(self) -> Layout:
        with self._database.read() as db:
            number = _newest_layout(db)
            rows = fetch_all(
                db,
                "SELECT documents.id, chunks.id, CAST(x AS DOUBLE PRECISION), CAST(y AS DOUBLE PRECISION), "
                "chunk_id = chunks.id AND layout = ?2, is_laid_out, chunk_count "
                "FROM documents JOIN chunks ON chunks.document_id = documents.id AND ordinal = 0 "
                "LEFT JOIN document_places ON document_places.document_id = documents.id "
                # Without the || '' SQLite would walk through all documents of the model, in another order.
                "WHERE vector_model || '' = ?1 ORDER BY documents.id",
                (self._model_fingerprint, number),
            )
        # Reading turns NULL into NaN.
        table = np.array(rows, np.float64).reshape(-1, 7)
        is_current = table[:, 4] == 1
        return Layout(
            number,
            document_ids=table[:, 0].astype(np.int64),
            marks=table[:, 1].astype(np.int64),
            chunk_counts=table[:, 6].astype(np.int64),
            places=table[:, 2:4].astype(np.float32),
            is_current=is_current,
            is_laid_out=is_current & (table[:, 5] == 1),
        )

    def load_document_vectors(self, document_ids: Ids) -> dict[DocumentId, Vector]:
        sums: dict[DocumentId, Vector] = {}
        with self._database.read() as db, damage_told():
            for document_id, vector in db.read_whole_vectors(document_ids.tolist(), model=self._model_fingerprint):
                sums[document_id] = sums[document_id] + vector if document_id in sums else vector
        return {document_id: _to_unit(total) for document_id, total in sums.items()}

    def place_documents(self, placement: Placement) -> None:
        rows = zip(placement.document_ids.tolist(), placement.marks.tolist(), *placement.places.T.tolist(), strict=True)
        with self._database.write() as db:
            db.lock("map")
            newest = _newest_layout(db)
            if newest + placement.is_laid_out != placement.layout:
                return
            told = (placement.layout, placement.is_laid_out)
            db.executemany(
                "INSERT INTO document_places (document_id, x, y, chunk_id, layout, is_laid_out) "
                "SELECT document_id, ?3, ?4, id, ?5, ?6 FROM chunks WHERE id = ?2 AND document_id = ?1 "
                "ON CONFLICT (document_id) DO UPDATE SET x = excluded.x, y = excluded.y, "
                "chunk_id = excluded.chunk_id, layout = excluded.layout, is_laid_out = excluded.is_laid_out",
                [(*row, *told) for row in rows],
            )
            announce_map(db)


def _to_unit(total: Vector) -> Vector:
    unit: Vector = (total / max(float(np.linalg.norm(total)), 1e-9)).astype(np.float32)
    return unit


def _newest_layout(db: Connection) -> int:
    number: int = db.execute("SELECT COALESCE(max(layout), 0) FROM document_places").get
    return number


def _to_mapped(row: Sequence[Any], tags: Iterable[str]) -> MappedDocument:
    return MappedDocument(
        id=DocumentId(row[0]),
        uuid=UUID(bytes=row[1]),
        title=row[2],
        doc_type=row[3],
        format=row[4],
        tags=tuple(tags),
        x=row[5],
        y=row[6],
        chunk_count=row[7],
        created_at=datetime.fromisoformat(row[8]),
        updated_at=to_datetime(row[9]),
    )
