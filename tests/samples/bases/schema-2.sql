-- A base of kb v2, with the odd things that years leave behind: blank titles, broken JSON, a file that is gone, gaps.
-- Its vectors were in a table of an extension, chunks_vec, which is not needed to take it over.
BEGIN;
CREATE TABLE documents (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  title TEXT NOT NULL,
  doc_type TEXT NOT NULL,
  source_path TEXT,
  stored_path TEXT,
  content_hash TEXT NOT NULL,
  created_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
);
CREATE TABLE chunks (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  document_id INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
  chunk_index INTEGER NOT NULL,
  text TEXT NOT NULL,
  metadata TEXT
);
CREATE VIRTUAL TABLE chunks_fts USING fts5(text, content='chunks', content_rowid='id', tokenize='porter unicode61');
CREATE TRIGGER chunks_ai AFTER INSERT ON chunks BEGIN
  INSERT INTO chunks_fts(rowid, text) VALUES (new.id, new.text);
END;
CREATE TRIGGER chunks_ad AFTER DELETE ON chunks BEGIN
  INSERT INTO chunks_fts(chunks_fts, rowid, text) VALUES ('delete', old.id, old.text);
END;
CREATE TRIGGER chunks_au AFTER UPDATE ON chunks BEGIN
  INSERT INTO chunks_fts(chunks_fts, rowid, text) VALUES ('delete', old.id, old.text);
  INSERT INTO chunks_fts(rowid, text) VALUES (new.id, new.text);
END;
CREATE TABLE tags (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE);
CREATE TABLE document_tags (
  document_id INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
  tag_id INTEGER NOT NULL REFERENCES tags(id) ON DELETE CASCADE,
  PRIMARY KEY (document_id, tag_id)
);
CREATE TABLE jobs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL, status TEXT NOT NULL, payload TEXT, error TEXT, document_id INTEGER,
  created_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP, finished_at TEXT
);

INSERT INTO documents VALUES
  (1, 'Otters', 'note', NULL, NULL, 'v2-1', '2024-05-01 08:30:00'),
  (2, 'Handbook', 'markdown', '/home/ann/handbook.md', 'files/2_handbook.md', 'v2-2', '2024-05-02 08:30:00'),
  (3, 'Report', 'pdf', '/home/ann/report.pdf', 'files/3_report.pdf', 'v2-3', '2024-05-03 08:30:00'),
  (5, '', 'note', NULL, NULL, 'v2-5', '2024-05-04T10:30:00.25+02:00'),
  (6, 'Otters', 'text', 'C:\notes\otters.txt', NULL, 'v2-6', 'yesterday'),
  (7, '寿司屋', 'note', NULL, NULL, 'v2-7', '2024-05-05 08:30:00'),
  (8, '  ', 'jpeg', NULL, 'files/8_photo.jpeg', 'v2-8', '2024-05-06 08:30:00'),
  (9, 'Passwords', 'text', NULL, '../outside.txt', 'v2-9', '2024-05-07 08:30:00'),
  (10, 'Slides', 'presentation', 'talk.PPTX', 'files/10', 'v2-10', '2024-05-08 08:30:00'),
  (11, 'Nothing', 'scroll', NULL, NULL, 'v2-11', '2024-05-09 08:30:00');
INSERT INTO chunks VALUES
  (1, 1, 1, 'It holds hands while it sleeps.', NULL),
  (2, 1, 0, 'The otter sleeps on its back.', '{"heading": "Habits"}'),
  (3, 2, 0, 'Invoices are due within thirty days.', '{"page": 1, "heading": "Work > Invoices"}'),
  (4, 3, 5, 'The revenue of the year was three million.', '{"page": 7}'),
  (5, 3, 5, 'The walrus department grew the most.', '{"page": "eight", "heading": 8}'),
  (7, 5, 0, 'Remember the milk.', '{"page": true'),
  (8, 6, 0, 'A second text about otters.', '[1, 2]'),
  (9, 7, 0, '東京の寿司屋は朝五時に開く。', '{"heading": "朝の築地"}'),
  (10, 8, 0, 'A photo of a lighthouse.', '{"page": 99999999999999999999}'),
  (11, 9, 0, 'What was read from elsewhere.', NULL),
  (12, 10, 0, 'Slide one of the talk.', 'null'),
  (13, 404, 0, 'The document of this is gone.', NULL);
INSERT INTO tags VALUES (1, 'animals'), (2, 'sleep'), (3, 'work/2024'), (4, 'unused'), (5, '旅行'), (6, '');
INSERT INTO document_tags VALUES (1, 2), (1, 1), (1, 6), (2, 3), (7, 5), (404, 2);
INSERT INTO jobs VALUES
  (1, 'note', 'completed', '{"text": "The otter"}', NULL, 1, '2024-05-01 08:29:00', '2024-05-01 08:30:00'),
  (2, 'file', 'completed', NULL, NULL, 404, '2024-05-01 08:29:00', NULL),
  (3, 'file', 'failed', NULL, 'The file is encrypted.', NULL, '2024-05-02 08:29:00', '2024-05-02 08:30:00'),
  (4, 'ingest', 'running', '{"path": "x"}', NULL, NULL, '2024-05-03 08:29:00', NULL),
  (6, 'file', 'queued', '{"path": "y"}', NULL, NULL, '2024-05-03 08:29:00', NULL);
UPDATE sqlite_sequence SET seq = 40 WHERE name = 'documents';
UPDATE sqlite_sequence SET seq = 500 WHERE name = 'chunks';
UPDATE sqlite_sequence SET seq = 30 WHERE name = 'jobs';
PRAGMA user_version = 2;
COMMIT;
