"""The bars of a proof, and many runs at once."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
AT_ONCE = 32


class Bars:
    """The bars of a proof. Prints a line for each, and remembers whether one was missed."""

    def __init__(self) -> None:
        self.missed = False

    def check(self, name: str, found: object, wanted: object) -> None:
        """The figure must be exactly this."""
        self._print(name, found, found == wanted, f"must be {wanted}")

    def at_most(self, name: str, found: float, most: float, unit: str = "") -> None:
        self._print(name, f"{found:.3g}{unit}", found <= most, f"at most {most:g}{unit}")

    def _print(self, name: str, found: object, met: bool, wanted: str) -> None:
        self.missed |= not met
        print(f"{name}: {found} ({wanted}{'' if met else ', MISSED'})", flush=True)


async def at_once(work: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Await all, some at a time, so that runs share commits."""
    slots = asyncio.Semaphore(AT_ONCE)

    async def within(coroutine: Coroutine[Any, Any, T]) -> T:
        async with slots:
            return await coroutine

    return await asyncio.gather(*map(within, work))
