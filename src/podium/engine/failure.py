"""Text of exceptions, and exceptions that must not leave a step unchanged."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

T = TypeVar("T")

_SHOWN_PARTS = 3
"""Maximum number of exceptions of a group that are described."""


def text_of(error: BaseException) -> str:
    """Return the text of an exception. If its `__str__` fails, with any exception, say so."""
    try:
        return str.__str__(str(error))
    except BaseException as trouble:  # noqa: BLE001 - code of the user's, run while a failure is recorded
        return f"its text cannot be read, its __str__ raised {type(trouble).__name__}"


def describe(error: BaseException) -> str:
    """Return the class and the text of an exception in one line; for a group also those of its members."""
    name = type(error).__name__
    if _is_group(error):
        parts = cast("BaseExceptionGroup[BaseException]", error).exceptions
        inside = "; ".join(map(describe, parts[:_SHOWN_PARTS]))
        more = f"; and {len(parts) - _SHOWN_PARTS} more" if len(parts) > _SHOWN_PARTS else ""
        return f"{name}: {inside}{more}"
    text = text_of(error)
    return f"{name}: {text}" if text else name


def reason_of(error: BaseException) -> str:
    """Return why a step failed. Includes the class where the text alone is not enough: `SystemExit(2)`."""
    if isinstance(error, Exception) and not _is_group(error):
        return text_of(error) or type(error).__name__
    return describe(error)


def _is_group(error: BaseException) -> bool:
    return isinstance(error, BaseExceptionGroup)


def is_close(error: BaseException, task: asyncio.Task[Any] | None) -> bool:
    """Return whether `GeneratorExit` came from the interpreter, which closes the coroutine of a task that
    will not run again. One raised inside the task is an ordinary failure."""
    return isinstance(error, GeneratorExit) and (task is None or running_task() is not task)


def running_task() -> asyncio.Task[Any] | None:
    """Return the task that runs now; `None` outside an event loop."""
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


def call_in_thread(fn: Callable[..., T], *args: Any) -> T:
    """Call a function in a worker thread and wrap `StopIteration` and `KeyboardInterrupt`. A future cannot
    hold `StopIteration`, so its waiter would hang. `KeyboardInterrupt` in a worker thread is never a real
    Ctrl-C and must not end the event loop."""
    try:
        return fn(*args)
    except (StopIteration, KeyboardInterrupt) as error:
        raise RuntimeError(f"the function raised {describe(error)}") from error


def unawaited(value: Any) -> str:
    """Return what is wrong with a result that still has to be awaited or iterated; empty for any other.
    Closes a coroutine, since it will never be awaited."""
    if inspect.iscoroutine(value):
        value.close()
        return "it was never awaited; write `return await …`"
    if inspect.isasyncgen(value) or inspect.isgenerator(value):
        return "it has to be iterated; collect what it yields and return that"
    if inspect.isawaitable(value):
        return "it has to be awaited; write `return await …`"
    return ""
