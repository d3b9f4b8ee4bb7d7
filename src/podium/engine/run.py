"""`Run`: everything that a workflow does durably goes through it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import copy_context
from datetime import UTC, datetime
from typing import Any, TypeVar, TypeVarTuple, overload

from podium.engine.branch import CURRENT, Branch, Deadline, Failed, Ok
from podium.engine.budget import Budget
from podium.engine.codec import content_hash, encode, fingerprint, reader
from podium.engine.core import Answer, Core
from podium.engine.effect import Effect, failure_from
from podium.engine.events import (
    ArtifactCreated,
    Charge,
    EventData,
    RunAnswered,
    RunWaiting,
    RunWarned,
    StepStale,
    StepStarted,
)
from podium.engine.memo import Done
from podium.engine.retry import Retry
from podium.engine.steps import PlainStep, returned_type
from podium.errors import (
    BudgetExhaustedError,
    ConcurrentBranchError,
    DuplicateKeyError,
    ReplayDivergedError,
    StoreError,
)

T = TypeVar("T")
K = TypeVar("K")
Ts = TypeVarTuple("Ts")

_NEVER_DATA = (StoreError, ReplayDivergedError, ConcurrentBranchError, DuplicateKeyError)
"""Errors that end the run instead of one branch: hiding them would hide a fault of the program."""


class Run:
    """One run, as its workflow sees it. Steps, events and waits belong to the branch that the
    current task is in."""

    def __init__(
        self,
        run_id: str,
        workflow: str,
        request: Any,
        options: Mapping[str, Any],
        config: Mapping[str, Any],
        core: Core,
    ) -> None:
        self.id = run_id
        self.workflow = workflow
        """The workflow's name."""
        self.request = request
        self.options = dict(options)
        """The workflow's own options, as they were given."""
        self.config = dict(config)
        """What the run was started with: models, gates, cache."""
        self._core = core

    @property
    def path(self) -> str:
        """Where the current task is."""
        return CURRENT.get().path

    @property
    def spent(self) -> Charge:
        """What the run has spent so far."""
        return self._core.ledger.spent

    @property
    def budget(self) -> Budget:
        """The run's ceilings."""
        return self._core.budget

    @property
    def driven_s(self) -> float:
        """How long the run has been driven, in all its lives."""
        return self._core.clock.now()

    # ── steps ──

    @overload
    async def step(
        self, name: str, fn: Callable[[*Ts], Awaitable[T]], *args: *Ts, key: str | None = None,
        returns: Any = None, retry: Retry | None = None, timeout: float | None = None,
        cost: Charge | None = None,
    ) -> T: ...  # fmt: skip

    @overload
    async def step(
        self, name: str, fn: Callable[[*Ts], T], *args: *Ts, key: str | None = None, returns: Any = None,
        retry: Retry | None = None, timeout: float | None = None, cost: Charge | None = None,
    ) -> T: ...  # fmt: skip

    async def step(
        self, name: str, fn: Callable[..., Any], *args: Any, key: str | None = None, returns: Any = None,
        retry: Retry | None = None, timeout: float | None = None, cost: Charge | None = None,
    ) -> Any:  # fmt: skip
        """Do something once: `await run.step("fetch", fetch, url)`.

        `args` are the step's inputs: if they change, the step runs again. The result is written as JSON
        and read back as `returns` (by default the function's return annotation).
        """
        work = PlainStep(fn, args, retry, cost)
        if returns is None:
            returns = returned_type(fn)
        return await self.perform(name, work, inputs=args, key=key, returns=returns, timeout=timeout)

    async def perform(
        self,
        name: str,
        work: Callable[[Effect], Awaitable[Any]],
        *,
        inputs: Any,
        key: str | None = None,
        returns: Any = None,
        kind: str = "step",
        about: dict[str, Any] | None = None,
        timeout: float | None = None,
        by_fingerprint: bool = False,
    ) -> Any:
        """The primitive under `step` and `ask`: run `work` unless the log holds its outcome."""
        core = self._core
        branch = core.enter()
        path = branch.take(name, key)
        mark = fingerprint(inputs) if inputs else ""
        read = reader(returns)
        if core.memo.done or core.memo.failed or core.replaying:
            found, value = await self._recall(branch, path, mark, read, by_fingerprint)
            if found:
                return value
        time_left = core.remaining_time(branch, path) if branch.deadline else None
        if kind == "step":
            core.journal.append_raw(path, "step.started", b"{}")
        else:
            core.journal.append(path, StepStarted(kind=kind, about=about or {}))
        effect = Effect(self, core, branch, path, mark, read)
        effect.start(work, timeout, time_left)
        return await effect.waiter

    async def _recall(
        self, branch: Branch, path: str, mark: str, read: Callable[[Any], Any], by_fingerprint: bool
    ) -> tuple[bool, Any]:
        """What the log holds for a step, if it may still be used."""
        core, memo = self._core, self._core.memo
        failure = memo.failed.pop(path, None)
        done = memo.done.pop(path, None)
        known = failure.fingerprint if failure else done.fingerprint if done else None
        if known is None:
            if core.replaying:
                self._replay_missing(path)
            return False, None
        if known == mark and (by_fingerprint or not branch.dirty):
            if failure is not None:
                raise failure_from(path, failure)
            if done is not None:
                return await self._read_done(branch, path, done, read)
        if core.replaying:
            raise ReplayDivergedError(path, "its input differs from the recorded one")
        self._mark_stale(branch, path, "input changed" if known != mark else "an earlier step ran again")
        return False, None

    async def _read_done(
        self, branch: Branch, path: str, done: Done, read: Callable[[Any], Any]
    ) -> tuple[bool, Any]:
        try:
            return True, read(await self._core.result_of(self.id, done))
        except ValueError as error:  # msgspec's and pydantic's validation errors are ValueErrors
            if self._core.replaying:
                raise ReplayDivergedError(path, f"the recorded result no longer fits: {error}") from error
            self._mark_stale(branch, path, "the recorded result no longer fits its type")
            return False, None

    def _mark_stale(self, branch: Branch, path: str, reason: str) -> None:
        branch.dirty = True
        self._core.emit(path, StepStale(reason=reason))

    def _replay_missing(self, path: str) -> None:
        exhausted = self._core.memo.exhausted.get(path)
        if exhausted is None:
            raise ReplayDivergedError(path, "the log does not hold this step")
        error = BudgetExhaustedError(
            exhausted.kind, exhausted.scope, exhausted.limit, exhausted.spent, exhausted.needed
        )
        raise self._core.ran_out(path, error)

    # ── branches ──

    async def gather(self, branches: Mapping[K, Coroutine[Any, Any, T]]) -> dict[K, Ok[T] | Failed]:
        """Run coroutines side by side, each in a branch of its own. One that fails is data
        (`Failed`) and does not disturb the others. Results come in the order of the mapping."""
        core = self._core
        try:
            parent = core.enter()
            children = [self._child(parent, str(name)) for name in branches]
        except BaseException:
            for coroutine in branches.values():
                coroutine.close()
            raise
        core.split(len(children))
        tasks = [
            self._spawn(child, coroutine)
            for child, coroutine in zip(children, branches.values(), strict=True)
        ]
        try:
            if tasks:
                await asyncio.wait(tasks)
        except asyncio.CancelledError:
            await _cancel_all(tasks)
            raise
        finally:
            core.joined()
        outcomes = [_outcome(task) for task in tasks]  # all of them first: none may go unnoticed
        return {name: _kept(outcome) for name, outcome in zip(branches, outcomes, strict=True)}

    def _child(self, parent: Branch, name: str, key: str | None = None) -> Branch:
        path = parent.take(name, key)
        child = Branch(path, None, parent)
        limit = child.depth_limit
        if limit is not None and child.depth > limit:
            raise self._core.ran_out(
                path, BudgetExhaustedError("depth", child.depth_scope, limit, limit, child.depth)
            )
        return child

    def _spawn(self, child: Branch, coroutine: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        context = copy_context()
        context.run(CURRENT.set, child)
        task = asyncio.get_running_loop().create_task(self._in_branch(coroutine), context=context)
        child.task = task
        return task

    async def _in_branch(self, coroutine: Coroutine[Any, Any, T]) -> T:
        try:
            return await coroutine
        finally:
            self._core.branch_ended()

    @asynccontextmanager
    async def branch(
        self, name: str, *, key: str | None = None, budget: Budget | None = None
    ) -> AsyncGenerator[Run]:
        """A named part of the run, with a ceiling of its own if one is given:
        `async with run.branch("story", budget=Budget(usd=0.50)): …`"""
        core = self._core
        parent = core.enter()
        child = self._child(parent, name, key)
        child.task = parent.task
        token = CURRENT.set(child)
        scope = core.open_scope(child.path, budget) if budget is not None else None
        try:
            if budget is not None and scope is not None:
                await self._limit(child, budget)
                child.scopes = (scope, *child.scopes) if scope.limited else child.scopes
            yield self
        finally:
            CURRENT.reset(token)
            if scope is not None:
                core.close_scope(scope)

    async def _limit(self, child: Branch, budget: Budget) -> None:
        if budget.depth is not None and (
            child.depth_limit is None or child.depth + budget.depth < child.depth_limit
        ):
            child.depth_limit = child.depth + budget.depth
            child.depth_scope = child.path
        if budget.seconds is not None:
            opened = await self.perform("opened", self._driven, inputs=None, returns=float, kind="clock")
            child.deadline = [*child.deadline, Deadline(child.path, budget.seconds, opened + budget.seconds)]

    async def _driven(self, effect: Effect) -> float:
        return self._core.clock.now()

    @asynccontextmanager
    async def closing(self) -> AsyncGenerator[Run]:
        """Steps in here may draw on the closing reserve: for the last words of a run that is out of
        budget. `async with run.closing(): …`"""
        branch = self._core.enter()
        before, branch.closing = branch.closing, True
        try:
            yield self
        finally:
            branch.closing = before

    # ── events and artifacts ──

    def emit(self, data: EventData) -> None:
        """Tell something that happened. A resume never tells it twice."""
        if data.type.split(".", 1)[0] in {"", "run", "step", "model", "budget", "artifact"}:
            raise ValueError(
                f"an event of type {data.type!r} belongs to the engine; use a namespace of your own"
            )
        self._emit(data)

    def warn(self, message: str) -> None:
        """Tell something that a reader of the result should know."""
        self._emit(RunWarned(message=message))
        self._core.warnings.append(message)

    def _emit(self, data: EventData) -> None:
        core = self._core
        branch = core.enter()
        nth = branch.count("!" + data.type)
        known = core.memo.emitted.get((branch.path, data.type), ())
        if nth < len(known) and not branch.dirty:
            return
        raw = core.journal.redact(encode(data))
        if nth < len(known) and known[nth] == hash(raw):
            return
        if core.replaying:
            raise ReplayDivergedError(branch.path, f"the log does not hold this {data.type}")
        core.journal.append_raw(branch.path, data.type, raw)

    async def artifact(self, name: str, data: bytes | str, media_type: str = "text/plain") -> ArtifactCreated:
        """Keep a file that the run has made."""
        core = self._core
        branch = core.enter()
        path = branch.take("artifact", name)
        content = core.journal.redact(data.encode("utf-8", "replace") if isinstance(data, str) else data)
        digest = content_hash(content)
        known = core.memo.artifacts.get(path)
        if known is not None and known.blob == digest:
            core.artifacts[path] = known
            return known
        if core.replaying:
            raise ReplayDivergedError(path, "the log does not hold this artifact")
        core.journal.put_blob(content)
        made = ArtifactCreated(
            id=fingerprint([path, digest])[:12],
            name=name,
            media_type=media_type,
            bytes=len(content),
            blob=digest,
        )
        core.emit(path, made)
        await core.journal.committed()
        core.artifacts[path] = made
        return made

    # ── waiting ──

    async def wait_for(
        self, question: str, *, choices: Sequence[str] = (), details: Any = None, key: str | None = None
    ) -> Any:
        """Ask a person and wait, for minutes or weeks: the run can be stopped and taken up meanwhile."""
        core = self._core
        branch = core.enter()
        path = branch.take("question", key)
        mark = fingerprint([question, list(choices)])
        known = core.memo.answered.get(path)
        if known is not None and known.fingerprint == mark and not branch.dirty:
            return known.answer
        if core.replaying:
            raise ReplayDivergedError(path, "the log does not hold an answer to this question")
        if known is not None:
            self._mark_stale(branch, path, "the question changed")
        asking = RunWaiting(question=question, choices=list(choices), details=details, fingerprint=mark)
        asked = core.memo.asked.get(path)
        if asked is None or asked.fingerprint != mark:
            core.emit(path, asking)
            await core.journal.committed()
        core.asked[path] = asking
        answer = await self._await_answer(path)
        del core.asked[path]
        core.emit(path, RunAnswered(answer=answer.value, by=answer.by, fingerprint=mark))
        await core.journal.committed()
        core.handled.append(answer.message)
        return answer.value

    async def approved(self, gate: str, question: str, *, details: Any = None) -> bool:
        """Pass a gate: ask a person if the run was started with `--approve GATE`, otherwise just go on."""
        if gate not in self.config.get("approve", ()):
            return True
        answer = await self.wait_for(question, choices=("approve", "reject"), details=details, key=gate)
        return answer == "approve"

    async def _await_answer(self, path: str) -> Answer:
        core = self._core
        early = core.early_answers.pop(path, None)
        if early is not None:
            return early
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        core.questions[path] = future
        core.rest(asleep=False)
        try:
            return await future
        finally:
            del core.questions[path]
            core.wake(asleep=False)

    async def sleep(self, seconds: float) -> None:
        """Sleep durably: the moment of waking is logged, so a restart does not start the wait again."""
        until = await self._wake_at(seconds)
        core = self._core
        if core.replaying:
            return
        left = until - time.time()
        if left <= 0:
            return
        core.rest(asleep=True)
        try:
            await asyncio.sleep(left)
        finally:
            core.wake(asleep=True)
        core.check()

    async def _wake_at(self, seconds: float) -> float:
        async def wake_at(effect: Effect) -> float:
            return time.time() + seconds

        return await self.perform(
            "sleep", wake_at, inputs=[seconds], returns=float, kind="sleep", about={"seconds": seconds}
        )

    async def now(self) -> datetime:
        """The time, recorded: the same in a replay."""

        async def read_clock(effect: Effect) -> float:
            return time.time()

        stamp = await self.perform("now", read_clock, inputs=None, returns=float, kind="clock")
        return datetime.fromtimestamp(stamp, UTC)

    # ── live viewers ──

    def publish_delta(self, path: str, attempt: int, offset: int, text: str) -> None:
        """Show a piece of a reply to whoever watches in this process. It is never logged."""
        for viewer in self._core.viewers:
            viewer((path, attempt, offset, text))


def _outcome(task: asyncio.Task[T]) -> Ok[T] | Failed | BaseException:
    """What a branch came to, or the error that must end its parent too."""
    if task.cancelled():
        return asyncio.CancelledError()
    error = task.exception()
    if error is None:
        return Ok(task.result())
    if isinstance(error, Exception) and not isinstance(error, _NEVER_DATA):
        return Failed(error)
    return error


def _kept(outcome: Ok[T] | Failed | BaseException) -> Ok[T] | Failed:
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


async def _cancel_all(tasks: Sequence[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.exception()
