"""Implementation of `gather`, `emit`, `artifact` and `wait_for` of `Run`."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from contextvars import copy_context
from inspect import CORO_CREATED, getcoroutinestate
from typing import Any, Generic, TypeVar

from podium.engine.branch import CURRENT, Branch, Failed, Ok
from podium.engine.codec import content_hash, encode, fingerprint
from podium.engine.core import Asking, Core, PersonAnswer
from podium.engine.ending import cancelled_inside
from podium.engine.events import ArtifactCreated, EventData, RunAnswered, RunWaiting
from podium.engine.failure import is_close
from podium.engine.redaction import clean_name
from podium.engine.steps import mark_stale, was_stale
from podium.errors import (
    ConcurrentBranchError,
    DuplicateKeyError,
    ExitError,
    ReplayDivergedError,
    RunStoppedError,
    StoreError,
)

T = TypeVar("T")

_NEVER_DATA = (StoreError, ReplayDivergedError, ConcurrentBranchError, DuplicateKeyError, RunStoppedError)
"""Errors that end the run instead of one branch, because they indicate a bug or a broken store."""


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
        """Run a branch in a task of its own, with the branch as its current one."""
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
            child.task = None  # breaks the reference cycle of task, context and branch
            self._left -= 1
            self._core.branch_ended()
            if self._left == 0 and not self._done.done():
                self._done.set_result(None)

    def _stopped(self, error: asyncio.CancelledError) -> Failed | BaseException:
        """Return the outcome of a cancelled branch: the stop order, or a failure if the cancellation came
        from inside the branch."""
        task = asyncio.current_task()
        if self._core.stop is not None or task is None or task.cancelling():
            return error
        return Failed(cancelled_inside())

    def _close_unstarted(self) -> None:
        """Close the coroutines of tasks that were cancelled before they started."""
        for coroutine in self._coroutines:
            if getcoroutinestate(coroutine) == CORO_CREATED:
                coroutine.close()

    async def join(self) -> list[Ok[T] | Failed]:
        """Wait for all branches; return their outcomes in the order in which they were spawned."""
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
        return [_outcome(outcome) for outcome in self._outcomes]


def _outcome(outcome: Ok[T] | Failed | BaseException | None) -> Ok[T] | Failed:
    if isinstance(outcome, BaseException):
        raise outcome
    if outcome is None:
        raise asyncio.CancelledError("a branch ended without an outcome")
    return outcome


ENGINE_NAMESPACES = frozenset({"", "run", "step", "model", "budget", "artifact"})


WELCOME: set[str] = set()
"""Event types that passed `check_namespace`, as a cache."""


def check_namespace(data: EventData) -> None:
    """Raise `ValueError` for events that only the engine may write."""
    if data.type.split(".", 1)[0] in ENGINE_NAMESPACES:
        raise ValueError(f"an event of type {data.type!r} belongs to the engine; use a namespace of your own")
    WELCOME.add(data.type)


def emit_once(core: Core, data: EventData) -> None:
    """Append an event at the current branch, unless it was logged before a resume."""
    branch = core.enter()
    emitted = core.memo.emitted
    known = emitted.get((branch.path, data.type)) if emitted else None
    if known and not branch.stale_before:
        known.popleft()
        return
    raw = core.journal.redact(encode(data))
    if known and hash(raw) in known:  # steps ran again here, so only the content identifies the event
        known.remove(hash(raw))
        return
    if core.replaying:
        raise core.diverged(branch.path, f"the log does not hold this {data.type}")
    core.journal.append_raw(branch.path, data.type, raw)


WAIT_BYTES = 65_536
"""Artifacts above this many bytes are committed at once, so that memory does not fill up. Smaller ones are
written with the next step: a crash before that loses them, and the resumed workflow stores them again."""


async def store_artifact(core: Core, name: str, data: bytes | str, media_type: str) -> ArtifactCreated:
    """Store an artifact, unless the log holds the same one already."""
    name = clean_name(name, core.journal.redact)
    path = core.enter().take("artifact", name)
    content = core.journal.redact(data.encode("utf-8", "replace") if isinstance(data, str) else data)
    made = core.memo.artifacts.get(path)
    if made is None or made.blob != content_hash(content):
        if core.replaying:
            raise core.diverged(path, "the log does not hold this artifact")
        digest = core.journal.put_blob(content)
        made = ArtifactCreated(
            id=fingerprint([path, digest])[:12],
            name=name,
            media_type=media_type,
            bytes=len(content),
            blob=digest,
        )
        core.emit(path, made)
        if len(content) > WAIT_BYTES:
            await core.committed()
    core.artifacts[path] = made
    return made


def question_fingerprint(
    question: str, choices: Sequence[str], details: Any, answers: Mapping[str, Any]
) -> str:
    """Return the fingerprint with which a question and its answer are recorded."""
    return fingerprint([question, list(choices), *([details, answers] if answers else [])])


async def ask_person(
    core: Core,
    question: str,
    choices: Sequence[str],
    details: Any,
    key: str | None,
    answers: Mapping[str, Any],
) -> Any:
    """Return the recorded answer, or wait for a person's."""
    branch = core.enter()
    path = branch.take("question", key)
    mark = question_fingerprint(question, choices, details, answers)
    seq, known = core.memo.answered.get(path, (0, None))
    if known is not None and known.fingerprint == mark and seq >= branch.stale_before:
        was_stale(core, branch, path, seq)
        return known.answer
    if core.replaying:
        raise core.diverged(path, "the log does not hold an answer to this question")
    if known is not None:
        changed = known.fingerprint != mark
        mark_stale(core, branch, path, "the question changed" if changed else "an earlier step ran again")
    asking = core.as_logged(
        RunWaiting(
            question=question,
            choices=list(choices),
            details=details,
            answers=dict(answers),
            fingerprint=mark,
        )
    )
    seq, pending = core.memo.asked.get(path, (0, None))
    if pending is None or pending.fingerprint != mark:
        seq = core.journal.append(path, asking)
        await core.committed()
    core.asked[path] = asking
    try:
        answer = await _answer(core, path, seq)
    except asyncio.CancelledError:
        if core.stop is None:  # the workflow stopped waiting for the answer
            del core.asked[path]
        raise
    del core.asked[path]
    answered = core.as_logged(RunAnswered(answer=answer.value, by=answer.by, fingerprint=mark))
    core.emit(path, answered)
    await core.committed()
    core.handled.append(answer.message)
    return answered.answer


async def _answer(core: Core, path: str, seq: int) -> PersonAnswer:
    asking = Asking(seq, asyncio.get_running_loop().create_future())
    core.questions[path] = asking
    for early in core.early_answers.pop(path, ()):
        core.answer(path, early)
    core.rest()
    try:
        return await asking.future
    finally:
        del core.questions[path]
        core.wake()
