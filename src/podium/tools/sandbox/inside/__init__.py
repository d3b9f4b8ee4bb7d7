"""Programs that run on the way into the sandbox, by `python -I -S`: the standard library is all they have."""

from __future__ import annotations
