"""Lines for the events of the engine and of model calls."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from podium import errors
from podium.engine.codec import decode, encode
from podium.engine.events import (
    NOTHING,
    ArtifactCreated,
    BudgetExhausted,
    BudgetOverrun,
    BudgetRaised,
    BudgetReserved,
    BudgetSettled,
    Event,
    RunAnswered,
    RunCancelled,
    RunCreated,
    RunFailed,
    RunForked,
    RunPaused,
    RunResumed,
    RunWaiting,
    RunWarned,
    StepCompleted,
    StepFailed,
    StepRetried,
    StepStale,
    StepStarted,
    UnknownData,
)
from podium.engine.state import RunState, StepState
from podium.models.events import (
    ModelAsked,
    ModelAttempted,
    ModelCached,
    ModelFellBack,
    ModelKept,
    ModelRepaired,
    ModelUncached,
)
from podium.report.presentation import GENERIC, LINES, Line, Presentation, Weight, line_for
from podium.report.words import (
    amount,
    brief,
    count,
    cut_off_calls,
    duration,
    model_name,
    money,
    one_line,
    outline,
    size,
)


def line_of(event: Event, state: RunState, shown: Presentation = GENERIC) -> Line:
    """Return the line of one event, which has been applied to `state` and `shown` already. An event without a
    line function gets a plain line made of its type and data, so that nothing in a log is invisible."""
    teller = LINES.get(event.type)
    line = shown.line(event, state)
    if line is None and teller is not None:
        line = teller(event, state)
    if line is None:
        line = _untold(event, state)
    if event.data.inherited:
        return Line(line.what, "trace", ("inherited",), line.mark, line.indent)
    return replace(line, weight="trace") if shown.is_hidden(event) else line


def _untold(event: Event, state: RunState) -> Line:
    """Return the line of an event without a line function. A workflow's own event is named by the last part
    of its type."""
    data = event.data
    fields: dict[str, Any] = data.fields if isinstance(data, UnknownData) else decode(encode(data))
    shown = outline({key: value for key, value in fields.items() if value not in ("", [], {})})
    quiet = event.type.split(".")[0] in ("run", "step", "model", "budget", "artifact")
    name = event.type.removeprefix(f"{state.workflow.rpartition(':')[2]}.")
    return Line(": ".join(part for part in (name, shown) if part), "trace" if quiet else "routine")


# ── runs ─────────────────────────────────────────────────────────────────────────────────────────


@line_for("run.created")
def _created(event: Event, state: RunState) -> Line | None:
    if not isinstance(event.data, RunCreated):
        return None
    return Line(f"created: {brief(event.data.request, 200)}", "trace")


@line_for("run.started")
def _started(event: Event, state: RunState) -> Line | None:
    return Line("started", "trace")


@line_for("run.resumed")
def _resumed(event: Event, state: RunState) -> Line | None:
    if not isinstance(event.data, RunResumed):
        return None
    after = f" after {event.data.after}" if event.data.after else ""
    weight: Weight = "trace" if event.data.after == "waiting" else "result"  # the answer has a line already
    cut_off = cut_off_calls(event.data.forfeited.get("", NOTHING))
    return Line(f"resumed{after}{f'; {cut_off}' if cut_off else ''}", weight, mark="▸")


@line_for("run.waiting")
def _waiting(event: Event, state: RunState) -> Line | None:
    if not isinstance(event.data, RunWaiting):
        return None
    choices = f" [{' / '.join(event.data.choices)}]" if event.data.choices else ""
    return Line(one_line(event.data.question + choices), "attention", mark="?")


@line_for("run.answered")
def _answered(event: Event, state: RunState) -> Line | None:
    if not isinstance(event.data, RunAnswered):
        return None
    by = f" (by {event.data.by})" if event.data.by else ""
    return Line(f"answered: {brief(event.data.answer, 120)}{by}", "result", mark="▸")


@line_for("budget.raised")
def _raised(event: Event, state: RunState) -> Line | None:
    if not isinstance(event.data, BudgetRaised):
        return None
    told = ", ".join(f"{kind} {value:g}" for kind, value in event.data.budget.items())
    return Line(f"more may be spent: {told}", "result", mark="▸")


@line_for("run.warned")
def _warned(event: Event, state: RunState) -> Line | None:
    return (
        Line(one_line(event.data.message), "warning", mark="!") if isinstance(event.data, RunWarned) else None
    )


@line_for("run.paused", "run.cancelled")
def _stopped(event: Event, state: RunState) -> Line | None:
    if not isinstance(event.data, (RunPaused, RunCancelled)):
        return None
    what, reason = event.type.removeprefix("run."), one_line(event.data.reason)
    told = reason if reason.startswith(what) else f"{what}: {reason}" if reason else what
    return Line(told, "trace", mark="■")


@line_for("run.completed", "run.partial")
def _ended(event: Event, state: RunState) -> Line | None:
    reason = f" ({state.stop_reason})" if state.stop_reason else ""
    return Line(f"{event.type.removeprefix('run.')}{reason}", "trace", _spent(state), "■")


@line_for("run.failed")
def _failed(event: Event, state: RunState) -> Line | None:
    if not isinstance(event.data, RunFailed):
        return None
    return Line(f"failed: {one_line(event.data.error)}", "trace", _spent(state), "■")


@line_for("run.forked")
def _forked(event: Event, state: RunState) -> Line | None:
    if not isinstance(event.data, RunForked):
        return None
    edit = f" with another {event.data.edit}" if event.data.edit else ""
    return Line(f"forked from {event.data.source} at {event.data.at}{edit}", "result", mark="▸")


# ── steps ────────────────────────────────────────────────────────────────────────────────────────


@line_for("step.started")
def _step_started(event: Event, state: RunState) -> Line | None:
    if not isinstance(event.data, StepStarted):
        return None
    who = f" {event.data.about['agent']}" if "agent" in event.data.about else ""
    return Line(f"started{who}", "routine" if event.data.kind == "sleep" else "trace")


@line_for("step.completed")
def _step_completed(event: Event, state: RunState) -> Line | None:
    data = event.data
    step = state.steps.get(event.path)
    if not isinstance(data, StepCompleted) or step is None:
        return None
    result = "" if data.blob else _preview(bytes(data.result))
    what = ": ".join(part for part in (str(step.about.get("agent", "")), result) if part)
    edited = " (edited)" if data.edited else " (cut off)" if data.cut else ""
    weight: Weight = "trace" if step.kind == "clock" else "routine"
    return Line((what or "done") + edited, weight, _figures(step), "✓")


@line_for("step.failed")
def _step_failed(event: Event, state: RunState) -> Line | None:
    step = state.steps.get(event.path)
    if not isinstance(event.data, StepFailed) or step is None:
        return None
    kind, error = event.data.error_type, one_line(event.data.error)
    own = event.data.kind != "error" or hasattr(errors, kind)  # its message is clear without the class name
    named = own or error == kind or error.startswith(f"{kind}:")
    what = error if named and error else ": ".join(part for part in (kind, error) if part)
    return Line(what, "failure", _figures(step), "✗")


@line_for("step.retried")
def _step_retried(event: Event, state: RunState) -> Line | None:
    if not isinstance(event.data, StepRetried):
        return None
    wait = f" in {duration(event.data.wait_s)}" if event.data.wait_s else ""
    return Line(
        f"attempt {event.data.attempt} failed, again{wait}: {one_line(event.data.error)}", "warning", mark="↻"
    )


@line_for("step.stale")
def _step_stale(event: Event, state: RunState) -> Line | None:
    return Line(f"runs again: {event.data.reason}", mark="↻") if isinstance(event.data, StepStale) else None


@line_for("artifact.created")
def _artifact(event: Event, state: RunState) -> Line | None:
    data = event.data
    if not isinstance(data, ArtifactCreated):
        return None
    return Line(f"{one_line(data.name)} ({one_line(data.media_type)})", "result", (size(data.bytes),), "+")


@line_for("budget.reserved")
def _reserved(event: Event, state: RunState) -> Line | None:
    data = event.data
    if not isinstance(data, BudgetReserved):
        return None
    cost = f"{money(data.reserved.usd)}, " if data.reserved.usd else ""
    return Line(f"calling; at most {cost}{count(data.reserved.tokens, 'token')}", "trace")


@line_for("budget.settled")
def _settled(event: Event, state: RunState) -> Line | None:
    if not isinstance(event.data, BudgetSettled) or not event.data.lost:
        return None
    return Line("outcome of a call unknown: the process died; counted in full", "warning", mark="!")


@line_for("budget.overrun")
def _overrun(event: Event, state: RunState) -> Line | None:
    data = event.data
    if not isinstance(data, BudgetOverrun):
        return None
    used = f"{amount(data.actual.tokens)} tokens instead of at most {amount(data.reserved.tokens)}"
    if data.actual.usd > data.reserved.usd:
        used = f"{money(data.actual.usd)} instead of at most {money(data.reserved.usd)}"
    return Line(f"a call used {used}", "warning", mark="!")


@line_for("budget.exhausted")
def _exhausted(event: Event, state: RunState) -> Line | None:
    data = event.data
    if not isinstance(data, BudgetExhausted):
        return None
    shown = money if data.kind == "usd" else duration if data.kind == "seconds" else amount
    kind = {"usd": "money", "seconds": "time"}.get(data.kind, data.kind)
    kept = f", {shown(data.kept)} kept back for the end" if data.kept else ""
    told = f"{kind} budget used up: {shown(data.spent)} of {shown(data.limit)}{kept}"
    return Line(told, "warning", mark="!")


# ── models ───────────────────────────────────────────────────────────────────────────────────────


@line_for("model.asked")
def _asked(event: Event, state: RunState) -> Line | None:
    data = event.data
    if not isinstance(data, ModelAsked):
        return None
    return Line(f"asked {model_name(data.model)}: {brief(data.prompt, 200)}", "trace")


@line_for("model.attempted")
def _attempted(event: Event, state: RunState) -> Line | None:
    data = event.data
    if not isinstance(data, ModelAttempted):
        return None
    cost = (money(data.charge.usd),) if data.charge.usd else ()
    again = (f"again in {duration(data.retry_in_s)}",) if data.retry_in_s else ()
    read = (f"{amount(data.cache_read_tokens)} tokens remembered",) if data.cache_read_tokens else ()
    notes = (*cost, duration(data.latency_ms / 1000), *again, *read)
    model = model_name(data.model)
    if data.ok:
        return Line(f"{model} answered", "trace", notes)
    # A user's own function is not retried: its step fails with the same message.
    weight: Weight = "trace" if data.model.startswith("python:") else "warning"
    return Line(f"{model} failed: {one_line(data.error)}", weight, notes, "!")


@line_for("model.repaired")
def _repaired(event: Event, state: RunState) -> Line | None:
    if not isinstance(event.data, ModelRepaired):
        return None
    what = "" if event.data.cut else "reply did not fit, "
    return Line(f"{what}asked again: {one_line(event.data.error)}", "routine", mark="↻")


@line_for("model.continued")
def _continued(event: Event, state: RunState) -> Line | None:
    return Line("reply was cut off, continued", "routine", mark="↻")


@line_for("model.cached")
def _cached(event: Event, state: RunState) -> Line | None:
    data = event.data
    if not isinstance(data, ModelCached):
        return None
    saves = (f"saves {money(data.saved.usd)}",) if data.saved.usd else ()
    old = (f"{duration(data.age_s)} old",) if data.age_s else ()
    return Line(f"{model_name(data.model)} from the cache, answer {data.number}", "trace", saves + old)


@line_for("model.kept")
def _kept(event: Event, state: RunState) -> Line | None:
    return Line("kept in the cache", "trace") if isinstance(event.data, ModelKept) else None


@line_for("model.uncached")
def _uncached(event: Event, state: RunState) -> Line | None:
    return Line(one_line(event.data.reason), "trace") if isinstance(event.data, ModelUncached) else None


@line_for("model.fell_back")
def _fell_back(event: Event, state: RunState) -> Line | None:
    data = event.data
    if not isinstance(data, ModelFellBack):
        return None
    return Line(
        f"{data.from_model} gave up, {data.to_model} takes over: {one_line(data.error)}", "warning", mark="!"
    )


def _preview(result: bytes) -> str:
    """Return the beginning of a result on one line; empty for an empty result."""
    if result in (b"null", b'""', b"{}", b"[]"):
        return ""
    return outline(decode(result))


def _figures(step: StepState) -> tuple[str, ...]:
    cost = (money(step.charge.usd),) if step.charge.usd else ()
    cached = ("cached",) if step.saved.calls else ()
    took = (duration(step.duration_s),) if step.duration_s is not None and step.duration_s >= 0.05 else ()
    return cost + cached + took


def _spent(state: RunState) -> tuple[str, ...]:
    return (money(state.usage.usd),) if state.usage.usd else ()
