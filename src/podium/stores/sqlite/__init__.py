"""SQLite store: the log in one file, with write-ahead log, fsync at every commit, group commit and fencing.

store        the class that the engine uses; builds it from its parts
writer       the thread that writes batches, and inline commits
database     SQL on connections: queries, batches, statements over many rows
facts        full-text search over facts
tails        notification of log tails and inbox subscribers of other processes
lock         lock files that show which processes are alive
connection   connections, migrations, error messages
"""

from __future__ import annotations
