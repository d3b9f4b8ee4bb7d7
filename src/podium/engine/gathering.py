"""Branches side by side: each in a task of its own, none able to sink the others."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextvars import copy_context
from inspect import CORO_CREATED, getcoroutinestate
from typing import Any, Generic, TypeVar

from podium.engine.branch import CURRENT, Branch, Failed, Ok
from podium.engine.core import Core
from podium.engine.ending import cancelled_inside
from podium.engine.failure import is_close
from podium.errors import ConcurrentBranchError, DuplicateKeyError, ExitError, ReplayDivergedError, StoreError

T = TypeVar("T")

_NEVER_DATA = (StoreError, ReplayDivergedError, ConcurrentBranchError, DuplicateKeyError)
"""Errors that end the run instead of one branch: hiding them would hide a fault of the program."""


class Gathering(Generic[T]):
    """One `run.gather` under way."""

    __slots__ = ("_core", "_coroutines", "_done", "_left", "_outcomes", "_tasks")

    def __init__(self, core: Core, count: int) -> None:
        self._core = core
        self._left = count
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._outcomes: list[Ok[T] | Failed | BaseException | None] = [None] * count
        self._tasks: list[asyncio.Task[None]] = []
        self._coroutines: list[Coroutine[Any, Any, T]] = []
        core.split(count)

    def spawn(self, child: Branch, coroutine: Coroutine[Any, Any, T]) -> None:
        """Walk a branch in a task that knows it as its own."""
        context = copy_context()
        context.run(CURRENT.set, child)
        walk = self._walk(len(self._tasks), child, coroutine)
        task = asyncio.get_running_loop().create_task(walk, name=child.path, context=context)
        child.task = task
        self._tasks.append(task)
        self._coroutines.append(coroutine)

    async def _walk(self, index: int, child: Branch, coroutine: Coroutine[Any, Any, T]) -> None:
        try:
            if (turn := self._core.turns.take()) is not None:
                await turn
            self._outcomes[index] = Ok(await coroutine)
        except _NEVER_DATA as error:
            self._outcomes[index] = error
        except SystemExit as error:
            self._outcomes[index] = Failed(ExitError(error.code))
        except Exception as error:  # noqa: BLE001 - a failed branch is data
            self._outcomes[index] = Failed(error)
        except asyncio.CancelledError as error:
            self._outcomes[index] = self._stopped(error)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if is_close(error, self._tasks[index]):
                raise
            self._outcomes[index] = error  # `join` raises it
        finally:
            child.task = None  # task, context and branch would keep each other alive
            self._left -= 1
            self._core.branch_ended()
            if self._left == 0 and not self._done.done():
                self._done.set_result(None)

    def _stopped(self, error: asyncio.CancelledError) -> Failed | BaseException:
        """A branch was ordered to stop; or something in it was cancelled, which is that branch's failure."""
        task = asyncio.current_task()
        if self._core.stop is not None or task is None or task.cancelling():
            return error
        return Failed(cancelled_inside())

    def _close_unstarted(self) -> None:
        """A task that was cancelled before it began never came to await its coroutine."""
        for coroutine in self._coroutines:
            if getcoroutinestate(coroutine) == CORO_CREATED:
                coroutine.close()

    async def join(self) -> list[Ok[T] | Failed]:
        """Wait for all of them; what each came to, in the order in which they were spawned."""
        try:
            if self._tasks:
                await self._done
        except asyncio.CancelledError:
            for task in self._tasks:
                task.cancel()
            try:
                await asyncio.wait(self._tasks)
            finally:
                self._close_unstarted()
            raise
        finally:
            self._core.joined()
        return [_kept(outcome) for outcome in self._outcomes]


def _kept(outcome: Ok[T] | Failed | BaseException | None) -> Ok[T] | Failed:
    if isinstance(outcome, BaseException):
        raise outcome
    if outcome is None:
        raise asyncio.CancelledError("a branch ended without an outcome")
    return outcome
