-- A base of schema 4, as kb 3.0 wrote it before there was a map.
PRAGMA page_size = 8192;
PRAGMA journal_mode = wal;
BEGIN;
CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE chunks (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid           BLOB    NOT NULL,
    document_id    INTEGER NOT NULL REFERENCES documents (id),
    ordinal        INTEGER NOT NULL,
    text           TEXT    NOT NULL,
    search_text    TEXT,                          -- the text as it is indexed, where that differs
    heading        TEXT,
    search_heading TEXT,
    page_num       INTEGER, checksum INTEGER NOT NULL DEFAULT 0,
    UNIQUE (document_id, ordinal)
);
CREATE VIRTUAL TABLE chunks_fts USING fts5 (
    title, heading, body,
    content = 'searchable_chunks', content_rowid = 'id',
    tokenize = "porter unicode61 remove_diacritics 2 categories 'L* N* Co M*'"
);
CREATE VIRTUAL TABLE chunks_vocabulary USING fts5vocab (chunks_fts, row);
CREATE VIRTUAL TABLE chunks_instances USING fts5vocab (chunks_fts, instance);
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
, cursor INTEGER NOT NULL DEFAULT 0, submitted_by TEXT NOT NULL DEFAULT '');
CREATE TABLE "documents" (
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
CREATE TABLE "embeddings" (
    chunk_id INTEGER PRIMARY KEY REFERENCES chunks (id) ON DELETE CASCADE,
    vector   BLOB    NOT NULL,
    checksum INTEGER NOT NULL
);
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
CREATE TABLE audit_log (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    at          TEXT NOT NULL,
    key_name    TEXT NOT NULL,
    request_id  TEXT,
    action      TEXT NOT NULL,
    document_id INTEGER,
    job_id      INTEGER
);
CREATE TABLE events (
    seq           INTEGER PRIMARY KEY AUTOINCREMENT,
    kind          TEXT NOT NULL,
    document_id   INTEGER,
    document_uuid BLOB,
    job_id        INTEGER
);
CREATE VIEW searchable_chunks AS
SELECT chunks.id AS id,
       COALESCE(documents.search_title, documents.title) AS title,
       COALESCE(chunks.search_heading, chunks.heading) AS heading,
       COALESCE(chunks.search_text, chunks.text) AS body
FROM chunks
JOIN documents ON documents.id = chunks.document_id;
CREATE VIEW document_checksums AS
SELECT id, checksum AS kept,
       checksum(id, uuid, doc_type, format, title, title_is_given, filename, source_path, size_bytes, content_hash,
                original, metadata, processing_method, chunk_count, version, created_at, updated_at, vector_model)
       AS computed
FROM documents;
INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('secure-delete', 1);
INSERT INTO meta VALUES ('database_id', '21636369-8b52-4b4a-97b7-50923ceb3ffd');
INSERT INTO chunks VALUES (3, X'3B5F3D86268E4C459C6BF1E1A399F82A', 2, 0, 'Invoices are due within thirty days.', NULL, NULL, NULL, NULL, 424076017);
INSERT INTO chunks VALUES (4, X'28CE6F2410644D5186F8DA3EABE19F58', 3, 0, '東京の寿司屋は朝五時に開く。', '東 京 の 寿 司 屋 は 朝 五 時 に 開 く 。', '朝の築地', '朝 の 築 地', NULL, 114848921);
INSERT INTO chunks VALUES (6, X'633A50EEE0F94038AB8F624FB804D820', 1, 0, 'The otter sleeps on its back and holds hands.', NULL, NULL, NULL, NULL, 2995305864);
INSERT INTO index_log VALUES (1, 1);
INSERT INTO index_log VALUES (2, 2);
INSERT INTO index_log VALUES (3, 3);
INSERT INTO index_log VALUES (4, 4);
INSERT INTO index_log VALUES (5, 1);
INSERT INTO index_log VALUES (6, 1);
INSERT INTO index_log VALUES (7, 4);
INSERT INTO tags VALUES (1, 'animals');
INSERT INTO tags VALUES (2, 'sleep');
INSERT INTO tags VALUES (3, 'work');
INSERT INTO tags VALUES (5, '旅行');
INSERT INTO tags VALUES (7, 'urgent');
INSERT INTO document_tags VALUES (1, 1, 1);
INSERT INTO document_tags VALUES (1, 2, 2);
INSERT INTO document_tags VALUES (2, 3, 1);
INSERT INTO document_tags VALUES (2, 7, 2);
INSERT INTO document_tags VALUES (3, 5, 1);
INSERT INTO jobs VALUES (1, X'795B929E9A9A40FDAA7B5BF55EB561A4', 'note', 'completed', 0, NULL, '', '', '', 1, 1, 1, 0, '2026-03-01T12:00:00.000000Z', NULL, NULL, 'e5f4b7567190ce6e12938ee7ed8a672d135c0591962d7857c8207fccd7114c25', 1, X'9B08923D10C64FD994B2B8FDA02F34A6', 2, 0, NULL, NULL, '2026-03-01T12:00:00.000000Z', '2026-03-01T12:00:00.000000Z', '2026-03-01T12:00:00.000000Z', NULL, 0, '');
INSERT INTO jobs VALUES (2, X'8A7D43B578634074B7970386FEE29476', 'note', 'completed', 0, NULL, '', '', '', 1, 1, 1, 0, '2026-03-01T12:00:00.000000Z', NULL, NULL, 'e5f4b7567190ce6e12938ee7ed8a672d135c0591962d7857c8207fccd7114c25', 2, X'65AA9C8279F248B08CB4A0D7D6225675', 1, 0, NULL, NULL, '2026-03-01T12:00:00.000000Z', '2026-03-01T12:00:00.000000Z', '2026-03-01T12:00:00.000000Z', NULL, 0, '');
INSERT INTO jobs VALUES (3, X'ED038DB4DE384784A6D0B944A2863A7F', 'note', 'completed', 0, NULL, '', '', '', 1, 1, 1, 0, '2026-03-01T12:00:00.000000Z', NULL, NULL, 'e5f4b7567190ce6e12938ee7ed8a672d135c0591962d7857c8207fccd7114c25', 3, X'03E0A813BDC24E99A3D2E49085EF3430', 1, 0, NULL, NULL, '2026-03-01T12:00:00.000000Z', '2026-03-01T12:00:00.000000Z', '2026-03-01T12:00:00.000000Z', NULL, 0, '');
INSERT INTO jobs VALUES (4, X'0AF438D297524D6AB51E8722C21B6092', 'note', 'completed', 0, NULL, '', '', '', 1, 1, 1, 0, '2026-03-01T12:00:00.000000Z', NULL, NULL, 'e5f4b7567190ce6e12938ee7ed8a672d135c0591962d7857c8207fccd7114c25', 4, X'D2D5844307F042CE87B317D94D1FE09F', 1, 0, NULL, NULL, '2026-03-01T12:00:00.000000Z', '2026-03-01T12:00:00.000000Z', '2026-03-01T12:00:00.000000Z', NULL, 0, '');
INSERT INTO jobs VALUES (5, X'6D4B9ADBEBCD4F5E89C18070B6D13089', 'note', 'failed', 0, NULL, '', '', '', 0, 0, 1, 0, '2026-03-01T13:00:00.000000Z', NULL, NULL, '7838b0abc92709d79c8cd46d72dc005f879641504e4e865959b9473bb9f491e0', NULL, NULL, NULL, 0, 'no_text_found', 'There is no text in it that could be searched.', '2026-03-01T13:00:00.000000Z', '2026-03-01T13:00:00.000000Z', '2026-03-01T13:00:00.000000Z', '{"text":"cannot be read","title":null,"tags":[],"source_path":null,"metadata":{}}', 0, '');
INSERT INTO jobs VALUES (6, X'93B05A04CD084B71BA6676B3651C5253', 'note', 'queued', 0, NULL, '', '', '', 0, 0, 0, 0, '2026-03-01T13:00:00.000000Z', NULL, 'walrus-1', '2c831d1b67203032e3aa64e53280feeb364e8e02c4b9b3495ddd62b5e928139d', NULL, NULL, NULL, 0, NULL, NULL, '2026-03-01T13:00:00.000000Z', NULL, NULL, '{"text":"The walrus waits in the queue.","title":"Walrus","tags":["animals"],"source_path":null,"metadata":{}}', 0, '');
INSERT INTO documents VALUES (1, X'9B08923D10C64FD994B2B8FDA02F34A6', 'note', 'note', 'Otters', NULL, 0, 'Otters.md', 'notes/otters.md', 45, 'sha256:b1ef829db9428ba9fedb2182af8177d266ad63d51d7e070b716cc7efe8496d6e', NULL, '{"mood":"calm"}', 'text_extraction', 1, 2, '2026-03-01T12:00:00.000000Z', '2026-03-01T13:00:00.000000Z', 'tiny-1', 1703817859, 'The otter sleeps on its back and holds hands.');
INSERT INTO documents VALUES (2, X'65AA9C8279F248B08CB4A0D7D6225675', 'txt', 'txt', 'Invoices', NULL, 0, 'Invoices.txt', '/home/ann/invoices.txt', 37, 'sha256:181c63dcb2a33ece201c269d0c40b1e3172d31703fae44b8a6f49e531580bb91', '181c63dcb2a33ece201c269d0c40b1e3172d31703fae44b8a6f49e531580bb91', '{}', 'text_extraction', 1, 2, '2026-03-01T12:00:00.000000Z', '2026-03-01T13:00:00.000000Z', 'tiny-1', 1115219527, NULL);
INSERT INTO documents VALUES (3, X'03E0A813BDC24E99A3D2E49085EF3430', 'note', 'note', '寿司屋', '寿 司 屋', 0, '寿司屋.md', NULL, 42, 'sha256:8a27fc877abd9a79e6595a08216efad6dda89b96797973ae5270b7a060cf77ed', NULL, '{}', 'text_extraction', 1, 1, '2026-03-01T12:00:00.000000Z', NULL, 'tiny-1', 3036931532, '東京の寿司屋は朝五時に開く。');
INSERT INTO embeddings VALUES (3, X'FA52E9BEC97060BEA6B992BEC4FF6C3EF898D8BEC878B8BD58FDDABE771A163E295027BE690A3EBE25DA973E2AE3293E66989F3DC7D7A93D23DE25BE5E63123D', 1535578929);
INSERT INTO embeddings VALUES (4, X'4B1EA83EA8C154BC9382EE3D6591A8BED71C1F3EBD2DA7BE5ACDF0BCDFFCB73D411672BCC81F3E3F0BAD2F3E8BE1133E253A5B3D7B3619BE318E37BD6D9C033D', 377817330);
INSERT INTO embeddings VALUES (6, X'AAE1E83C9E32223F89C87ABE05C817BD2AAFC4BB7E0DD23DCA53D9BE9AA5FDBD9ACCFDBDE564FE3D4A08B3BC3B8AE6BDAED9BDBE5AE8A33E3215483E5A04BABD', 3287499377);
INSERT INTO note_revisions VALUES (1, 2, 'Otters', 0, 'sha256:b1ef829db9428ba9fedb2182af8177d266ad63d51d7e070b716cc7efe8496d6e', '2026-03-01T13:00:00.000000Z', 1376580122, NULL);
INSERT INTO note_revisions VALUES (3, 1, '寿司屋', 0, 'sha256:8a27fc877abd9a79e6595a08216efad6dda89b96797973ae5270b7a060cf77ed', '2026-03-01T12:00:00.000000Z', 1872190354, NULL);
INSERT INTO chunks_fts (chunks_fts) VALUES ('rebuild');
CREATE INDEX document_tags_by_tag ON document_tags (tag_id, document_id);
CREATE INDEX jobs_to_do ON jobs (priority, id) WHERE status IN ('queued', 'running');
CREATE INDEX jobs_by_status ON jobs (status, id);
CREATE INDEX jobs_by_original ON jobs (original) WHERE original IS NOT NULL;
CREATE INDEX documents_by_recency ON documents (COALESCE(updated_at, created_at), id);
CREATE INDEX documents_by_source_path ON documents (source_path) WHERE source_path IS NOT NULL;
CREATE INDEX documents_by_content ON documents (content_hash);
CREATE INDEX documents_by_original ON documents (original) WHERE original IS NOT NULL;
CREATE INDEX documents_by_vector_model ON documents (vector_model, chunk_count);
CREATE INDEX documents_by_type ON documents (doc_type, size_bytes);
CREATE INDEX audit_log_by_time ON audit_log (at);
CREATE INDEX audit_log_by_document ON audit_log (document_id) WHERE document_id IS NOT NULL;
CREATE INDEX jobs_waiting ON jobs (status, priority) WHERE status = 'queued';
CREATE INDEX jobs_by_end ON jobs (finished_at) WHERE finished_at IS NOT NULL;
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
CREATE TRIGGER document_is_added AFTER INSERT ON documents BEGIN
    UPDATE documents SET checksum = (SELECT computed FROM document_checksums WHERE id = new.id) WHERE id = new.id;
END;
CREATE TRIGGER document_has_changed AFTER UPDATE OF
    uuid, doc_type, format, title, title_is_given, filename, source_path, size_bytes, content_hash, original,
    metadata, processing_method, chunk_count, version, created_at, updated_at, vector_model
ON documents BEGIN
    UPDATE documents SET checksum = (SELECT computed FROM document_checksums WHERE id = new.id) WHERE id = new.id;
END;
CREATE TRIGGER revision_is_added AFTER INSERT ON note_revisions BEGIN
    UPDATE note_revisions
    SET checksum = checksum(document_id, version, title, title_is_given, content_hash, created_at)
    WHERE document_id = new.document_id AND version = new.version;
END;
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES ('chunks', 6);
INSERT INTO sqlite_sequence VALUES ('documents', 4);
INSERT INTO sqlite_sequence VALUES ('index_log', 7);
INSERT INTO sqlite_sequence VALUES ('jobs', 6);
INSERT INTO sqlite_sequence VALUES ('tags', 7);
PRAGMA user_version = 4;
COMMIT;
