"""The execution of tool calls: approval, slots, costs, time-outs, and calls that must not be repeated."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, cast

from podium.agents.cut_off import (
    UNKNOWN,
    BranchEnd,
    CutCall,
    ask_what_happened,
    cut_off_below,
    decide_below,
    decision,
    stoppable,
    text_of,
)
from podium.agents.files import File, file_part
from podium.agents.tools import NOT_COMPOSITE, Arguments, Tool, ToolContext
from podium.engine.branch import CURRENT
from podium.engine.codec import encode, fingerprint, reader
from podium.engine.effect import CallAttempt, Effect
from podium.engine.events import StepRunning
from podium.engine.failure import call_in_thread, describe, is_close
from podium.engine.journal import ENDED
from podium.engine.operations import question_fingerprint
from podium.engine.process import offload
from podium.errors import (
    BudgetExhaustedError,
    ConcurrentBranchError,
    NotEncodableError,
    RunInterrupted,
    RunStoppedError,
    StepTimeoutError,
    StopRun,
    StoreError,
)
from podium.models.messages import FilePart, ToolCall, ToolOutcome

if TYPE_CHECKING:
    from podium.agents.ask import Run
    from podium.engine.budget import Budget

MAX_ERROR = 2_000
"""Most characters of an exception's text that go to the model."""
_TEXT = {"type": "string"}


async def refused(run: Run, number: str, call: ToolCall, why: str) -> ToolOutcome:
    """Record a call that is not executed, so that the log shows it and a replay refuses it too."""

    async def refuse(effect: Effect) -> ToolOutcome:
        return ToolOutcome(why, failed=True)

    return await run.perform(
        "tool",
        refuse,
        inputs=[call.name, call.arguments],
        key=number,
        returns=ToolOutcome,
        kind="tool",
        about={"tool": call.name, "arguments": call.arguments},
        by_fingerprint=True,
    )


