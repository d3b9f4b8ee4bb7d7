-- Limits that all processes keep together.

-- How far a provider's pace is taken. Nothing is lost with it but a moment's exactness, so it is not logged.
CREATE UNLOGGED TABLE pace (
    name   TEXT COLLATE "C" PRIMARY KEY,
    taken  TIMESTAMPTZ NOT NULL -- up to here
);

-- What owners of runs may have. Money is in nano-dollars.
CREATE TABLE account (
    owner    TEXT COLLATE "C" PRIMARY KEY,
    usd      BIGINT,           -- NULL: no limit
    settled  BIGINT NOT NULL   -- spent by runs that have no row in `drawing`
);

-- What a run was lent since it had spent `base`. It counts as spent until the run is left in order: `closed`,
-- and then added to `settled` by the next one who draws.
CREATE TABLE drawing (
    run     BIGINT PRIMARY KEY REFERENCES run (number),
    owner   TEXT COLLATE "C" NOT NULL,
    base    BIGINT  NOT NULL,
    lent    BIGINT  NOT NULL,
    spent   BIGINT  NOT NULL,   -- of it, as far as it was told
    closed  BOOLEAN NOT NULL DEFAULT false
);
CREATE INDEX drawing_by_owner ON drawing (owner);
