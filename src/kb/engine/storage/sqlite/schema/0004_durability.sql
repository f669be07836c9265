-- Revisions of notes, checksums, the audit log, events, jobs that go through all documents. The model that made a
-- document's vectors now stands with the document, since it is the same for all its chunks.
--
-- checksum(...) is a function of kb: the CRC-32 of all its arguments.

-- documents gets its new columns before note_text, which is long: whatever stands behind it is slow to read.
CREATE TABLE new_documents (
    id                INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid              BLOB    NOT NULL UNIQUE,
    doc_type          TEXT    NOT NULL,
    format            TEXT    NOT NULL,
    title             TEXT    NOT NULL,
    search_title      TEXT,                       -- the title as it is indexed, where that differs
    title_is_given    INTEGER NOT NULL,
    filename          TEXT    NOT NULL,
    source_path       TEXT,
    size_bytes        INTEGER NOT NULL,
    content_hash      TEXT    NOT NULL,
    original          TEXT,                       -- names a file in originals/; NULL for a note
    metadata          TEXT    NOT NULL DEFAULT '{}',
    processing_method TEXT    NOT NULL,
    chunk_count       INTEGER NOT NULL,
    version           INTEGER NOT NULL DEFAULT 1,
    created_at        TEXT    NOT NULL,
    updated_at        TEXT,
    vector_model      TEXT    NOT NULL DEFAULT '',-- the model that made its vectors; '' if it has none yet
    checksum          INTEGER NOT NULL DEFAULT 0, -- of the columns above, kept by triggers
    note_text         TEXT                        -- the whole text of a note; NULL for a file. Last, since it is long
);
INSERT INTO new_documents
SELECT id, uuid, doc_type, format, title, search_title, title_is_given, filename, source_path, size_bytes,
       content_hash, original, metadata, processing_method, chunk_count, version, created_at, updated_at,
       COALESCE((SELECT model FROM embeddings WHERE chunk_id = (SELECT min(id) FROM chunks WHERE document_id = documents.id)), ''),
       0, note_text
FROM documents;
-- No id is ever given twice, also not one whose document is gone.
DELETE FROM sqlite_sequence WHERE name = 'new_documents';
INSERT INTO sqlite_sequence SELECT 'new_documents', seq FROM sqlite_sequence WHERE name = 'documents';
DROP TRIGGER chunk_is_added;
DROP TRIGGER chunk_is_deleted;
DROP VIEW searchable_chunks;
DROP TABLE documents;
ALTER TABLE new_documents RENAME TO documents;
CREATE INDEX documents_by_recency ON documents (COALESCE(updated_at, created_at), id);
CREATE INDEX documents_by_source_path ON documents (source_path) WHERE source_path IS NOT NULL;
CREATE INDEX documents_by_content ON documents (content_hash);
CREATE INDEX documents_by_original ON documents (original) WHERE original IS NOT NULL;
CREATE INDEX documents_by_vector_model ON documents (vector_model, chunk_count);
CREATE INDEX documents_by_type ON documents (doc_type, size_bytes);

ALTER TABLE chunks ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
UPDATE chunks SET checksum = checksum(uuid, document_id, ordinal, text, heading, page_num);

CREATE VIEW searchable_chunks AS
SELECT chunks.id AS id,
       COALESCE(documents.search_title, documents.title) AS title,
       COALESCE(chunks.search_heading, chunks.heading) AS heading,
       COALESCE(chunks.search_text, chunks.text) AS body
FROM chunks
JOIN documents ON documents.id = chunks.document_id;

CREATE TRIGGER chunk_is_added AFTER INSERT ON chunks BEGIN
    INSERT INTO chunks_fts (rowid, title, heading, body)
    SELECT id, title, heading, body FROM searchable_chunks WHERE id = new.id;
END;

CREATE TRIGGER chunk_is_deleted BEFORE DELETE ON chunks BEGIN
    INSERT INTO chunks_fts (chunks_fts, rowid, title, heading, body)
    SELECT 'delete', id, title, heading, body FROM searchable_chunks WHERE id = old.id;
END;

CREATE TRIGGER title_will_change BEFORE UPDATE OF title, search_title ON documents BEGIN
    INSERT INTO chunks_fts (chunks_fts, rowid, title, heading, body)
    SELECT 'delete', s.id, s.title, s.heading, s.body
    FROM chunks JOIN searchable_chunks AS s ON s.id = chunks.id WHERE chunks.document_id = old.id;
