"""The log in one SQLite file: WAL, fsync at every commit, group commit, one lock file a run.

store     what the engine talks to; queues, and decides who writes
batch     what is queued, as plain data
writing   a batch as a handful of statements in one transaction
writer    the thread that writes batches
reading   every query
watch     who is told when something new is there: tails and inboxes
lock      who drives a run
database  opening the file, migrations
failures  SQLite's errors in words for people
"""
