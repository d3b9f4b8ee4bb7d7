"""Every node decides: do it, or split it into bands of steps; parents read what children return."""

from __future__ import annotations
