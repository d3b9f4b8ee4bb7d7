"""`Run`, the interface through which a workflow does everything durable."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Protocol, TypeVar, TypeVarTuple, cast, overload

from msgspec.structs import replace

from podium.engine.branch import CURRENT, Branch, Deadline, Failed, Ok
from podium.engine.budget import Budget
from podium.engine.codec import fingerprint, reader
from podium.engine.core import Core
from podium.engine.effect import Effect, Raised
from podium.engine.events import ArtifactCreated, Charge, EventData, RunWarned, StepStarted
from podium.engine.log import Store
from podium.engine.operations import (
    WELCOME,
    Gathering,
    ask_person,
    check_namespace,
    emit_once,
    store_artifact,
)
from podium.engine.steps import NOT_HELD, PlainStep, Retry, recall, returned_type
from podium.errors import BudgetExhaustedError, StepFailedError, StoreError

T = TypeVar("T")
K = TypeVar("K")
Ts = TypeVarTuple("Ts")


class Resource(Protocol):
    """A value kept by `Run.resource`."""

    async def close(self) -> None: ...


R = TypeVar("R", bound=Resource)


class UntilExhausted:
    """A part of a workflow that ends early when a budget is exhausted; see `Run.until_exhausted`."""

    def __init__(self, warning: str, warn: Callable[[str], None], *, or_failed: bool) -> None:
        self.exhausted: BudgetExhaustedError | None = None
        """The exhausted budget that ended the part; None if there was none."""
        self._warning = warning
        self._warn = warn
        self._or_failed = or_failed

    async def __aenter__(self) -> UntilExhausted:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if isinstance(error, BudgetExhaustedError):
            self.exhausted, reason = error, error.message
        elif isinstance(error, StepFailedError) and self._or_failed:
            reason = error.reason
        else:
            return False
        if self._warning:
            self._warn(f"{self._warning}: {reason}")
        return True


class Run:
    """One run, as its workflow sees it. Steps, events and waits belong to the branch of the current task."""

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
        """The workflow's own options, as they were passed."""
        self.config = dict(config)
        """Settings that the run was started with: models, gates, cache."""
        self._core = core
        self._resources: dict[str, Resource] = {}
        self._resources_closed = False

    @property
    def path(self) -> str:
        """Path of the current branch."""
        return CURRENT.get().path

    @property
    def spent(self) -> Charge:
        """Total spending of the run so far."""
        return self._core.ledger.spent

    @property
    def budget(self) -> Budget:
        """The run's ceilings."""
        return self._core.budget

    @property
    def store(self) -> Store:
        """The store that holds this run and others. Read from it inside a step, so that a replay sees the
        same."""
        return self._core.journal.store

    @property
    def driven_s(self) -> float:
        """Total seconds that the run has been driven, over all stretches."""
        return self._core.clock.now()

    @property
    def replaying(self) -> bool:
        """True in a replay, which only reads the log: the workflow must have no side effects."""
        return self._core.replaying

    @property
    def cut_off(self) -> bool:
        """True if the last ask of this branch returned a text that was cut off."""
        return CURRENT.get().cut

    @property
    def cut_steps(self) -> list[str]:
        """The paths of all steps so far whose text was cut off, sorted."""
        return sorted(self._core.memo.cut_steps)

    @property
    def warnings(self) -> list[str]:
        """The workflow's warnings so far."""
        return list(self._core.warnings)

    # ── steps ──

    @overload
    def step(
        self,
        name: str,
        fn: Callable[[*Ts], Awaitable[T]],
        *args: *Ts,
        key: str | None = None,
        returns: Any = None,
        retry: Retry | None = None,
        timeout: float | None = None,
        cost: Charge | None = None,
    ) -> Coroutine[Any, Any, T]: ...

    @overload
    def step(
        self,
        name: str,
        fn: Callable[[*Ts], T],
        *args: *Ts,
        key: str | None = None,
        returns: Any = None,
        retry: Retry | None = None,
        timeout: float | None = None,
        cost: Charge | None = None,
    ) -> Coroutine[Any, Any, T]: ...

    def step(
        self,
        name: str,
        fn: Callable[..., Any],
        *args: Any,
        key: str | None = None,
        returns: Any = None,
        retry: Retry | None = None,
        timeout: float | None = None,
        cost: Charge | None = None,
    ) -> Coroutine[Any, Any, Any]:
        """Run a function once and record its result: `await run.step("fetch", fetch, url)`.

        `args` are the step's inputs: if they change, the step runs again. The result is logged as JSON and
        decoded as `returns` (by default the function's return annotation).
        """
        work = PlainStep(fn, args, retry, cost)
        if returns is None:
            returns = returned_type(fn)
        return self.perform(name, work, inputs=args, key=key, returns=returns, timeout=timeout)

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
        path: str = "",
    ) -> Any:
        """Run `work` unless the log holds its outcome. The primitive under `step` and `ask`."""
        core = self._core
        branch = core.enter()
        path = path or branch.take(name, key)
        mark = fingerprint(inputs) if inputs else ""
        read = reader(returns)
        if core.memo.done or core.memo.failed or core.memo.stale or core.replaying:
            recorded = await recall(core, branch, path, mark, read, by_fingerprint)
            if recorded is not NOT_HELD:
                return recorded
        time_left = core.remaining_time(branch, path) if branch.deadline else None
        if kind == "step":
            core.journal.append_raw(path, "step.started", b"{}")
        else:
            started = StepStarted(kind=kind, about=about or {}, fingerprint=mark if by_fingerprint else "")
            core.journal.append(path, started)
        effect = Effect(self, core, branch, path, mark, read)
        effect.start(work, timeout, time_left)
        try:
            outcome = await effect.waiter
        except asyncio.CancelledError:
            if core.stop is None:
                effect.give_up()
            raise
        except StoreError as error:
            raise core.broke(error) from None
        finally:
            if effect.holds_slot:
                effect.give_back()
        if kind == "ask" and (turn := core.turns.take()) is not None:
            await turn
        branch.cut = effect.cut
        if effect.cut:
            core.memo.cut_steps.add(path)
        if type(outcome) is Raised:
            raise outcome.error
        return outcome

    # ── branches ──

    async def gather(self, branches: Mapping[K, Coroutine[Any, Any, T]]) -> dict[K, Ok[T] | Failed]:
        """Run coroutines concurrently, each in a branch of its own. One that fails becomes a `Failed` and
        does not affect the others. Results are in the order of the mapping."""
        core = self._core
        try:
            parent = core.enter()
            children = [self._child(parent, str(name)) for name in branches]
        except BaseException:
            for coroutine in branches.values():
                coroutine.close()
            raise
        gathering: Gathering[T] = Gathering(core, len(children))
        for child, coroutine in zip(children, branches.values(), strict=True):
            gathering.spawn(child, coroutine)
        return dict(zip(branches, await gathering.join(), strict=True))

    def _child(self, parent: Branch, name: str, key: str | None = None) -> Branch:
        path = parent.take(name, key)
        child = Branch(path, None, parent, self._core.journal.redact)
        limit = child.depth_limit
        if limit is not None and child.depth > limit:
            raise self._core.ran_out(
                path, BudgetExhaustedError("depth", child.depth_scope, limit, limit, child.depth)
            )
        return child

    @asynccontextmanager
    async def branch(
        self, name: str, *, key: str | None = None, budget: Budget | None = None
    ) -> AsyncGenerator[Run]:
        """Open a named part of the run, with a budget of its own if one is given: `async with
        run.branch("story", budget=Budget(usd=0.50)): …`"""
        core = self._core
        parent = core.enter()
        child = self._child(parent, name, key)
        child.task = parent.task
        token = CURRENT.set(child)
        try:
            if budget is not None:
                await self.limit(child, budget)
            yield self
        finally:
            CURRENT.reset(token)

    async def limit(self, child: Branch, budget: Budget) -> None:
        """Give the current branch a budget of its own."""
        scope = self._core.open_scope(child.path, budget)
        if budget.depth is not None and (
            child.depth_limit is None or child.depth + budget.depth < child.depth_limit
        ):
            child.depth_limit = child.depth + budget.depth
            child.depth_scope = child.path
        if budget.seconds is not None:
            opened = await self.perform("opened", self._driven, inputs=None, returns=float, kind="clock")
            child.deadline = [*child.deadline, Deadline(child.path, budget.seconds, opened + budget.seconds)]
        if scope.limited:
            child.scopes = (scope, *child.scopes)

    async def _driven(self, effect: Effect) -> float:
        return self._core.clock.now()

    @asynccontextmanager
    async def closing(self, grace: float = 0.0) -> AsyncGenerator[Run]:
        """Let the steps inside use the closing reserve, to finish a run that is out of budget: `async with
        run.closing(): …`

        `grace` gives them that many more seconds from now, even past the time budget.
        """
        branch = self._core.enter()
        before, branch.closing = branch.closing, True
        deadline = branch.deadline
        if grace:
            until = self._core.clock.now() + grace
            branch.deadline = [replace(limit, grace=max(until - limit.at, 0.0)) for limit in deadline]
        try:
            yield self
        finally:
            branch.closing, branch.deadline = before, deadline

    def until_exhausted(
        self, warning: str = "", *, warn: Callable[[str], None] | None = None, or_failed: bool = False
    ) -> UntilExhausted:
        """Run a part that the result can do without: an exhausted budget ends the part, not the workflow.

            async with run.until_exhausted("The text was not checked") as part, run.closing():
                text = await run.ask(editor, "edit", text=text)

        `part.exhausted` then holds the error. If there is a `warning`, it is logged with the reason (through
        `warn`, by default `run.warn`). With `or_failed`, a failed step ends the part in the same way.
        """
        return UntilExhausted(warning, warn or self.warn, or_failed=or_failed)

    # ── events and artifacts ──

    def emit(self, data: EventData) -> None:
        """Log an event. A resume never logs it twice."""
        core = self._core
        if data.type not in WELCOME:
            check_namespace(data)
        if core.memo.emitted or core.replaying:
            emit_once(core, data)
        else:
            core.journal.append(core.enter().path, data)

    def warn(self, message: str, *, first: bool = False) -> None:
        """Log a warning for readers of the result; `first` puts it before the others."""
        warned = self._core.as_logged(RunWarned(message=message, first=first))
        emit_once(self._core, warned)
        warnings = self._core.warnings
        warnings.insert(0 if first else len(warnings), warned.message)

    def returned(self) -> None:
        """Hook that runs after the workflow has returned; subclasses add their last warnings here."""

    async def artifact(self, name: str, data: bytes | str, media_type: str = "text/plain") -> ArtifactCreated:
        """Store a file that the run has made."""
        return await store_artifact(self._core, name, data, media_type)

    # ── resources ──

    def resource(self, key: str, make: Callable[[], R]) -> R:
        """Return the resource of this key, such as a connection that several steps share; make it at first.
        It is closed when the run stops, and never logged: use it inside steps only."""
        if self._resources_closed:
            raise RuntimeError(f"The run has stopped, so {key} cannot be used any more.")
        if key not in self._resources:
            self._resources[key] = make()
        return cast("R", self._resources[key])

    async def close_resources(self) -> None:
        """Close all resources, side by side."""
        self._resources_closed = True
        resources = list(self._resources.values())
        if resources:
            await asyncio.gather(*(resource.close() for resource in resources), return_exceptions=True)

    # ── waiting ──

    async def wait_for(
        self,
        question: str,
        *,
        choices: Sequence[str] = (),
        details: Any = None,
        key: str | None = None,
        answers: Mapping[str, Any] | None = None,
    ) -> Any:
        """Ask a person and wait, for minutes or weeks; the run can be stopped and resumed meanwhile.

        Without `choices` any text is an answer. `answers` allows answers with data, by name and JSON schema:
        with `answers={"edit": {"type": "object"}}` a person may answer `{"edit": {…}}`.
        """
        return await ask_person(self._core, question, choices, details, key, answers or {})

    async def approved(self, gate: str, question: str, *, details: Any = None) -> bool:
        """Pass a gate: ask a person if the run was started with `--approve GATE`, otherwise return True."""
        if gate not in self.config.get("approve", ()):
            return True
        answer = await self.wait_for(question, choices=("approve", "reject"), details=details, key=gate)
        return answer == "approve"

    async def sleep(self, seconds: float) -> None:
        """Sleep durably: the wake-up time is logged, so a restart does not start the wait again."""
        until = await self._wake_at(seconds)
        core = self._core
        if core.replaying:
            return
        remaining = until - time.time()
        if remaining <= 0:
            return
        core.rest(until=until)
        try:
            await asyncio.sleep(remaining)
        finally:
            core.wake(until=until)
        core.check()

    async def _wake_at(self, seconds: float) -> float:
        async def wake_at(effect: Effect) -> float:
            return time.time() + seconds

        return await self.perform(
            "sleep", wake_at, inputs=[seconds], returns=float, kind="sleep", about={"seconds": seconds}
        )

    async def now(self) -> datetime:
        """Return the current time, recorded: the same in a replay."""

        async def read_clock(effect: Effect) -> float:
            return time.time()

        stamp = await self.perform("now", read_clock, inputs=None, returns=float, kind="clock")
        return datetime.fromtimestamp(stamp, UTC)

    # ── live viewers ──

    def publish_delta(self, path: str, attempt: int, offset: int, text: str) -> None:
        """Pass a piece of a reply to the viewers in this process. It is never logged."""
        for viewer in self._core.viewers:
            viewer((path, attempt, offset, text))
