"""Exception hierarchy of Podium.

PodiumError                      one sentence as the message, `hint` says what to do
├── UsageError                   invalid input: nothing was started            (exit 2)
│   ├── SettingsError            a settings file or variable is wrong
│   ├── OptionError              an option of a workflow is wrong: `option`
│   ├── PromptError              a prompt cannot be rendered; ends the run at once
│   ├── UnknownRunError          no run of that id in this store
│   ├── WorkflowLoadError        a workflow could not be found or imported
│   ├── ModelUnavailableError    a model name is unknown or lacks a key or an extra
│   ├── SandboxUnavailableError  no sandbox is available, so no program is run
│   └── NotResumableError        the run's status does not allow the operation
├── StoreError                   the log could not be read or written
│   ├── StoreFullError           no space left: the run pauses                 (exit 4)
│   ├── StoreAwayError           it cannot be reached: the run pauses          (exit 4)
│   ├── StoreGoneError           its file was removed or replaced: it pauses   (exit 4)
│   ├── RunLockedError           another process drives this run: `holder`
│   └── FencedError              this process lost the run to another one
├── ExportError                  a collector did not accept a trace
├── EmbeddingError               an embedding model returned no usable vectors
├── WorkspaceError               a workspace could not be created, changed or read
│   └── ChangeRefusedError       changes that are not allowed: `refusals`; none was applied
├── BudgetExhaustedError         a ceiling would be exceeded; never a step's outcome
├── ReplayDivergedError          a replay needs a step that the log does not hold
├── ConcurrentBranchError        one branch used from two asyncio tasks
├── DuplicateKeyError            an explicit `key=` used twice in one branch
├── NotEncodableError            a step's input or result cannot be written as JSON
├── ExitError                    a workflow called `sys.exit`
├── InvalidTransitionError       a state machine has no such transition
├── ResultRefusedError           a sandboxed program left a link or a pipe where a file should be
├── GaveUpError                  a workflow failed; `output` is its partial result
└── StepFailedError              the recorded failure of a step; live and replayed alike
    ├── StepTimeoutError         the step's time-out passed
    ├── ModelFailedError         a model call failed permanently
    └── InvalidReplyError        a reply never fitted its schema: `raw` holds it

asyncio.CancelledError
└── RunInterrupted               the stop order of a run; never a step's outcome, and not an
    │                            `Exception`: a workflow's broad `except` does not swallow it
    ├── RunCancelledError        the run was cancelled                         (exit 130)
    └── RunPausedError           Ctrl-C, SIGTERM or a full disk; resumable
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

from podium.dimensions import DIMENSIONS, dimension_amount, dimension_word


class PodiumError(Exception):
    """The base class. `str(error)` is one sentence; `hint` says what to do about it."""

    hint: str = ""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        if hint:
            self.hint = hint


class UsageError(PodiumError):
    """The input is wrong and nothing was started."""

    def on_command_line(self) -> str:
        """Return the message with options as they are typed in a shell."""
        return self.message


class SettingsError(UsageError):
    """A settings file or a `PODIUM_*` variable has an invalid value."""


class OptionError(UsageError):
    """An option of a workflow is unknown, missing or has a wrong value.

    `{option}` in `template` stands for the name: `min_score` in Python and over HTTP, `--min-score` on the
    command line.
    """

    def __init__(self, template: str, option: str, *, hint: str = "") -> None:
        super().__init__(template.replace("{option}", option), hint=hint)
        self.option = option
        self._template = template

    def on_command_line(self) -> str:
        return self._template.replace("{option}", as_flag(self.option))


def as_flag(option: str) -> str:
    """Return an option's name as it is typed in a shell."""
    return f"--{option.replace('_', '-')}"


class PromptError(UsageError):
    """A prompt cannot be rendered: a variable is missing, or its template fails. Trying again cannot help, so
    `run.ask` raises this instead of `StepFailedError`, which workflows retry."""


class UnknownRunError(UsageError):
    """No run of that id, or more than one run begins with it."""


class WorkflowLoadError(UsageError):
    """A workflow's name is unknown, or its file cannot be imported."""