class ToolExecution:
    """One call of a tool, with its approval and with the question that an unknown outcome needs."""

    def __init__(
        self,
        run: Run,
        path: str,
        tool: Tool,
        number: str,
        arguments: Arguments,
        given: dict[str, Any],
        abandoned: Sequence[StepRunning],
    ) -> None:
        self._run = run
        self._path = path
        """Path of the ask."""
        self._tool = tool
        self._number = number
        self._arguments = arguments
        self._given = given
        """The arguments as the model wrote them, or as a person edited them."""
        self._abandoned = abandoned
        """Executed calls that must not be repeated and are no longer part of the conversation."""

    async def outcome(self) -> ToolOutcome:
        """Return the recorded outcome, or execute the call."""
        tool = self._tool
        if await self._needs_approval():
            rejected = await self._approve()
            if rejected is not None:
                return rejected
        number = self._number
        if tool.once and (earlier := self._executed_before()):
            decided = await self._ask_whether_again(earlier)
            if decided is not None:
                return decided
            number = f"{number}.again"
        return await self.until_known(number)

    async def until_known(self, number: str) -> ToolOutcome:
        """Execute the call, again if a person says so, until its outcome is known or decided."""
        while True:
            outcome = await self._execute(number)
            if not outcome.unknown:
                return outcome
            decided = await self.decided(number)
            if decided is not None:
                return decided
            number = f"{number}.again"

    async def decided(self, number: str) -> ToolOutcome | None:
        """Establish an unknown outcome: the model is told of it, or a person decides. None: execute the call
        again."""
        call = self._run.undecided[f"{self._path}/tool[{number}]"] = self._cut_call(number)
        if not call.told:
            return await ask_what_happened(self._run, call)
        del self._run.undecided[call.path]
        return ToolOutcome(UNKNOWN.format(name=call.tool), failed=True)

    def _cut_call(self, number: str) -> CutCall:
        name, told = self._tool.name, self._tool.once == "tell"
        return CutCall(self._path, number, name, self._given, self._call_id(number), told)

    # ── questions to a person ──

    async def _needs_approval(self) -> bool:
        """Return whether a person must approve the call. A predicate that fails has not said no; what it said
        before a resume counts, because it may depend on more than the arguments."""
        gates: Sequence[str] = self._run.config.get("approve", ())
        if f"tool:{self._tool.name}" in gates:
            return True
        if callable(self._tool.approve) and (before := self._needed_before()) is not None:
            return before
        try:
            needed = self._tool.needs_approval({**self._arguments.defaults, **self._arguments.values})
            return bool(await needed if inspect.isawaitable(needed) else needed)
        except Exception as error:  # noqa: BLE001 - the person decides instead
            self._run.warn(f"The predicate `approve` of {self._tool.name} failed: {describe(error)}.")
            return True

    def _needed_before(self) -> bool | None:
        """Return whether the log says that this call needed approval; None if it does not say."""
        memo, path = self._run.core.memo, f"{self._path}/question[approve {self._number}]"
        recorded = (memo.asked.get(path), memo.answered.get(path))
        mark = question_fingerprint(**self._approval) if any(recorded) else ""
        if any(known[1].fingerprint == mark for known in recorded if known is not None):
            return True
        call = f"{self._path}/tool[{self._number}]"
        done = memo.done.get(f"{call}/result" if self._tool.composite else call)
        return False if done is not None and done.fingerprint == self._fingerprint else None

    @property
    def _approval(self) -> dict[str, Any]:
        """The question whether the call may run."""
        return {
            "question": f"May the agent call {self._tool.name}?",
            "choices": ("approve", "reject"),
            "details": {"tool": self._tool.name, "arguments": self._given},
            "answers": {"approve": dict(self._tool.schema), "reject": _TEXT},
        }

    async def _approve(self) -> ToolOutcome | None:
        """Ask a person. Returns the message for the model after a rejection; None if the call may run,
        perhaps with edited arguments."""
        answer = await self._run.wait_for(**self._approval, key=f"approve {self._number}")
        if isinstance(answer, dict):
            given = cast("dict[str, Any]", answer)
            if "reject" in given:
                return ToolOutcome(f"A person rejected this call: {given['reject']}", failed=True)
            edited = self._tool.validate(given.get("approve"))
            if edited.error:  # the schema accepted it, the function's own types do not
                return ToolOutcome(f"A person edited the arguments. {edited.error}", failed=True)
            self._given, self._arguments = given["approve"], edited
            return None
        return None if answer == "approve" else ToolOutcome("A person rejected this call.", failed=True)

    async def _ask_whether_again(self, earlier: StepRunning) -> ToolOutcome | None:
        """Ask a person whether a call may run that may repeat an earlier one. None: execute it."""
        name = self._tool.name
        return await decision(
            self._run,
            f"{name} was called before, in a part of this run that is not used any more. May it be called "
            f"now?",
            {"tool": name, "arguments": self._given, "earlier_call_id": earlier.call_id},
            f"repeat {self._number}",
            tool=name,
        )

    def _executed_before(self) -> StepRunning | None:
        """Return an earlier call of this tool in the same ask that the conversation does not contain any
        more: a turn ran again, or the run was forked."""
        memo = self._run.core.memo
        path = f"{self._path}/tool[{self._number}]"
        done = memo.done.get(path) or memo.failed.get(path, (0, None))[1]
        if done is not None and done.fingerprint == self._fingerprint:
            return None
        running = memo.executed.get(path)
        if running is not None and running.fingerprint == self._fingerprint and not running.inherited:
            return None  # the same call, cut off by a crash
        earlier = [other for other in self._abandoned if other.tool == self._tool.name]
        return running or (earlier[0] if earlier else None)

    # ── execution ──

    async def _execute(self, number: str) -> ToolOutcome:
        tool = self._tool
        if tool.composite:
            return await self._branch(number)
        try:
            return await self._run.perform(
                "tool",
                self._call,
                inputs=self._inputs,
                key=number,
                returns=ToolOutcome,
                kind="tool",
                about=self._about(number),
                by_fingerprint=True,
            )
        except StepTimeoutError:
            return ToolOutcome(unknown=True) if tool.once else self._late()

    def _about(self, number: str) -> dict[str, Any]:
        return {"tool": self._tool.name, "arguments": self._given, "call_id": self._call_id(number)}

    @property
    def _inputs(self) -> list[Any]:
        tool = self._tool
        version = tool.version() if callable(tool.version) else tool.version
        return [tool.name, self._given, version] if version else [tool.name, self._given]

    @property
    def _fingerprint(self) -> str:
        return fingerprint(self._inputs)

    async def _branch(self, number: str) -> ToolOutcome:
        """Execute a composite tool in a branch of its own, which ends in one step. If that is recorded, the
        function does not run again."""
        path = f"{self._path}/tool[{number}]"
        done = self._run.core.memo.done.get(f"{path}/result")
        if done is not None and done.fingerprint == self._fingerprint:
            return await self._result(number, ToolOutcome())
        if self._run.core.rehearsed and not self._tool.safe:
            return await self._result(number, self._made_up())
        context = ToolContext(self._run, path, self._tool, self._call_id(number))
        if f"{path}/{ENDED}" in self._run.core.memo.done:
            return await self._result(number, await self._ended(path, ToolOutcome()))
        early = False
        async with _inner_branch(self._run, number, self._tool.budget):
            limit = asyncio.timeout(self._tool.timeout)
            try:
                async with limit:
                    value = await self._function(context)
                outcome = outcome_of(self._run, self._tool.name, value)
            except BudgetExhaustedError as error:
                if self._tool.budget is None or error.scope != path:
                    raise
                early, outcome = True, ToolOutcome(f"{self._tool.name} stopped: {error}", failed=True)
            except BaseException as error:  # noqa: BLE001 - a tool's failure is told to the model
                late = limit.expired() and isinstance(error, TimeoutError)
                early, outcome = True, self._late() if late else self._failed(path, error)
        # Recorded outside the branch, whose budget may be used up.
        return await self._result(number, await self._ended(path, outcome) if early else outcome)

    async def _ended(self, path: str, outcome: ToolOutcome) -> ToolOutcome:
        """Return the outcome of a composite tool that ended early. If it cut off calls of its agents, record
        that, and let a person decide what happened to them."""
        run = self._run
        calls = await cut_off_below(run, path)
        if not calls and f"{path}/{ENDED}" not in run.core.memo.done:
            return outcome

        async def end(effect: Effect) -> BranchEnd:
            return BranchEnd(outcome, calls)

        ended = await run.perform(
            ENDED, end, inputs=None, path=f"{path}/{ENDED}", returns=BranchEnd, kind="clock"
        )
        await decide_below(run, ended.cut_off)
        return ended.outcome

    async def _result(self, number: str, outcome: ToolOutcome) -> ToolOutcome:
        """Record the outcome of a composite tool, whose steps are recorded already."""

        async def result(effect: Effect) -> ToolOutcome:
            return outcome

        return await self._run.perform(
            "result",
            result,
            inputs=self._inputs,
            path=f"{self._path}/tool[{number}]/result",
            returns=ToolOutcome,
            kind="tool",
            about=self._about(number),
            by_fingerprint=True,
        )

    async def _call(self, effect: Effect) -> ToolOutcome:
        """The work of a plain tool's step."""
        tool, core = self._tool, effect.core
        if core.rehearsed and not tool.safe:
            return self._made_up()
        if tool.once:
            running = core.memo.executed.get(effect.path)
            if running is not None and running.fingerprint == effect.fingerprint:
                return ToolOutcome(unknown=True)
        if tool.cost is None:
            outcome = await self._in_slot(effect, None)
        else:
            async with CallAttempt(effect, tool.cost, False) as attempt:
                try:
                    outcome = await self._in_slot(effect, attempt)
                finally:
                    attempt.withdraw()  # unless the call was made and is settled
        if not outcome.unknown and self._run.undecided.pop(effect.path, None) and effect.given_up:
            self._run.returned_late[effect.path] = reader(ToolOutcome)(core.journal.redact(encode(outcome)))
        return outcome

    async def _in_slot(self, effect: Effect, attempt: CallAttempt | None) -> ToolOutcome:
        """Call the function when a slot is free. `attempt` holds the reservation of the declared cost. The
        call begins in the log only now: nothing that ends it earlier leaves its outcome unknown."""
        tool, core = self._tool, effect.core
        number = effect.path.rpartition("[")[2].rstrip("]")
        effect.calling = False
        async with self._run.tool_slot(tool):
            effect.calling = True
            core.check()
            try:
                await self._begin(effect, attempt, number)
            except asyncio.CancelledError:
                if not (tool.once and effect.given_up):
                    raise
                return ToolOutcome(f"{tool.name} was not called: the work ended before it.", failed=True)
            limit = asyncio.timeout(tool.timeout)
            try:
                async with limit:
                    context = ToolContext(self._run, effect.path, tool, self._call_id(number))
                    work = self._function(context)
                    value = await (stoppable(work) if tool.once else work)
                return outcome_of(self._run, tool.name, value)
            except BaseException as error:
                if limit.expired() and isinstance(error, TimeoutError):
                    late = f"no result within {tool.timeout:g} s"
                    raise StepTimeoutError(effect.path, "TimeoutError", late) from error
                if tool.once and effect.given_up and isinstance(error, asyncio.CancelledError):
                    return ToolOutcome(unknown=True)
                return self._failed(effect.path, error)
            finally:
                if attempt is not None and tool.cost is not None:
                    attempt.spend(tool.cost)

    async def _begin(self, effect: Effect, attempt: CallAttempt | None, number: str) -> None:
        """Log that the call begins; of one that must not be repeated, durably."""
        call = self._cut_call(number)
        if self._tool.once:
            mark = effect.fingerprint
            effect.emit(StepRunning(call_id=call.call_id, tool=call.tool, fingerprint=mark))
        if attempt is not None:
            await attempt.begin()
        if self._tool.once:
            await effect.core.committed()
            self._run.undecided[effect.path] = call

    def _failed(self, path: str, error: BaseException) -> ToolOutcome:
        """Return an exception of the function as a message to the model; raise those that are none."""
        tool, task = self._tool, asyncio.current_task()
        if isinstance(error, StopRun):
            raise RunStoppedError(path, "StopRun", str(error)) from error
        if isinstance(error, ConcurrentBranchError) and not tool.composite:
            raise RunStoppedError(path, "StopRun", NOT_COMPOSITE.format(name=tool.name)) from error
        passing = (BudgetExhaustedError, StoreError, RunStoppedError, RunInterrupted, KeyboardInterrupt)
        cancelled = isinstance(error, asyncio.CancelledError) and (task is None or task.cancelling())
        if isinstance(error, passing) or cancelled or is_close(error, task):
            raise error
        return ToolOutcome(f"{tool.name} failed: {describe(error)}"[:MAX_ERROR], failed=True)

    def _late(self) -> ToolOutcome:
        tool = self._tool
        return ToolOutcome(f"{tool.name} gave no result within {tool.timeout:g} s.", failed=True)

    def _made_up(self) -> ToolOutcome:
        text = f"[rehearsal] {self._tool.name} was not called; this result is made up."
        return ToolOutcome(text, made_up=True)

    async def _function(self, context: ToolContext) -> Any:
        tool, values = self._tool, self._arguments.values
        if tool.context:
            values = {tool.context: context, **values}
        if inspect.iscoroutinefunction(tool.function):
            return await tool.function(**values)
        # Not `asyncio.to_thread`: its few threads are shared with everything else, and a loop waits for them.
        run = copy_context().run
        value = await offload(run, call_in_thread, lambda: tool.function(**values))
        return await value if asyncio.iscoroutine(value) else value

    def _call_id(self, number: str) -> str:
        data = encode([self._run.id, f"{self._path}/tool[{number}]", self._tool.name, self._given])
        return hashlib.blake2b(data, digest_size=12).hexdigest()


