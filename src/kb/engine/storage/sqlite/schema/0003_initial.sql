-- The schema of kb 3.0. Numbers begin at 3 because 2 is the schema of kb v2.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- AUTOINCREMENT: an id that was once given away is never given to another row.
CREATE TABLE documents (
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
    note_text         TEXT                        -- the whole text of a note; NULL for a file. Last, since it is long
);
CREATE INDEX documents_by_recency ON documents (COALESCE(updated_at, created_at), id);
CREATE INDEX documents_by_source_path ON documents (source_path) WHERE source_path IS NOT NULL;
CREATE INDEX documents_by_content ON documents (content_hash);
CREATE INDEX documents_by_original ON documents (original) WHERE original IS NOT NULL;

-- No ON DELETE CASCADE: the trigger that empties the full-text index needs the document's title, so
-- chunks must go first, and forgetting that should fail rather than leave words behind.
CREATE TABLE chunks (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid           BLOB    NOT NULL,
    document_id    INTEGER NOT NULL REFERENCES documents (id),
    ordinal        INTEGER NOT NULL,
    text           TEXT    NOT NULL,
    search_text    TEXT,                          -- the text as it is indexed, where that differs
    heading        TEXT,
    search_heading TEXT,
    page_num       INTEGER,
    UNIQUE (document_id, ordinal)
);

CREATE VIEW searchable_chunks AS
SELECT chunks.id AS id,
       COALESCE(documents.search_title, documents.title) AS title,
       COALESCE(chunks.search_heading, chunks.heading) AS heading,
       COALESCE(chunks.search_text, chunks.text) AS body
FROM chunks
JOIN documents ON documents.id = chunks.document_id;

-- M* keeps the vowel signs of Indic scripts inside their words. detail=full (the default) because bm25
-- would otherwise read every row again. secure-delete takes the words of deleted text out of the index.
CREATE VIRTUAL TABLE chunks_fts USING fts5 (
    title, heading, body,
    content = 'searchable_chunks', content_rowid = 'id',
    tokenize = "porter unicode61 remove_diacritics 2 categories 'L* N* Co M*'"
);
INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('secure-delete', 1);
CREATE VIRTUAL TABLE chunks_vocabulary USING fts5vocab (chunks_fts, row);
CREATE VIRTUAL TABLE chunks_instances USING fts5vocab (chunks_fts, instance);

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

-- Vectors are little-endian float32, the layout sqlite-vec reads too.
CREATE TABLE embeddings (
    chunk_id INTEGER PRIMARY KEY REFERENCES chunks (id) ON DELETE CASCADE,
    vector   BLOB NOT NULL,
    model    TEXT NOT NULL
);
CREATE INDEX embeddings_by_model ON embeddings (model);

-- Each row says: the chunks of this document (NULL: of every document) are no longer what an index in memory
-- believes. Only the newest rows are kept; an index that has missed more than those is built anew.
CREATE TABLE index_log (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    document_id INTEGER
);

CREATE TABLE tags (
    id   INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE
);

CREATE TABLE document_tags (
    document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    tag_id      INTEGER NOT NULL REFERENCES tags (id),
    position    INTEGER NOT NULL,                 -- tags are shown in the order they were added
    PRIMARY KEY (document_id, tag_id)
) WITHOUT ROWID;
CREATE INDEX document_tags_by_tag ON document_tags (tag_id, document_id);

CREATE TABLE jobs (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid            BLOB    NOT NULL UNIQUE,
    kind            TEXT    NOT NULL,
    status          TEXT    NOT NULL,
    priority        INTEGER NOT NULL,             -- notes (0) overtake files (1)
    original        TEXT,
    filename        TEXT    NOT NULL,
    step            TEXT    NOT NULL DEFAULT '',
    message         TEXT    NOT NULL DEFAULT '',
    completed_steps INTEGER NOT NULL DEFAULT 0,
    total_steps     INTEGER NOT NULL DEFAULT 0,
    attempts        INTEGER NOT NULL DEFAULT 0,
    attempts_before INTEGER NOT NULL DEFAULT 0,   -- attempts made before the last retry by a person
    available_at    TEXT    NOT NULL,
    lease_until     TEXT,
    idempotency_key TEXT UNIQUE,
    request_digest  TEXT,
    document_id     INTEGER,
    document_uuid   BLOB,
    chunks_created  INTEGER,
    is_duplicate    INTEGER NOT NULL DEFAULT 0,
    error_code      TEXT,
    error_message   TEXT,
    created_at      TEXT    NOT NULL,
    started_at      TEXT,
    finished_at     TEXT,
    payload         TEXT                          -- what was submitted; NULL once it is no longer needed. Long, so last
);
CREATE INDEX jobs_to_do ON jobs (priority, id) WHERE status IN ('queued', 'running');
CREATE INDEX jobs_by_status ON jobs (status, id);
CREATE INDEX jobs_by_original ON jobs (original) WHERE original IS NOT NULL;