class ModelUnavailableError(UsageError):
    """A model's name is unknown, or what it needs (a key, an extra, a file) is missing."""


class SandboxUnavailableError(UsageError):
    """No sandbox is available (any more), so a model's program is not run."""


class NotResumableError(UsageError):
    """The status of the run does not allow the operation."""


class StoreError(PodiumError):
    """The log could not be read or written."""


class StoreFullError(StoreError):
    """There is no space left for the log. The run pauses and can be resumed."""


class StoreAwayError(StoreError):
    """The store cannot be reached. What was committed is safe, and a run can be resumed when it is back."""


class StoreGoneError(StoreError):
    """The file of the store was removed or replaced while it was open. The run pauses."""


class RunLockedError(StoreError):
    """Another process drives this run."""

    def __init__(self, run_id: str, holder: str) -> None:
        super().__init__(
            f"Run {run_id} is being driven by {holder}.",
            hint=f"Watch it with `podium events {run_id} --follow`, "
            f"or take it over with `podium resume {run_id} --take-over`.",
        )
        self.run_id = run_id
        self.holder = holder


class FencedError(StoreError):
    """Another process took this run over; writes of this one are refused."""

    def __init__(self, run_id: str) -> None:
        super().__init__(
            f"Run {run_id} was taken over by another process; this one has stopped.",
            hint=f"Watch it with `podium events {run_id} --follow`.",
        )
        self.run_id = run_id


class RunInterrupted(asyncio.CancelledError):
    """A stop order. It passes through a workflow like a cancellation."""


class RunCancelledError(RunInterrupted):
    """The run was cancelled: no step may start."""


class RunPausedError(RunInterrupted):
    """The run is being paused: no step may start, and it can be resumed later."""


class ExportError(PodiumError):
    """A trace could not be sent. The log that it was made from is unchanged."""


class EmbeddingError(PodiumError):
    """An embedding model failed, or returned something other than vectors. Facts are then found by their
    words."""


class WorkspaceError(PodiumError):
    """The workspace of a run could not be created, changed or read."""


class ChangeRefusedError(WorkspaceError):
    """A set of changes contains some that are not allowed. None of the set was applied."""

    def __init__(self, refusals: Sequence[Any]) -> None:
        reasons = "; ".join(f"{refusal.action} {refusal.path}: {refusal.reason}" for refusal in refusals)
        super().__init__(f"The changes were refused. {reasons}")
        self.refusals = list(refusals)
        """`podium.tools.workspace.change.Refusal`, one for each change that was refused."""


OWNER = "(owner)"
"""Used in place of a path for the budget of all runs of an owner."""


class StopRun(PodiumError):
    """Raised by a tool to end the run; any other exception of a tool is a message to the model."""


class BudgetExhaustedError(PodiumError):
    """A budget cannot pay for the next call, and nothing in flight can free enough of it."""

    def __init__(
        self, kind: str, scope: str, limit: float, spent: float, needed: float, kept: float = 0
    ) -> None:
        super().__init__(
            _exhausted(kind, scope, limit, spent, needed, kept),
            hint="Resume with a larger budget to go on from here.",
        )
        self.kind = kind
        """`usd`, `tokens`, `calls`, `seconds` or `depth`."""
        self.scope = scope
        """Path of the branch with this budget; empty for the run's own, `OWNER` for that of all runs of an
        owner."""
        self.limit = limit
        self.spent = spent
        self.needed = needed
        self.kept = kept
        """Part of the remaining budget that only closing steps may spend."""


def budget_name(kind: str, scope: str) -> str:
    """Name a budget at the beginning of a sentence."""
    where = "the run's owner" if scope == OWNER else f"branch {scope}" if scope else "the run"
    return f"The {dimension_word(kind)} budget of {where}"


def _exhausted(kind: str, scope: str, limit: float, spent: float, needed: float, kept: float) -> str:
    """Return the message for an exhausted budget: spent, limit, reserve and the next call's need."""
    amount = partial(dimension_amount, kind)
    message = f"{budget_name(kind, scope)} is used up: {amount(spent)} of {amount(limit)} spent"
    if kept:
        message += f", {amount(kept)} kept back for the end"
    if needed and kind in DIMENSIONS and DIMENSIONS[kind].foreseen:
        message += f"; the next call may take {amount(needed)}"
    return f"{message}."


