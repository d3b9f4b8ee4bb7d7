-- Runs that are not over, for those who look for work among millions that are.
CREATE INDEX run_unfinished ON run (number) WHERE status IN ('queued', 'running', 'waiting', 'paused');
