"""Which run is meant: the same words from every store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from podium.errors import UnknownRunError

SHORTEST_BEGINNING = 4
"""Characters of an id that are enough to name a run by."""


def unknown(run_id: str) -> UnknownRunError:
    hint = "`podium runs` lists them."
    if len(run_id) < SHORTEST_BEGINNING:
        hint = f"Give at least {SHORTEST_BEGINNING} characters of an id; {hint}"
    return UnknownRunError(f"There is no run {run_id} in this store.", hint=hint)


def the_one(found: Sequence[tuple[Any, ...]], run_id: str) -> tuple[Any, ...]:
    """The only summary among those whose id is, or begins with, `run_id`; ids are their first column."""
    if len(found) > 1:
        raise UnknownRunError(
            f"More than one run begins with {run_id}: {found[0][0]}, {found[1][0]} and perhaps more.",
            hint="Give more characters of the id.",
        )
    if not found:
        raise unknown(run_id)
    return found[0]
