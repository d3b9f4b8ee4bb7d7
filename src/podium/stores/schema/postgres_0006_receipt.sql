-- What each process has committed last. The answer to a commit can get lost with a connection, and the numbers of
-- transactions that a crash took back are given to others: only a row of one's own tells what became of it.
CREATE TABLE receipt (
    writer  TEXT COLLATE "C" PRIMARY KEY,
    ticket  TEXT NOT NULL,
    at      TIMESTAMPTZ NOT NULL DEFAULT now()
);
