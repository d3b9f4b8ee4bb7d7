"""Finding a step again in the log: whether what it holds may still be used, and what it was."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, cast

from podium.engine.branch import Branch
from podium.engine.core import Core
from podium.engine.effect import failure_from
from podium.engine.events import BudgetExhausted, StepStale
from podium.engine.memo import Done
from podium.errors import BudgetExhaustedError, UsageError

NOT_HELD = object()
"""What `recall` answers for a step that has to run."""

Read = Callable[[Any], Any]


async def recall(core: Core, branch: Branch, path: str, mark: str, read: Read, by_fingerprint: bool) -> Any:
    """The recorded outcome of a step (a recorded failure is raised), or `NOT_HELD`."""
    done = core.memo.done.pop(path, None)
    seq, failure = core.memo.failed.pop(path, (0, None)) if done is None else (done.seq, None)
    known = failure.fingerprint if failure else done.fingerprint if done else None
    if known is None:
        if core.replaying:
            raise _missing(core, path)
        was_stale(core, branch, path)
        return NOT_HELD
    if known == mark and (by_fingerprint or seq >= branch.stale_before):
        was_stale(core, branch, path, seq)
        if failure is not None:
            raise failure_from(path, failure)
        if done is not None:
            return await _result(core, branch, path, done, read)
    if core.replaying:
        raise core.diverged(path, "its input differs from the recorded one")
    mark_stale(core, branch, path, "input changed" if known != mark else "an earlier step ran again")
    return NOT_HELD


def mark_stale(core: Core, branch: Branch, path: str, reason: str) -> None:
    """What the log holds is out of date: say so, and let the later steps of the branch run again too."""
    branch.stale_before = core.journal.append(path, StepStale(reason=reason))


def was_stale(core: Core, branch: Branch, path: str, seq: int | None = None) -> None:
    """If an earlier life ran this again (and recorded it at `seq`), what is older is out of date."""
    began = core.memo.stale.get(path, 0)
    if began > branch.stale_before and (seq is None or seq > began):
        branch.stale_before = began


async def _result(core: Core, branch: Branch, path: str, done: Done, read: Read) -> Any:
    branch.cut = done.cut
    if done.cut:
        core.memo.cut_steps.add(path)
        if core.replaying and path in core.memo.exhausted:  # the budget ended before it was continued
            core.ran_out(path, _exhaustion(core.memo.exhausted[path]))
    try:
        return read(await core.result_of(done))
    except ValueError as error:  # msgspec's and pydantic's validation errors are ValueErrors
        if core.replaying:
            raise core.diverged(path, f"the recorded result no longer fits: {error}") from error
        core.check()
        if done.edited:  # somebody meant it: to ask a model instead would cost money and hide the mistake
            raise UsageError(
                f"The reply that was given for {path} does not fit: {_flaws(error)}.",
                hint="Fork again with a reply of the shape that `podium show RUN STEP` shows.",
            ) from error
        mark_stale(core, branch, path, "the recorded result no longer fits its type")
        return NOT_HELD


def _flaws(error: ValueError) -> str:
    """What is wrong with a value, field by field where the error tells, as pydantic's does."""
    listed: Any = getattr(error, "errors", None)
    if not callable(listed):
        return " ".join(str(error).split())[:500].rstrip(".")
    flaws: list[dict[str, Any]] = list(cast(Iterable[dict[str, Any]], listed()))
    told = [f"{'.'.join(map(str, one['loc'])) or 'the whole'}: {one['msg'].lower()}" for one in flaws[:5]]
    return "; ".join(told + ([f"and {len(flaws) - 5} more"] if len(flaws) > 5 else []))


def _missing(core: Core, path: str) -> Exception:
    """In a replay: the step was stopped by a budget then, or the code differs now."""
    told = core.memo.exhausted.get(path)
    if told is None:
        return core.diverged(path, "the log does not hold this step")
    return core.ran_out(path, _exhaustion(told))


def _exhaustion(event: BudgetExhausted) -> BudgetExhaustedError:
    """Return the error that a recorded exhausted budget stands for."""
    return BudgetExhaustedError(event.kind, event.scope, event.limit, event.spent, event.needed, event.kept)
