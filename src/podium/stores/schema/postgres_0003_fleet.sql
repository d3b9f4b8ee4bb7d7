-- Runs that are not over, for those who look for work among millions that are.
CREATE INDEX run_unfinished ON run (number) WHERE status IN ('queued', 'running', 'waiting', 'paused');

-- When somebody last looked for runs that nobody drives: one of many looks, not all at once.
CREATE TABLE sweep (at TIMESTAMPTZ NOT NULL);
INSERT INTO sweep VALUES ('epoch');

-- How many runs of an owner may be driven at once, on all machines together. No row: any number.
CREATE TABLE owner_limit (
    owner     TEXT COLLATE "C" PRIMARY KEY,
    max_runs  INTEGER NOT NULL
);

-- Runs of such owners that are driven now. A place whose driver is gone is free.
CREATE TABLE place (
    run_id  TEXT COLLATE "C" PRIMARY KEY,
    owner   TEXT COLLATE "C" NOT NULL,
    driver  TEXT COLLATE "C" NOT NULL
);
CREATE INDEX place_by_owner ON place (owner);
