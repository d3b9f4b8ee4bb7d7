"""Programs that run on the way into the sandbox under `python -I -S`, with only the standard library."""

from __future__ import annotations
