"""A user id that nobody has, for programs that are run by root.

Limits on processes do not hold for root, and root's files are root's own: so root's sandboxes run as somebody
else, each execution as another. How the workspace stays writable for that somebody is in `inside/drop.py`.
"""

from __future__ import annotations

import itertools
import os
from pathlib import Path

_HIGH, _LOW = (1_800_000_000, 50_000), (58_000, 1_000)
"""Where spare ids begin and how many there are; the low ones for containers that have only 65,536."""

_counter = itertools.count()


def spare_id() -> int | None:
    """An id for the next execution; `None` if this process is not root and stays who it is."""
    if os.geteuid() != 0:
        return None
    first, count = _HIGH if _mapped(_HIGH[0] + _HIGH[1]) else _LOW
    return first + (os.getpid() * 64 + next(_counter)) % count


def _mapped(identity: int) -> bool:
    """Whether this container's root may use that id."""
    try:
        lines = Path("/proc/self/uid_map").read_text(encoding="ascii").splitlines()
    except OSError:  # no user namespaces in this kernel: all ids are there
        return True
    extents = [tuple(map(int, line.split())) for line in lines]
    return any(inside <= identity < inside + count for inside, _, count in extents)
