-- The ceilings of runs, so that a list can show cost against budget, and what runs may still spend is one sum.
-- NULL: no ceiling. The log says so too (`budget` of `run.created` and `run.resumed`).
ALTER TABLE run ADD COLUMN max_usd DOUBLE PRECISION;
ALTER TABLE run ADD COLUMN max_tokens BIGINT;
ALTER TABLE run ADD COLUMN max_calls BIGINT;
ALTER TABLE run ADD COLUMN max_seconds DOUBLE PRECISION;
ALTER TABLE run ADD COLUMN max_depth BIGINT;

-- The name that a client gave to its wish for this run, so that asking twice starts one; empty: none.
ALTER TABLE run ADD COLUMN start_key TEXT NOT NULL DEFAULT '';
CREATE UNIQUE INDEX run_by_start_key ON run (owner, start_key) WHERE start_key != '';

-- What the logs of older runs say: the ceilings that they were made with, then those that were raised later.
-- PostgreSQL reads no JSON with a NUL in it; a number that it cannot count is a ceiling that nobody meets.
WITH told AS MATERIALIZED (
    SELECT id, id >> 32 AS number,
        replace(convert_from(data, 'UTF8'), '\u0000', '\u0001')::json -> 'budget' AS budget
    FROM event WHERE type IN ('run.created', 'run.resumed')
), read AS MATERIALIZED (
    SELECT id, number,
        (budget ->> 'usd')::double precision AS usd,
        CASE WHEN length(budget ->> 'tokens') < 19 THEN (budget ->> 'tokens')::bigint
            WHEN budget ->> 'tokens' IS NOT NULL THEN 9223372036854775807 END AS tokens,
        CASE WHEN length(budget ->> 'calls') < 19 THEN (budget ->> 'calls')::bigint
            WHEN budget ->> 'calls' IS NOT NULL THEN 9223372036854775807 END AS calls,
        (budget ->> 'seconds')::double precision AS seconds,
        CASE WHEN length(budget ->> 'depth') < 19 THEN (budget ->> 'depth')::bigint
            WHEN budget ->> 'depth' IS NOT NULL THEN 9223372036854775807 END AS depth
    FROM told
)
UPDATE run SET max_usd = b.usd, max_tokens = b.tokens, max_calls = b.calls, max_seconds = b.seconds, max_depth = b.depth
FROM (
    SELECT number,
        (array_agg(usd ORDER BY id DESC) FILTER (WHERE usd IS NOT NULL))[1] AS usd,
        (array_agg(tokens ORDER BY id DESC) FILTER (WHERE tokens IS NOT NULL))[1] AS tokens,
        (array_agg(calls ORDER BY id DESC) FILTER (WHERE calls IS NOT NULL))[1] AS calls,
        (array_agg(seconds ORDER BY id DESC) FILTER (WHERE seconds IS NOT NULL))[1] AS seconds,
        (array_agg(depth ORDER BY id DESC) FILTER (WHERE depth IS NOT NULL))[1] AS depth
    FROM read GROUP BY number
) AS b WHERE b.number = run.number;
