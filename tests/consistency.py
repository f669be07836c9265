"""Whether a base is whole, asked of its files."""

import hashlib
from contextlib import closing
from pathlib import Path

import apsw

from kb.engine.storage.sqlite.integrity import check_base

# Each finds what must not be there.
HALVES = {
    "documents whose chunks or vectors are not all there": (
        "SELECT id FROM documents WHERE chunk_count = 0 OR vector_model = '' "
        "OR chunk_count != (SELECT count(*) FROM chunks WHERE document_id = documents.id) "
        "OR chunk_count != (SELECT count(*) FROM chunks JOIN embeddings ON chunk_id = chunks.id "
        "WHERE document_id = documents.id)"
    ),
    "chunks without a document": "SELECT id FROM chunks WHERE document_id NOT IN (SELECT id FROM documents)",
    "vectors without a chunk": "SELECT chunk_id FROM embeddings WHERE chunk_id NOT IN (SELECT id FROM chunks)",
    "notes without a newest revision": (
        "SELECT id FROM documents WHERE note_text IS NOT NULL "
        "AND 1 != (SELECT count(*) FROM note_revisions WHERE document_id = documents.id AND text IS NULL)"
    ),
}


def assert_base_is_consistent(path: Path) -> None:
    """Rows, words and vectors tell the same story: by kb's own check, and by one that shares nothing with it."""
    assert check_base(path) == []
    with closing(apsw.Connection(str(path))) as db:
        assert db.pragma("integrity_check") == "ok"
        db.execute("INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('integrity-check', 1)")
        for what, query in HALVES.items():
            assert db.execute(query).fetchall() == [], what


def assert_originals_are_those_in_use(data_dir: Path) -> None:
    """None is missing, none is damaged, and none is left over. Only for after a clean start."""
    with closing(apsw.Connection(str(data_dir / "kb.sqlite"))) as db:
        rows = db.execute("SELECT original FROM documents UNION SELECT original FROM jobs")
        in_use = {row[0] for row in rows if row[0] is not None}
    kept = list((data_dir / "originals").glob("[0-9a-f][0-9a-f]/*"))
    assert {path.name for path in kept} == in_use
    assert all(hashlib.sha256(path.read_bytes()).hexdigest() == path.name for path in kept)
    assert list((data_dir / "originals" / "incoming").iterdir()) == []