def outcome_of(run: Run, name: str, value: Any) -> ToolOutcome:
    """Return the outcome for a value that a tool returned. A `File`, also one of a list, is sent to the model
    as it is; a tool may also return a `ToolOutcome`, as for a failure that it words itself."""
    if isinstance(value, ToolOutcome):
        return value
    items: Sequence[Any] = cast("Sequence[Any]", value) if isinstance(value, list | tuple) else (value,)
    try:
        if not any(isinstance(item, File) for item in items):
            return ToolOutcome(text_of(value))
        parts = [file_part(run, item) if isinstance(item, File) else text_of(item) for item in items]
        texts = [part if isinstance(part, str) else f"The file {part.name} is attached." for part in parts]
        files = tuple(part for part in parts if isinstance(part, FilePart))
        return ToolOutcome("\n".join(texts), files=files)
    except NotEncodableError as error:
        return ToolOutcome(f"{name} was executed, but its result is lost: {error}"[:MAX_ERROR], failed=True)


@asynccontextmanager
async def _inner_branch(run: Run, key: str, budget: Budget | None) -> AsyncGenerator[None]:
    """Open the branch of a composite tool, which does not count as depth."""
    parent = run.core.enter()
    child = parent.inside(parent.take("tool", key))
    token = CURRENT.set(child)
    try:
        if budget is not None:
            await run.limit(child, budget)
        yield
    finally:
        CURRENT.reset(token)
