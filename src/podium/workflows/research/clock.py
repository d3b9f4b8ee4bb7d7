"""Time as a research run sees it: recorded, so that a replay tells the same, and handed in, so that a test
need not wait."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Protocol

from podium.agents.ask import Run


class Clock(Protocol):
    """What tells the time, and how long to wait."""

    async def now(self, run: Run, key: str) -> str:
        """An ISO time in UTC, the same whenever the run asks with this key."""
        ...

    async def wait(self, run: Run, seconds: float) -> None: ...


class WallClock:
    """The real one. A wait survives a restart."""

    async def now(self, run: Run, key: str) -> str:
        return await run.step("clock", read_time, key=key)

    async def wait(self, run: Run, seconds: float) -> None:
        await run.sleep(seconds)


async def read_time() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
