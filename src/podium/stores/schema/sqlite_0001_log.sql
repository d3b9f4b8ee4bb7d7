-- The log and what stands beside it.

-- One row a run: its place in the log, its fencing epoch, and a summary for lists.
CREATE TABLE run (
    number          INTEGER PRIMARY KEY,
    run_id          TEXT    NOT NULL UNIQUE,
    epoch           INTEGER NOT NULL DEFAULT 0,
    driver          TEXT    NOT NULL DEFAULT '', -- name of the lock file of the process that drives it
    status          TEXT    NOT NULL,
    stop_reason     TEXT    NOT NULL,
    updated_us      INTEGER NOT NULL,
    driven_s        REAL    NOT NULL,
    usd             REAL    NOT NULL,
    input_tokens    INTEGER NOT NULL,
    output_tokens   INTEGER NOT NULL,
    calls           INTEGER NOT NULL,
    unpriced_calls  INTEGER NOT NULL,
    model           TEXT    NOT NULL,
    rehearsal       INTEGER NOT NULL,
    created_us      INTEGER NOT NULL,
    parent          TEXT    NOT NULL,
    workflow        TEXT    NOT NULL,
    request         TEXT    NOT NULL
);

-- The log. `id` is run number << 32 | seq: one b-tree without a second index, a run's events side by side.
CREATE TABLE event (
    id       INTEGER PRIMARY KEY,
    time_us  INTEGER NOT NULL,
    path     TEXT    NOT NULL,
    type     TEXT    NOT NULL,
    data     BLOB    NOT NULL
);

-- Large values by the SHA-256 of their content. The key stands in an index of its own (not WITHOUT ROWID),
-- so that looking one up never walks over the others' data.
CREATE TABLE blob (
    digest  BLOB PRIMARY KEY,
    data    BLOB NOT NULL
);

-- What others want to tell the driver of a run. AUTOINCREMENT: an id is never used twice, so a watcher
-- that has seen everything up to one id needs to look only behind it.
CREATE TABLE inbox (
    id    INTEGER PRIMARY KEY AUTOINCREMENT,
    run   INTEGER NOT NULL REFERENCES run (number),
    kind  TEXT    NOT NULL,
    data  BLOB    NOT NULL
);
CREATE INDEX inbox_by_run ON inbox (run, id);
