-- Answers of models that may serve other runs too.

-- One row an answer. `key` is the hash of the question, `number` tells its answers apart.
CREATE TABLE sample (
    id             TEXT    PRIMARY KEY,
    key            TEXT    NOT NULL,
    number         INTEGER NOT NULL,
    model          TEXT    NOT NULL,
    usd            REAL    NOT NULL,
    input_tokens   INTEGER NOT NULL,
    output_tokens  INTEGER NOT NULL,
    made_us        INTEGER NOT NULL,
    used_us        INTEGER NOT NULL,
    bytes          INTEGER NOT NULL,
    data           BLOB    NOT NULL,
    UNIQUE (key, number)
);
-- What was not used for the longest time goes first; the size stands beside it, so that no data is read.
CREATE INDEX sample_by_use ON sample (used_us, bytes);

-- What the cache has saved, by model. It stays when the answers themselves have gone.
CREATE TABLE saving (
    model          TEXT    PRIMARY KEY,
    hits           INTEGER NOT NULL,
    usd            REAL    NOT NULL,
    input_tokens   INTEGER NOT NULL,
    output_tokens  INTEGER NOT NULL
);
