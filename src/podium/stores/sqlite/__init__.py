"""SQLite store: the log in one file, with write-ahead log, fsync at every commit, group commit and fencing.

store        the class that the engine uses; runs, leases and facts
writer       the thread that writes batches, and inline commits
statements   SQL for batches and rare writes
reader       read queries for runs, events and inboxes
facts        project facts and full-text search
reply_cache  cached replies, shared by all runs
tails        notification of log tails and inbox subscribers
lock         lock files that show which processes are alive
connection   connections, migrations, error messages, bulk statements
"""

from __future__ import annotations
