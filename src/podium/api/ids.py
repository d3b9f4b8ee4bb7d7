"""Names of runs: short enough to type, random enough not to meet."""

from __future__ import annotations

import secrets
from hashlib import blake2b

_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"


def new_run_id() -> str:
    """Twelve characters, 60 bits; the beginning is enough to name a run."""
    return _named(secrets.randbits(60))


def run_id_of(text: str) -> str:
    """The same id for the same text: for a run of which there may be only one."""
    return _named(int.from_bytes(blake2b(text.encode(), digest_size=8).digest()) >> 4)


def _named(number: int) -> str:
    return "".join([_LETTERS[(number >> shift) & 31] for shift in range(0, 60, 5)])
