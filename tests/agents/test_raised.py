"""Whatever the user's code raises or returns: the step has failed, and the run says why."""

from __future__ import annotations

import asyncio
import gc
import warnings
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest

import podium
from podium.engine.failure import is_close
from podium.engine.log import Store
from podium.models.events import ModelAttempted
from podium.models.model import FREE, Call, OnDelta, Price, Reply, worst_case
from podium.settings import Settings

AGENT = podium.Agent("writer")


class OddError(BaseException):
    """No `Exception`."""


class MuteError(Exception):
    """Cannot say what it is."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


class LeavingError(Exception):
    """Leaves while it says what it is."""

    def __str__(self) -> str:
        raise SystemExit(3)


RAISED: list[tuple[BaseException, str]] = [
    (GeneratorExit("gone"), "GeneratorExit: gone"),
    (StopIteration("end"), "StopIteration"),
    (StopAsyncIteration("end"), "end"),
    (SystemExit(2), "SystemExit: 2"),
    (asyncio.CancelledError("inner"), "CancelledError: inner"),
    (OddError("odd"), "OddError: odd"),
    (
        ExceptionGroup("both", [ValueError("a"), KeyError("b")]),
        "ExceptionGroup: ValueError: a; KeyError: 'b'",
    ),
    (BaseExceptionGroup("all", [OddError("o")]), "BaseExceptionGroup: OddError: o"),
    (MuteError(), "its text cannot be read, its __str__ raised RuntimeError"),
    (LeavingError(), "its text cannot be read, its __str__ raised SystemExit"),
    (TimeoutError(), "TimeoutError"),
]
KINDS = [type(error).__name__ for error, _ in RAISED]


class Given:
    """A model object that answers with what a function returns."""

    name = "given"
    rehearsal = False
    price: Price = FREE

    def __init__(self, answer: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        self._answer = answer

    async def complete(self, call: Call, on_delta: OnDelta | None = None) -> Reply:
        return await self._answer()

    def worst_case(self, call: Call) -> podium.Charge:
        return worst_case(call, FREE)


async def asked(store: Store, model: Any) -> podium.RunResult:
    @podium.workflow
    async def flow(run: podium.Run, request: str) -> str:
        return await run.ask(AGENT, "write", prompt="a tale")

    return await podium.run(flow, "x", model=model, store=store, settings=Settings())


async def stepped(store: Store, fn: Callable[..., Any]) -> podium.RunResult:
    @podium.workflow
    async def flow(run: podium.Run, request: str) -> Any:
        return await run.step("do", fn)

    return await podium.run(flow, "x", model="rehearsal", store=store, settings=Settings())


async def attempts(store: Store, result: podium.RunResult) -> list[bool]:
    events = [row.to_event(result.run_id).data for row in await store.read(result.run_id)]
    return [event.ok for event in events if isinstance(event, ModelAttempted)]


@pytest.mark.parametrize(("error", "said"), RAISED, ids=KINDS)
async def test_what_a_model_function_raises_is_a_failed_call(
    store: Store, error: BaseException, said: str
) -> None:
    async def raising(call: podium.Call) -> str:
        raise error

    result = await asked(store, raising)
    assert result.status == "failed"
    assert result.error.startswith("write: ")
    assert said in result.error
    assert await attempts(store, result) == [False]


@pytest.mark.parametrize(("error", "said"), RAISED, ids=KINDS)
async def test_what_a_model_object_raises_is_a_failed_call(
    store: Store, error: BaseException, said: str
) -> None:
    async def raising() -> str:
        raise error

    result = await asked(store, Given(raising))
    assert result.status == "failed"
    assert said in result.error
    assert await attempts(store, result) == [False]


@pytest.mark.parametrize(("error", "said"), RAISED, ids=KINDS)
async def test_what_an_async_step_raises_is_its_outcome(
    store: Store, error: BaseException, said: str
) -> None:
    async def raising() -> str:
        raise error

    result = await stepped(store, raising)
    assert result.status == "failed"
    assert result.error.startswith("do: ")
    assert said in result.error


@pytest.mark.parametrize(
    ("error", "said"),
    [*RAISED, (KeyboardInterrupt(), "KeyboardInterrupt")],
    ids=[*KINDS, "KeyboardInterrupt"],
)
async def test_what_a_step_in_a_thread_raises_is_its_outcome(
    store: Store, error: BaseException, said: str
) -> None:
    def raising() -> str:
        raise error

    result = await stepped(store, raising)
    assert result.status == "failed"
    assert result.error.startswith("do: ")
    assert said in result.error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (GeneratorExit("gone"), "The workflow raised GeneratorExit: gone."),
        (OddError("odd"), "The workflow raised OddError: odd."),
        (MuteError(), "its text cannot be read"),
    ],
    ids=["GeneratorExit", "OddError", "MuteError"],
)
@pytest.mark.parametrize("gathered", [False, True], ids=["itself", "in a branch"])
async def test_what_a_workflow_raises_ends_its_run_as_failed(
    store: Store, error: BaseException, said: str, gathered: bool
) -> None:
    async def raising() -> None:
        raise error

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> None:
        if not gathered:
            await raising()
        outcomes = await run.gather({"one": raising()})
        if isinstance(outcomes["one"], podium.Failed):
            raise outcomes["one"].error

    result = await podium.run(flow, "x", model="rehearsal", store=store, settings=Settings())
    assert result.status == "failed"
    assert said in result.error


async def pieces() -> AsyncIterator[str]:
    yield "a"


async def late() -> str:
    return "a"


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (pieces, "it has to be iterated; collect what it yields"),
        (late, "it was never awaited; write `return await"),
    ],
)
@pytest.mark.parametrize("how", ["function", "object", "step"])
async def test_what_is_still_to_be_awaited_is_named(
    store: Store, how: str, made: Callable[[], Any], said: str
) -> None:
    async def returning(*call: Any) -> Any:
        return made()

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a coroutine that is never awaited would be a warning of Python's
        if how == "step":
            result = await stepped(store, returning)
        else:
            result = await asked(store, Given(returning) if how == "object" else returning)
        gc.collect()
    assert result.status == "failed"
    assert said in result.error


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("text", "str, not a Reply"),
        (None, "NoneType, not a Reply"),
        (Reply(b"bytes"), "a Reply whose text is bytes, not a string"),  # type: ignore[arg-type]
        (Reply("x" * 100_000_001), "100,000,001 characters; at most 100,000,000 are accepted"),
        (Reply("x", model=3), "a Reply whose `model` is not a string"),  # type: ignore[arg-type]
        (Reply("x", {"input_tokens": 1}), "a Reply whose usage is dict, not a Usage"),  # type: ignore[arg-type]
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 100 else "",
)
async def test_a_model_object_must_return_a_reply(store: Store, reply: Any, said: str) -> None:
    async def returning() -> Any:
        return reply

    result = await asked(store, Given(returning))
    assert result.status == "failed"
    assert f"the model returned {said}" in result.error
    assert await attempts(store, result) == [False]


def test_a_step_of_a_loop_that_has_gone_has_not_failed() -> None:
    """The interpreter closes its coroutine with `GeneratorExit`, outside of its task."""
    seen: list[bool] = []

    async def waiting() -> None:
        task = asyncio.current_task()
        try:
            await asyncio.Event().wait()
        except GeneratorExit as error:
            seen.append(is_close(error, task))
            raise

    loop = asyncio.new_event_loop()
    coroutine = waiting()
    task = loop.create_task(coroutine)
    loop.run_until_complete(asyncio.sleep(0))
    coroutine.close()
    assert seen == [True]
    task.cancel()
    loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
    loop.close()
