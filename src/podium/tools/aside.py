"""Blocking work beside the event loop that never holds up a cancel, nor the end of the process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


async def aside(work: Callable[..., T], *args: Any) -> T:
    """Run `work` in a thread of its own.

    The threads of `asyncio.to_thread` are waited for when the loop ends, so that a name server that does not
    answer would keep a cancelled run alive; this one is left behind.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def tell(result: T | None, error: BaseException | None) -> None:
        if done.cancelled():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type]

    def work_and_tell() -> None:
        result, raised = None, None
        try:
            result = work(*args)
        except BaseException as error:  # noqa: BLE001 - it is raised again where it is waited for
            raised = error
        if not loop.is_closed():
            loop.call_soon_threadsafe(tell, result, raised)

    threading.Thread(target=work_and_tell, name=f"podium-{work.__name__}", daemon=True).start()
    return await done
