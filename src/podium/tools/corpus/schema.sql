-- The index of one folder. It can be made again from the folder at any time.

CREATE TABLE about (
    folder     TEXT NOT NULL,   -- where the documents lie
    name       TEXT NOT NULL,   -- how people call it
    indexed_at TEXT NOT NULL,   -- when it was last brought up to date
    semantic   INTEGER NOT NULL -- whether documents get vectors
) STRICT;

CREATE TABLE document (
    number     INTEGER PRIMARY KEY,
    path       TEXT NOT NULL UNIQUE,     -- below the folder, with /
    size       INTEGER NOT NULL,
    mtime_ns   INTEGER NOT NULL,
    sha256     TEXT NOT NULL,            -- of the file's bytes
    media_type TEXT NOT NULL,
    title      TEXT NOT NULL,
    published  TEXT NOT NULL,            -- ISO date, as exact as it is known
    authors    TEXT NOT NULL,            -- a JSON list
    cut        INTEGER NOT NULL,         -- the document was longer
    trouble    TEXT NOT NULL,            -- why it cannot be read; then it is not in the index of words
    -- Last, so that looking at the others reads no long texts.
    text       TEXT NOT NULL,            -- as it is kept: what positions count in
    spaced     TEXT                      -- the same for writings without spaces between words
) STRICT;

-- Vectors of a document's passages, where they are wanted.
CREATE TABLE meaning (
    number  INTEGER PRIMARY KEY,
    model   TEXT NOT NULL,
    places  BLOB NOT NULL,   -- MessagePack: start and end of each passage in `document.text`
    vectors BLOB NOT NULL    -- signed bytes, one vector behind the other
) STRICT;

CREATE VIEW searchable AS SELECT number, title, coalesce(spaced, text) AS body FROM document;

CREATE VIRTUAL TABLE words USING fts5 (
    title, body, content = 'searchable', content_rowid = 'number',
    tokenize = 'porter unicode61 remove_diacritics 2'
);

-- A word in the title weighs more.
INSERT INTO words (words, rank) VALUES ('rank', 'bm25(3.0, 1.0)');
