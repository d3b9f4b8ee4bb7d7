-- What projects know. The index for full-text search is made with the first fact (see sqlite/facts.py), so
-- that a SQLite without it can still run everything else.

CREATE TABLE fact (
    number      INTEGER PRIMARY KEY,
    project     TEXT    NOT NULL,
    id          TEXT    NOT NULL,
    subject     TEXT    NOT NULL,
    predicate   TEXT    NOT NULL,
    value       TEXT    NOT NULL,
    kind        TEXT    NOT NULL,
    source_run  TEXT    NOT NULL,
    quote       TEXT    NOT NULL,
    status      TEXT    NOT NULL,
    created_at  TEXT    NOT NULL,
    updated_at  TEXT    NOT NULL,
    UNIQUE (project, id)
);
CREATE INDEX fact_by_status ON fact (project, status);
CREATE INDEX fact_by_run ON fact (source_run);

-- Who changed what; `before` and `after` are JSON objects of the fields that differ.
CREATE TABLE fact_change (
    number   INTEGER PRIMARY KEY,
    project  TEXT    NOT NULL,
    fact     TEXT    NOT NULL,
    at       TEXT    NOT NULL,
    by       TEXT    NOT NULL,
    action   TEXT    NOT NULL,
    before   TEXT    NOT NULL,
    after    TEXT    NOT NULL
);
CREATE INDEX fact_change_by_fact ON fact_change (project, fact);

-- Embeddings: 32-bit floats, least significant byte first.
CREATE TABLE fact_vector (
    project  TEXT    NOT NULL,
    model    TEXT    NOT NULL,
    fact     TEXT    NOT NULL,
    data     BLOB    NOT NULL,
    UNIQUE (project, model, fact)
);

-- One row a project: a number that grows with each change of its facts, and what embeddings have cost.
CREATE TABLE brain (
    project         TEXT    PRIMARY KEY,
    revision        INTEGER NOT NULL DEFAULT 0,
    usd             REAL    NOT NULL DEFAULT 0,
    input_tokens    INTEGER NOT NULL DEFAULT 0,
    output_tokens   INTEGER NOT NULL DEFAULT 0,
    calls           INTEGER NOT NULL DEFAULT 0,
    unpriced_calls  INTEGER NOT NULL DEFAULT 0
);
