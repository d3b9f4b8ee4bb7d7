-- The log and what stands beside it.

-- One row a process that drives runs. A process that was not seen for longer than its lease is taken for dead.
CREATE TABLE driver (
    name     TEXT COLLATE "C" PRIMARY KEY,
    who      TEXT        NOT NULL, -- for people: `pid 4711 on host`
    host     TEXT        NOT NULL,
    pid      INTEGER     NOT NULL,
    began    TEXT        NOT NULL, -- tells a process from a later one with the same pid
    lease_s  DOUBLE PRECISION NOT NULL,
    seen     TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
);

-- One row a run: its place in the log, its fencing epoch, and a summary for lists. Room is left on the pages,
-- because a summary changes often and is then rewritten in place.
CREATE TABLE run (
    number          BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id          TEXT    COLLATE "C" NOT NULL UNIQUE,
    epoch           INTEGER NOT NULL DEFAULT 0,
    driver          TEXT    COLLATE "C" NOT NULL DEFAULT '',
    status          TEXT    NOT NULL,
    stop_reason     TEXT    NOT NULL,
    updated_us      BIGINT  NOT NULL,
    driven_s        DOUBLE PRECISION NOT NULL,
    usd             DOUBLE PRECISION NOT NULL,
    input_tokens    BIGINT  NOT NULL,
    output_tokens   BIGINT  NOT NULL,
    calls           BIGINT  NOT NULL,
    unpriced_calls  BIGINT  NOT NULL,
    model           TEXT    NOT NULL,
    rehearsal       BOOLEAN NOT NULL,
    created_us      BIGINT  NOT NULL,
    parent          TEXT    NOT NULL,
    workflow        TEXT    NOT NULL,
    request         TEXT    NOT NULL
) WITH (fillfactor = 70);

-- The log. `id` is run number << 32 | seq: one index, and a run's events side by side in it.
CREATE TABLE event (
    id       BIGINT PRIMARY KEY,
    time_us  BIGINT NOT NULL,
    path     TEXT   NOT NULL,
    type     TEXT   NOT NULL,
    data     BYTEA  NOT NULL
);

-- Large values by the SHA-256 of their content.
CREATE TABLE blob (
    digest  BYTEA PRIMARY KEY,
    data    BYTEA NOT NULL
);

-- What others want to tell the driver of a run. An id is never used twice.
CREATE TABLE inbox (
    id    BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run   BIGINT NOT NULL REFERENCES run (number),
    kind  TEXT   NOT NULL,
    data  BYTEA  NOT NULL
);
CREATE INDEX inbox_by_run ON inbox (run, id);

-- Answers of models that may serve other runs too. `key` is the hash of the question.
CREATE TABLE sample (
    id             TEXT    COLLATE "C" PRIMARY KEY,
    key            TEXT    COLLATE "C" NOT NULL,
    number         BIGINT  NOT NULL,
    model          TEXT    COLLATE "C" NOT NULL,
    usd            DOUBLE PRECISION NOT NULL,
    input_tokens   BIGINT  NOT NULL,
    output_tokens  BIGINT  NOT NULL,
    made_us        BIGINT  NOT NULL,
    used_us        BIGINT  NOT NULL,
    bytes          BIGINT  NOT NULL,
    data           BYTEA   NOT NULL,
    UNIQUE (key, number)
);
CREATE INDEX sample_by_use ON sample (used_us, bytes);

-- What the cache has saved, by model. It stays when the answers themselves have gone.
CREATE TABLE saving (
    model          TEXT   COLLATE "C" PRIMARY KEY,
    hits           BIGINT NOT NULL,
    usd            DOUBLE PRECISION NOT NULL,
    input_tokens   BIGINT NOT NULL,
    output_tokens  BIGINT NOT NULL
);

-- Words in any form; unlike `english`, none is left out.
CREATE TEXT SEARCH DICTIONARY podium_stem (TEMPLATE = snowball, LANGUAGE = english);
CREATE TEXT SEARCH CONFIGURATION podium (COPY = english);
ALTER TEXT SEARCH CONFIGURATION podium ALTER MAPPING REPLACE english_stem WITH podium_stem;

-- What projects know. `words` weighs a word in a subject more than one in the sentence that it was taken from.
CREATE TABLE fact (
    number      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project     TEXT   COLLATE "C" NOT NULL,
    id          TEXT   COLLATE "C" NOT NULL,
    subject     TEXT   NOT NULL,
    predicate   TEXT   NOT NULL,
    value       TEXT   NOT NULL,
    kind        TEXT   NOT NULL,
    source_run  TEXT   COLLATE "C" NOT NULL,
    quote       TEXT   NOT NULL,
    status      TEXT   NOT NULL,
    created_at  TEXT   COLLATE "C" NOT NULL,
    updated_at  TEXT   COLLATE "C" NOT NULL,
    words       TSVECTOR NOT NULL,
    UNIQUE (project, id)
);
CREATE INDEX fact_by_status ON fact (project, status);
CREATE INDEX fact_by_run ON fact (source_run);
CREATE INDEX fact_by_words ON fact USING gin (words);

-- Who changed what; `before` and `after` are JSON objects of the fields that differ.
CREATE TABLE fact_change (
    number   BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project  TEXT   COLLATE "C" NOT NULL,
    fact     TEXT   COLLATE "C" NOT NULL,
    at       TEXT   NOT NULL,
    by       TEXT   NOT NULL,
    action   TEXT   NOT NULL,
    before   TEXT   NOT NULL,
    after    TEXT   NOT NULL
);
CREATE INDEX fact_change_by_fact ON fact_change (project, fact);

-- Embeddings: 32-bit floats, least significant byte first.
CREATE TABLE fact_vector (
    project  TEXT   COLLATE "C" NOT NULL,
    model    TEXT   COLLATE "C" NOT NULL,
    fact     TEXT   COLLATE "C" NOT NULL,
    data     BYTEA  NOT NULL,
    PRIMARY KEY (project, model, fact)
);

-- One row a project: a number that grows with each change of its facts, and what embeddings have cost.
CREATE TABLE brain (
    project         TEXT   COLLATE "C" PRIMARY KEY,
    revision        BIGINT NOT NULL DEFAULT 0,
    usd             DOUBLE PRECISION NOT NULL DEFAULT 0,
    input_tokens    BIGINT NOT NULL DEFAULT 0,
    output_tokens   BIGINT NOT NULL DEFAULT 0,
    calls           BIGINT NOT NULL DEFAULT 0,
    unpriced_calls  BIGINT NOT NULL DEFAULT 0
);
