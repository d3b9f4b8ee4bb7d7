"""Execution on many machines. `open_engine(name, store)` returns the engine that distributes runs to workers.

The log is the state of a run, so an engine carries only run ids: it assigns each run to a worker, detects
when a worker is gone, and reassigns its runs. The store decides which process may write.
"""

from __future__ import annotations
