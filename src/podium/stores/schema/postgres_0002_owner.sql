-- Whose runs they are, on a server with several users; empty: nobody's in particular. The log of a run says
-- so too (`config.owner` of `run.created`); this column is what lists are narrowed by.
ALTER TABLE run ADD COLUMN owner TEXT NOT NULL DEFAULT '';
CREATE INDEX run_by_owner ON run (owner, number) WHERE owner != '';
