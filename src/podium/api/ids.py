"""Names of runs: short enough to type, random enough not to meet."""

from __future__ import annotations

import secrets

_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"


def new_run_id() -> str:
    """Twelve characters, 60 bits; the beginning is enough to name a run."""
    number = secrets.randbits(60)
    return "".join([_LETTERS[(number >> shift) & 31] for shift in range(0, 60, 5)])
