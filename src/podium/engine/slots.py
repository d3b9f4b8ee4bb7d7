"""How many calls of a run may be under way at once."""

from __future__ import annotations

import asyncio
from collections import deque


class Slots:
    """The slots of one run. Whoever gives one back hands it to the one who has waited longest: nobody who
    comes just then is quicker, and a slot that is free is taken without a wait."""

    __slots__ = ("_free", "_line", "_loop")

    def __init__(self, count: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._free = count
        self._line: deque[asyncio.Future[None]] | None = None
        """Those who wait; most runs that are idle never had any, and an empty line takes half a kilobyte."""

    def take(self) -> asyncio.Future[None] | None:
        """`None`: it is yours; else it is when `taken` of this returns."""
        if self._free:
            self._free -= 1
            return None
        turn: asyncio.Future[None] = self._loop.create_future()
        if self._line is None:
            self._line = deque()
        self._line.append(turn)
        return turn

    async def taken(self, turn: asyncio.Future[None]) -> None:
        """Wait in line. Whoever leaves it when the slot is there already hands it on."""
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give()
            raise

    def give(self) -> None:
        """Give one back."""
        line = self._line
        while line:
            turn = line.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1