class ReplayDivergedError(PodiumError):
    """A replay needs a step that the log does not hold, or holds with another input."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"Replay diverged at {path}: {reason}.",
            hint="The workflow's code differs from the one that was recorded; use `fork` to run it anew.",
        )
        self.path = path
        self.reason = reason


class ConcurrentBranchError(PodiumError):
    """A branch was used by an asyncio task other than its own."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"The branch {path or '(root)'} was used from a second asyncio task.",
            hint="Run things side by side with `run.gather({...})`; use `asyncio.timeout`, "
            "not `asyncio.wait_for`, around steps.",
        )
        self.path = path


class DuplicateKeyError(PodiumError):
    """Two steps of one branch were given the same explicit key."""

    def __init__(self, path: str) -> None:
        super().__init__(f"The key {path} is used twice.", hint="Give every step of a loop a key of its own.")
        self.path = path


class NotEncodableError(PodiumError):
    """Only JSON-like data, dataclasses, msgspec structs and pydantic models can be logged."""


class ExitError(PodiumError):
    """A workflow called `sys.exit`. That ends the workflow, not the process, which may drive others."""

    def __init__(self, code: object) -> None:
        super().__init__(f"The workflow called sys.exit({code!r}).", hint="Return a value or raise an error.")


class InvalidTransitionError(PodiumError):
    """A phase cannot follow the one that a workflow is in."""

    def __init__(self, current: str, new: str, allowed: list[str]) -> None:
        after = f"After {current} comes {' or '.join(allowed)}" if allowed else f"Nothing follows {current}"
        super().__init__(f"Cannot go from {current} to {new}.", hint=f"{after}.")
        self.current = current
        self.new = new


class ResultRefusedError(PodiumError):
    """The path that a sandboxed program left is not read: it is a link, a pipe, or too large."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path!r} is not read: {reason}.")
        self.path = path
        self.reason = reason


class GaveUpError(PodiumError):
    """A workflow could not do what was requested. The run fails, with its partial result as the output."""

    def __init__(self, message: str, *, hint: str = "", output: Any = None) -> None:
        super().__init__(message, hint=hint)
        self.output = output


class StepFailedError(PodiumError):
    """The recorded failure of a step: the same object live, after a resume and in a replay."""

    kind: ClassVar[str] = "error"

    def __init__(self, path: str, error_type: str, message: str, **details: Any) -> None:
        super().__init__(f"{path}: {message}" if path else message, hint=str(details.get("hint", "")))
        self.path = path
        """Path of the failed step."""
        self.error_type = error_type
        """Name of the exception class that the step raised."""
        self.reason = message
        """Text of the exception."""
        self.details = details
        """Further details, as JSON-like data."""


class StepTimeoutError(StepFailedError):
    """The step did not finish within its time-out."""

    kind = "timeout"


class ModelFailedError(StepFailedError):
    """A model call failed permanently: retries and fallback models are used up."""

    kind = "model"


class InvalidReplyError(StepFailedError):
    """The model's reply never fitted the schema."""

    kind = "invalid_reply"

    @property
    def raw(self) -> str:
        """The last raw reply."""
        return str(self.details.get("raw", ""))

    @property
    def cut(self) -> bool:
        """True if the replies were cut off rather than invalid."""
        return bool(self.details.get("cut"))


class RunStoppedError(StepFailedError):
    """A tool raised `StopRun`. Ends the run, also from inside `run.gather`."""

    kind = "stopped"


def was_cut(error: BaseException) -> bool:
    """Return whether a step failed because replies were cut off: asking again the same way does not help."""
    return isinstance(error, InvalidReplyError) and error.cut


FAILURES: dict[str, type[StepFailedError]] = {
    cls.kind: cls
    for cls in (StepFailedError, StepTimeoutError, ModelFailedError, InvalidReplyError, RunStoppedError)
}
"""Class of a recorded failure, by its kind."""
