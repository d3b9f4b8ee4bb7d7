"""Event types of a run: one class per type, and the union of the engine's own.

An event's `type` determines the class of its `data`. A type that this version does not know is decoded as
`UnknownData`, so an older reader never fails on a newer log.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, ClassVar, cast

import msgspec

from podium.engine.codec import encode

EVENT_TYPES: dict[str, type[EventData]] = {}
"""Every event class by its type; filled as classes are defined."""


class EventData(msgspec.Struct, frozen=True, kw_only=True):
    """Data of one event. A workflow declares its own events by subclassing this with a `type`."""

    type: ClassVar[str] = ""
    progress: ClassVar[bool] = False
    """A resume of an unfinished step continues after this event, so that its cost is not paid again."""

    inherited: bool | msgspec.UnsetType = msgspec.UNSET
    """Copied from the run that this one was forked from: shown, but neither run nor charged again."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        declared = cls.__dict__.get("type")
        if isinstance(declared, str) and declared:
            EVENT_TYPES[declared] = cls


class Charge(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """An amount of everything that a budget can limit."""

    usd: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    calls: int = 0
    unpriced_calls: int = 0
    """Calls among `calls` whose price is not known."""
    unknown_calls: int = 0
    """Calls among `calls` whose outcome is not known, because the process died while they were in flight.
    Their worst case is counted as spent."""

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Charge) -> Charge:
        return Charge(
            self.usd + other.usd,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.calls + other.calls,
            self.unpriced_calls + other.unpriced_calls,
            self.unknown_calls + other.unknown_calls,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the spending in the form of all machine-readable output: of a run, a step, an agent or a
        trial."""
        return {
            "calls": self.calls,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cost_usd": round(self.usd, 9),
            "unpriced_calls": self.unpriced_calls,
            "unknown_calls": self.unknown_calls,
        }


NOTHING = Charge()


class ChargedData(EventData, frozen=True, omit_defaults=True, kw_only=True):
    """An event with a charge. The spending of a resumed run is the sum of these."""

    charge: Charge = NOTHING
    estimated: bool = False
    """The provider did not report the cost; the whole reservation was counted."""


class SavedData(EventData, frozen=True, omit_defaults=True, kw_only=True):
    """An event with a cost that was *not* spent, because the reply was cached."""

    saved: Charge = NOTHING
    """The cost that was saved; `calls` counts the calls that were not made."""


class UnknownData(EventData, frozen=True, omit_defaults=True, kw_only=True):
    """An event whose type this version does not know."""

    unknown_type: str = ""
    fields: dict[str, Any] = {}


# ── runs ─────────────────────────────────────────────────────────────────────────────────────────


class RunCreated(EventData, frozen=True, omit_defaults=True, kw_only=True):
    """A run was accepted. Everything needed to drive it, now or after a crash, is in here."""

    type: ClassVar[str] = "run.created"

    workflow: str
    """A name, or `FILE.py:name` with an absolute path."""
    request: Any
    options: dict[str, Any] = {}
    """The workflow's own keyword options."""
    config: dict[str, Any] = {}
    """Run settings: models, cache, gates, concurrency. The engine does not interpret them."""
    budget: dict[str, Any] = {}
    podium: str = ""
    """Podium's version."""


class RunStarted(EventData, frozen=True, omit_defaults=True, kw_only=True):
    type: ClassVar[str] = "run.started"
    holder: str = ""
    config: dict[str, Any] = {}


class RunResumed(EventData, frozen=True, omit_defaults=True, kw_only=True):
    """A process took the run up again. Budget leases that were open are spent from here on."""

    type: ClassVar[str] = "run.resumed"
    holder: str = ""
    after: str = ""
    """End of the previous driver: `crash`, `paused`, `waiting`, `partial`, `failed`, `queued`; `take-over`
    if it still ran and was fenced off."""
    budget: dict[str, Any] = {}
    """New totals of the ceilings that changed."""
    config: dict[str, Any] = {}
    """Settings of the run that changed, for example the model."""
    forfeited: dict[str, Charge] = {}
    """Logs of earlier versions: leases of a dead driver, by scope. They count as spent, because the calls may
    have been billed."""


class RunWaiting(EventData, frozen=True, omit_defaults=True, kw_only=True):
    """The run asks a person. `path` of the event is the question's key."""

    type: ClassVar[str] = "run.waiting"
    question: str
    choices: list[str] = []
    details: Any = None
    answers: dict[str, Any] = {}
    """Answers with data, by name: an answer may be an object with one of these names, whose value fits the
    JSON schema."""
    fingerprint: str = ""


class RunAnswered(EventData, frozen=True, omit_defaults=True, kw_only=True):
    type: ClassVar[str] = "run.answered"
    answer: Any
    by: str = ""
    fingerprint: str = ""


class RunWarned(EventData, frozen=True, omit_defaults=True, kw_only=True):
    """Something that a reader of the result should know; it ends up in the result's `warnings`."""

    type: ClassVar[str] = "run.warned"
    message: str
    engine: bool = False  # written by the engine, not by the workflow
    first: bool = False  # shown before the other warnings


class RunEnded(EventData, frozen=True, omit_defaults=True, kw_only=True):
    """Fields of every event that ends a stretch."""

    usage: Charge = NOTHING
    """Total spending so far, as counted by the budget."""
    driven_s: float = 0.0
    """Total seconds that the run was driven, without waits."""


class RunPaused(RunEnded, frozen=True, omit_defaults=True, kw_only=True):
    type: ClassVar[str] = "run.paused"
    reason: str = ""


class RunCompleted(RunEnded, frozen=True, omit_defaults=True, kw_only=True):
    type: ClassVar[str] = "run.completed"
    output: Any = None
    blob: str = ""
    """Set instead of `output` when the output is large: its content hash."""
    quality: float | None = None


class RunPartial(RunEnded, frozen=True, omit_defaults=True, kw_only=True):
    type: ClassVar[str] = "run.partial"
    stop_reason: str = ""
    """`budget`, `time`, or the workflow's own reason."""
    output: Any = None
    blob: str = ""
    quality: float | None = None
    missing: list[str] = []
    error: str = ""


class RunFailed(RunEnded, frozen=True, omit_defaults=True, kw_only=True):
    type: ClassVar[str] = "run.failed"
    error: str
    error_type: str = ""
    hint: str = ""
    cause: list[str] = []
    """Paths of the failed steps that caused the failure: a resume runs them again."""
    output: Any = None
    """Output that the workflow returned in spite of the failure."""
    blob: str = ""
    """Set instead of `output` when the output is large: its content hash."""


class RunCancelled(RunEnded, frozen=True, omit_defaults=True, kw_only=True):
    type: ClassVar[str] = "run.cancelled"
    reason: str = ""


class RunForked(EventData, frozen=True, omit_defaults=True, kw_only=True):
    type: ClassVar[str] = "run.forked"
    source: str
    """The run that this one continues."""
    at: str
    """Path of the first step that differs."""
    edit: str = ""
    """The edit at that step: `reply`, `prompt`, `model` or empty."""
    steps: int = 0
    """Number of finished steps that were inherited."""


# ── steps ────────────────────────────────────────────────────────────────────────────────────────


class StepStarted(EventData, frozen=True, omit_defaults=True, kw_only=True):
    type: ClassVar[str] = "step.started"
    kind: str = "step"
    """Kind of effect: `step`, `ask`, `tool`, `sleep`, `now`, …"""
    about: dict[str, Any] = {}
    """For display: the agent, the task, the model."""
    fingerprint: str = ""
    """Fingerprint of the input, for steps whose `progress` events a resume continues from."""


class StepRunning(EventData, frozen=True, omit_defaults=True, kw_only=True):
    """A call that must not be repeated is about to be executed; durable before it is."""

    type: ClassVar[str] = "step.running"
    call_id: str
    """The call's idempotency key."""
    tool: str = ""
    fingerprint: str = ""
    """That of the step: tool and arguments."""


class StepCompleted(ChargedData, frozen=True, omit_defaults=True, kw_only=True):
    type: ClassVar[str] = "step.completed"
    fingerprint: str = ""
    result: msgspec.Raw = msgspec.Raw(b"null")
    blob: str = ""
    """Set instead of `result` when the result is large: its content hash."""
    edited: bool = False
    """A person wrote the result when the run was forked."""
    cut: bool = False
    """The result is incomplete: it ends where a model's reply was cut off at its token limit."""


class StepFailed(ChargedData, frozen=True, omit_defaults=True, kw_only=True):
    type: ClassVar[str] = "step.failed"
    fingerprint: str = ""
    kind: str = "error"
    """Key of the class in `podium.errors.FAILURES`."""
    error_type: str = ""
    error: str = ""
    details: dict[str, Any] = {}


class StepRetried(ChargedData, frozen=True, omit_defaults=True, kw_only=True):
    type: ClassVar[str] = "step.retried"
    attempt: int
    error: str
    wait_s: float = 0.0


class StepStale(EventData, frozen=True, omit_defaults=True, kw_only=True):
    """The log holds this step, but its input has changed, so it runs again."""

    type: ClassVar[str] = "step.stale"
    reason: str = "input changed"


class ArtifactCreated(EventData, frozen=True, omit_defaults=True, kw_only=True):
    type: ClassVar[str] = "artifact.created"
    id: str
    name: str
    media_type: str
    bytes: int
    blob: str
    """Content hash of the data."""


# ── budgets ──────────────────────────────────────────────────────────────────────────────────────


class BudgetReserved(EventData, frozen=True, omit_defaults=True, kw_only=True):
    """A call is about to be made. The next event at this path that carries a `charge` settles it. If the
    process dies before that, the call's outcome is unknown and its worst case counts as spent."""

    type: ClassVar[str] = "budget.reserved"
    reserved: Charge


class BudgetLeased(EventData, frozen=True, omit_defaults=True, kw_only=True):
    """Logs of earlier versions: the most that calls in flight could cost in this scope. Counts as spent if
    the process died."""

    type: ClassVar[str] = "budget.leased"
    lease: Charge


class BudgetSettled(ChargedData, frozen=True, omit_defaults=True, kw_only=True):
    """A call ended without telling what it cost (it timed out, was cut off or was lost in a crash): its worst
    case counts. Without a charge: the call was not made after all."""

    type: ClassVar[str] = "budget.settled"
    lost: bool = False
    """The process died while the call was in flight; written by the process that resumed the run."""


class BudgetExhausted(EventData, frozen=True, omit_defaults=True, kw_only=True):
    type: ClassVar[str] = "budget.exhausted"
    kind: str
    scope: str = ""
    limit: float = 0.0
    spent: float = 0.0
    needed: float = 0.0
    kept: float = 0.0
    """Part of the remaining budget that only closing steps may spend."""


class BudgetRaised(EventData, frozen=True, omit_defaults=True, kw_only=True):
    """The budget of a run under way was raised: new totals of the dimensions that changed."""

    type: ClassVar[str] = "budget.raised"
    budget: dict[str, Any]


class BudgetOverrun(EventData, frozen=True, omit_defaults=True, kw_only=True):
    """A call cost more than its worst case; the provider did not keep to what was asked."""

    type: ClassVar[str] = "budget.overrun"
    reserved: Charge
    actual: Charge


EngineData = (
    RunCreated
    | RunStarted
    | RunResumed
    | RunWaiting
    | RunAnswered
    | RunWarned
    | RunPaused
    | RunCompleted
    | RunPartial
    | RunFailed
    | RunCancelled
    | RunForked
    | StepStarted
    | StepRunning
    | StepCompleted
    | StepFailed
    | StepRetried
    | StepStale
    | ArtifactCreated
    | BudgetReserved
    | BudgetLeased
    | BudgetSettled
    | BudgetExhausted
    | BudgetRaised
    | BudgetOverrun
    | UnknownData
)
"""The engine's own events, for exhaustive matching."""

TERMINAL = frozenset({"run.completed", "run.partial", "run.failed", "run.cancelled"})
"""Event types that end a run (a partial or failed run can still be resumed)."""


class Event(msgspec.Struct, frozen=True):
    """One entry of a run's log."""

    seq: int
    run_id: str
    time: datetime
    path: str
    """Path of the branch or step, `/`-separated; empty for the run itself."""
    type: str
    data: EventData

    def to_json(self) -> bytes:
        """Return the event as one JSON object, in the form that every interface shows."""
        return encode(
            {
                "seq": self.seq,
                "run_id": self.run_id,
                "time": self.time.isoformat(timespec="microseconds").replace("+00:00", "Z"),
                "path": self.path,
                "type": self.type,
                "data": self.data.fields if isinstance(self.data, UnknownData) else self.data,
            }
        )


def decode_data(event_type: str, data: bytes) -> EventData:
    """Decode the data of one event; unknown types and shapes become `UnknownData`."""
    cls = EVENT_TYPES.get(event_type)
    if cls is not None:
        try:
            return msgspec.json.decode(data, type=cls)
        except msgspec.ValidationError:
            pass  # a newer or older version of a known type: show its fields unchanged
    fields: Any = msgspec.json.decode(data)
    if not isinstance(fields, dict):
        fields = {"value": fields}
    return UnknownData(unknown_type=event_type, fields=cast("dict[str, Any]", fields))


def decode_event(run_id: str, seq: int, time_us: int, path: str, event_type: str, data: bytes) -> Event:
    """Build an `Event` from a stored row."""
    when = datetime.fromtimestamp(time_us / 1_000_000, UTC)
    return Event(seq, run_id, when, path, event_type, decode_data(event_type, data))
