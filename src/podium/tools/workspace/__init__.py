"""Where a run changes files: a repository and a work tree of its own, far from the user's checkout."""

from __future__ import annotations
