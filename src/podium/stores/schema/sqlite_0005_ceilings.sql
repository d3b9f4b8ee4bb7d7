-- The ceilings of runs, so that a list can show cost against budget, and what runs may still spend is one sum.
-- NULL: no ceiling. The log says so too (`budget` of `run.created` and `run.resumed`).
ALTER TABLE run ADD COLUMN max_usd REAL;
ALTER TABLE run ADD COLUMN max_tokens INTEGER;
ALTER TABLE run ADD COLUMN max_calls INTEGER;
ALTER TABLE run ADD COLUMN max_seconds REAL;
ALTER TABLE run ADD COLUMN max_depth INTEGER;

-- The name that a client gave to its wish for this run, so that asking twice starts one; empty: none.
ALTER TABLE run ADD COLUMN start_key TEXT NOT NULL DEFAULT '';
CREATE UNIQUE INDEX run_by_start_key ON run (owner, start_key) WHERE start_key != '';

-- What the logs of older runs say: the ceilings that they were made with, then those that were raised later.
UPDATE run SET
    max_usd = json_extract(b.text, '$.budget.usd'),
    max_tokens = CAST(json_extract(b.text, '$.budget.tokens') AS INTEGER),
    max_calls = CAST(json_extract(b.text, '$.budget.calls') AS INTEGER),
    max_seconds = json_extract(b.text, '$.budget.seconds'),
    max_depth = CAST(json_extract(b.text, '$.budget.depth') AS INTEGER)
FROM (SELECT id, CAST(data AS TEXT) AS text FROM event WHERE type = 'run.created') AS b
WHERE b.id = (run.number << 32) + 1 AND json_valid(b.text);

WITH raised AS MATERIALIZED (
    SELECT id, id >> 32 AS number, json_extract(CAST(data AS TEXT), '$.budget') AS budget FROM event
    WHERE type = 'run.resumed' AND json_valid(CAST(data AS TEXT))
        AND json_extract(CAST(data AS TEXT), '$.budget') != '{}'
)
UPDATE run SET
    max_usd = coalesce((SELECT json_extract(budget, '$.usd') FROM raised
        WHERE number = run.number AND json_extract(budget, '$.usd') IS NOT NULL ORDER BY id DESC LIMIT 1), max_usd),
    max_tokens = coalesce((SELECT CAST(json_extract(budget, '$.tokens') AS INTEGER) FROM raised
        WHERE number = run.number AND json_extract(budget, '$.tokens') IS NOT NULL ORDER BY id DESC LIMIT 1), max_tokens),
    max_calls = coalesce((SELECT CAST(json_extract(budget, '$.calls') AS INTEGER) FROM raised
        WHERE number = run.number AND json_extract(budget, '$.calls') IS NOT NULL ORDER BY id DESC LIMIT 1), max_calls),
    max_seconds = coalesce((SELECT json_extract(budget, '$.seconds') FROM raised
        WHERE number = run.number AND json_extract(budget, '$.seconds') IS NOT NULL ORDER BY id DESC LIMIT 1), max_seconds),
    max_depth = coalesce((SELECT CAST(json_extract(budget, '$.depth') AS INTEGER) FROM raised
        WHERE number = run.number AND json_extract(budget, '$.depth') IS NOT NULL ORDER BY id DESC LIMIT 1), max_depth)
WHERE number IN (SELECT number FROM raised);
