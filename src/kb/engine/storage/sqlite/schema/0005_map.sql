-- Where documents lie on the map of the base. Derived: the worker makes it anew from the vectors.
CREATE TABLE document_places (
    document_id INTEGER PRIMARY KEY REFERENCES documents (id) ON DELETE CASCADE,
    x           REAL    NOT NULL,
    y           REAL    NOT NULL,
    chunk_id    INTEGER NOT NULL,                 -- its first chunk then: with another it has other vectors
    layout      INTEGER NOT NULL,                 -- the layout to which the place belongs; only the newest counts
    is_laid_out INTEGER NOT NULL                  -- 0: put beside those that were laid out
);
CREATE INDEX document_places_by_layout ON document_places (layout);
