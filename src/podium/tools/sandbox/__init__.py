"""Sandbox for programs that a model wrote: file access, limits and termination.

Kept empty on purpose: the programs in `inside/` are started by a bare interpreter that has no other packages.
"""

from __future__ import annotations
