"""What can go wrong on the way to a provider, told apart by what has to happen next."""

from __future__ import annotations

from typing import Literal

FaultKind = Literal[
    "rejected", "limited", "unavailable", "unreachable", "timeout", "dropped", "garbled", "oversized",
    "resting",
]  # fmt: skip


class ModelFault(Exception):
    """A call that a provider did not answer. Never seen by workflows: an ask tries again, turns to the next
    model of the profile, or fails with `ModelFailedError`."""

    def __init__(
        self,
        kind: FaultKind,
        message: str,
        *,
        retry: bool = False,
        billed: bool = False,
        down: bool = False,
        status: int = 0,
        wait_s: float | None = None,
        calls: int = 1,
        mode: str = "",
        hint: str = "",
    ) -> None:
        super().__init__(message)
        self.kind: FaultKind = kind
        self.retry = retry
        """The same call may succeed a moment later."""
        self.billed = billed
        """The provider may have generated, and charged for, an answer that never arrived."""
        self.down = down
        """It speaks for a provider that is down, not for a call that was wrong."""
        self.status = status
        """The HTTP status, where there was one."""
        self.wait_s = wait_s
        """How long the provider asks to wait."""
        self.calls = calls
        """Requests that went out."""
        self.mode = mode
        """How a structured reply was asked for."""
        self.hint = hint
        """What to do about it, where there is something: half a sentence without a full stop."""


MORE_TIME = "For a slow model raise `reply_timeout` in podium.toml, or give --reply-timeout"
"""What to do about a reply that took too long."""

RETRIED_STATUSES = frozenset({408, 409, 429})
"""Error replies below 500 that are worth another attempt."""


def retried(status: int) -> bool:
    """Whether the same request may be answered later."""
    return status in RETRIED_STATUSES or status >= 500
