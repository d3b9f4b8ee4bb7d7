"""What Temporal says, in words for people."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from temporalio.service import RPCError, RPCStatusCode

from podium.errors import StoreAwayError, StoreError


@contextmanager
def explained() -> Generator[None]:
    """Around questions to the server: what it refuses, or that it is away, is an error as of a store."""
    try:
        yield
    except RPCError as error:
        said = (error.message.splitlines() or [error.status.name])[0].rstrip(".")
        away = error.status in (RPCStatusCode.UNAVAILABLE, RPCStatusCode.DEADLINE_EXCEEDED)
        raise (StoreAwayError if away else StoreError)(
            f"The Temporal server did not do it: {said}.", hint="Look at its address, and whether it runs."
        ) from error
