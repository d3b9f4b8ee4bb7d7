"""A place to run programs that a model wrote: what it may touch, for how long, and how it is ended.

Kept empty on purpose: the programs in `inside/` are started by a bare interpreter that has no other packages.
"""

from __future__ import annotations
