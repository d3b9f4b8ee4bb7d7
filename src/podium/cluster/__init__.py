"""Many machines: `open_engine(name, store)` gives what carries runs to workers.

The log is the state of a run, so an engine carries nothing but run ids: it says which worker drives which,
notices when a worker is gone, and gives its runs to another. Who may write is decided by the store.
"""

from __future__ import annotations