END;

CREATE TRIGGER title_has_changed AFTER UPDATE OF title, search_title ON documents BEGIN
    INSERT INTO chunks_fts (rowid, title, heading, body)
    SELECT s.id, s.title, s.heading, s.body
    FROM chunks JOIN searchable_chunks AS s ON s.id = chunks.id WHERE chunks.document_id = new.id;
END;

CREATE VIEW document_checksums AS
SELECT id, checksum AS kept,
       checksum(id, uuid, doc_type, format, title, title_is_given, filename, source_path, size_bytes, content_hash,
                original, metadata, processing_method, chunk_count, version, created_at, updated_at, vector_model)
       AS computed
FROM documents;

CREATE TRIGGER document_is_added AFTER INSERT ON documents BEGIN
    UPDATE documents SET checksum = (SELECT computed FROM document_checksums WHERE id = new.id) WHERE id = new.id;
END;

CREATE TRIGGER document_has_changed AFTER UPDATE OF
    uuid, doc_type, format, title, title_is_given, filename, source_path, size_bytes, content_hash, original,
    metadata, processing_method, chunk_count, version, created_at, updated_at, vector_model
ON documents BEGIN
    UPDATE documents SET checksum = (SELECT computed FROM document_checksums WHERE id = new.id) WHERE id = new.id;
END;

UPDATE documents SET checksum = (SELECT computed FROM document_checksums AS c WHERE c.id = documents.id);

-- Vectors are little-endian float32, the layout sqlite-vec reads too.
CREATE TABLE new_embeddings (
    chunk_id INTEGER PRIMARY KEY REFERENCES chunks (id) ON DELETE CASCADE,
    vector   BLOB    NOT NULL,
    checksum INTEGER NOT NULL
);
INSERT INTO new_embeddings SELECT chunk_id, vector, checksum(chunk_id, vector) FROM embeddings ORDER BY chunk_id;
DROP TABLE embeddings;
ALTER TABLE new_embeddings RENAME TO embeddings;

-- The text of the newest revision is the note's own, and is NULL here until another takes its place.
CREATE TABLE note_revisions (
    document_id    INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    version        INTEGER NOT NULL,              -- the version of the document that began with this revision
    title          TEXT    NOT NULL,
    title_is_given INTEGER NOT NULL,
    content_hash   TEXT    NOT NULL,
    created_at     TEXT    NOT NULL,
    checksum       INTEGER NOT NULL DEFAULT 0,    -- of the columns above, kept by a trigger; content_hash is that of the text
    text           TEXT,
    PRIMARY KEY (document_id, version)
);

CREATE TRIGGER revision_is_added AFTER INSERT ON note_revisions BEGIN
    UPDATE note_revisions
    SET checksum = checksum(document_id, version, title, title_is_given, content_hash, created_at)
    WHERE document_id = new.document_id AND version = new.version;
END;

INSERT INTO note_revisions (document_id, version, title, title_is_given, content_hash, created_at)
SELECT id, version, title, title_is_given, content_hash, COALESCE(updated_at, created_at)
FROM documents WHERE note_text IS NOT NULL;

-- Who changed what. It holds no text of any document: what is deleted is gone from here too.
CREATE TABLE audit_log (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    at          TEXT NOT NULL,
    key_name    TEXT NOT NULL,
    request_id  TEXT,
    action      TEXT NOT NULL,
    document_id INTEGER,
    job_id      INTEGER
);
CREATE INDEX audit_log_by_time ON audit_log (at);
CREATE INDEX audit_log_by_document ON audit_log (document_id) WHERE document_id IS NOT NULL;

-- What those who watch are told. Only the newest rows are kept.
CREATE TABLE events (
    seq           INTEGER PRIMARY KEY AUTOINCREMENT,
    kind          TEXT NOT NULL,
    document_id   INTEGER,
    document_uuid BLOB,
    job_id        INTEGER
);

ALTER TABLE jobs ADD COLUMN cursor INTEGER NOT NULL DEFAULT 0;          -- the last document that is done
CREATE INDEX jobs_waiting ON jobs (status, priority) WHERE status = 'queued';
CREATE INDEX jobs_by_end ON jobs (finished_at) WHERE finished_at IS NOT NULL;
ALTER TABLE jobs ADD COLUMN submitted_by TEXT NOT NULL DEFAULT '';      -- the name of the key
