"""Calls that a time-out cut off, and the question what happened to those that must not be repeated."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import msgspec

from podium.engine.branch import CURRENT
from podium.engine.codec import encode
from podium.models.messages import ToolOutcome

if TYPE_CHECKING:
    from podium.agents.ask import Run

GRACE_S = 2.0
"""Seconds that a call that must not be repeated has to return after it was cut off."""
UNKNOWN = (
    "The outcome of this call of {name} is unknown: the run was cut off while it was executed. Do not assume "
    "that it took effect, and do not repeat it."
)


class CutCall(msgspec.Struct, frozen=True, omit_defaults=True):
    """A call that must not be repeated, was begun, and has no known outcome yet."""

    ask: str
    """Path of its ask."""
    number: str
    tool: str
    arguments: Any
    call_id: str
    told: bool = False
    """The model is told that the outcome is unknown; no person is asked."""

    @property
    def path(self) -> str:
        return f"{self.ask}/tool[{self.number}]"

    @property
    def index(self) -> str:
        """Its number in the model's turn, without the marks of repetitions."""
        return self.number.partition(".again")[0]


class LoopEnd(msgspec.Struct, frozen=True, omit_defaults=True):
    """The end of an ask by its time-out, as the log keeps it."""

    turn: int = 0
    """The turn whose calls were cut off; 0: it was not in calls."""
    begun: int = 0
    """How many of these calls had begun."""
    finished: tuple[str, ...] = ()
    """Numbers of the calls of this turn that had finished."""
    cut_off: tuple[CutCall, ...] = ()


class BranchEnd(msgspec.Struct, frozen=True, omit_defaults=True):
    """The early end of a composite tool whose agents had calls under way, as the log keeps it."""

    outcome: ToolOutcome
    cut_off: tuple[CutCall, ...]


class LoopEndedError(Exception):
    """Raised inside a loop of turns at the place where the log says that it ended."""


async def stoppable(work: Coroutine[Any, Any, Any]) -> Any:
    """Execute a call that must not be repeated in a task of its own. If it is cut off, it gets `GRACE_S`
    seconds to return a result; an exception that it raises then does not mean that it took no effect."""
    task = asyncio.create_task(_caught(work))
    try:
        value, error = await asyncio.shield(task)
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait([task], timeout=GRACE_S)
        if not task.done() or task.result()[1] is not None:
            raise
        return task.result()[0]
    if error is not None:
        raise error
    return value


async def _caught(work: Coroutine[Any, Any, Any]) -> tuple[Any, BaseException | None]:
    """Return the result of some work, or its exception."""
    try:
        return await work, None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - raised again by the caller
        return None, error


async def cut_off_below(run: Run, path: str) -> tuple[CutCall, ...]:
    """Return the calls of unknown outcome below a path. Waits until those that are under way have stopped."""
    core, below = run.core, f"{path}/"
    ending = [
        effect.task
        for effect in core.effects
        if effect.task is not None and effect.path.startswith(below) and effect.path in run.undecided
    ]
    if ending:
        await asyncio.wait(ending)
    return tuple(call for place, call in run.undecided.items() if place.startswith(below))


async def ask_what_happened(run: Run, call: CutCall, *, retry: bool = True) -> ToolOutcome | None:
    """Ask a person about a call whose outcome is unknown. None: execute it again."""
    decided = await decision(
        run,
        f"Did {call.tool} take effect? The run was cut off during this call, and it must not happen twice.",
        {"tool": call.tool, "arguments": call.arguments, "call_id": call.call_id},
        f"outcome {call.number}",
        tool=call.tool,
        choices=("retry", "skip") if retry else ("skip",),
    )
    run.undecided.pop(call.path, None)
    return decided


async def decision(
    run: Run,
    question: str,
    details: dict[str, Any],
    key: str,
    *,
    tool: str,
    choices: Sequence[str] = ("retry", "skip"),
) -> ToolOutcome | None:
    """Ask a person for the outcome of a call. None: execute it (again)."""
    answer = await run.wait_for(question, choices=choices, details=details, answers={"result": {}}, key=key)
    if answer == "retry":
        return None
    if isinstance(answer, dict) and "result" in answer:
        return ToolOutcome(text_of(cast("dict[str, Any]", answer)["result"]))
    return ToolOutcome(UNKNOWN.format(name=tool), failed=True)


async def decide_below(run: Run, calls: Sequence[CutCall]) -> None:
    """Establish the outcomes of calls of sub-agents that have ended. They cannot be made again, because no
    model would read the result."""
    for call in calls:
        if call.told:
            run.undecided.pop(call.path, None)
            continue
        with inside(run, call.ask):
            await ask_what_happened(run, call, retry=False)


@contextmanager
def inside(run: Run, path: str) -> Generator[None]:
    """Work in a branch at a path of this run."""
    token = CURRENT.set(run.core.enter().inside(path))
    try:
        yield
    finally:
        CURRENT.reset(token)


def text_of(value: Any) -> str:
    """Return a tool's result as the model reads it: text as it is, other values as JSON."""
    if value is None:
        return "done"
    return value if isinstance(value, str) else encode(value).decode()
