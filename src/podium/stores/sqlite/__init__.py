"""The log in one SQLite file: write-ahead log, fsync at every commit, group commit, fencing by epoch.

store     what the engine talks to: the three below as one, and reading
driving   who drives a run: acquire and release
commits   queueing; who writes, and when
watch     who is told when something new is there: tails and inboxes

batch     what is queued, as plain data
writer    the thread that writes batches
bulk      one statement for many rows
writing   a batch as a handful of statements in one transaction
jobs      the rare writes
samples   the cache that runs share
reading   every query
lock      which processes are alive
database  opening the file, migrations
failures  SQLite's errors in words for people
"""

from __future__ import annotations
