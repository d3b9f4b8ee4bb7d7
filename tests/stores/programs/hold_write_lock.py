"""`hold_write_lock PATH SECONDS`: hold SQLite's write lock for a while; says `locked`, then `free`."""

from __future__ import annotations

import sqlite3
import sys
import time
from contextlib import closing


def main(path: str, seconds: float) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        print("locked", flush=True)
        time.sleep(seconds)
        db.execute("COMMIT")
        print("free", flush=True)


main(sys.argv[1], float(sys.argv[2]))
