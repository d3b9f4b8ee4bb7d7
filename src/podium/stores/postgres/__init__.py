"""PostgreSQL store: one log for many machines. Needs the extra `postgres`.

store        the class that the engine uses; builds it from its parts
writer       the task that writes batches
database     SQL on connections: queries, batches, statements over many rows
facts        full-text search over facts
tails        notification of log tails and inbox subscribers of other processes
heartbeat    rows that show which processes are alive; run slots of owners
limits       limits that all processes share
connection   connections, migrations, error messages, binary arrays
"""

from __future__ import annotations
