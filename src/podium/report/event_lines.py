"""Lines for the events of the engine and of model calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from msgspec.structs import replace

from podium import errors
from podium.dimensions import dimension_word
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
    EventData,
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
    StepRunning,
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
from podium.models.messages import ToolOutcome
from podium.report.presentation import GENERIC, LINES, Line, Presentation, Weight, line_for
from podium.report.turns import (
    CallWords,
    call_words,
    decision_words,
    is_condensation,
    outcome_of,
    outcome_words,
    question_about,
    result_words,
    step_call,
    turn_of,
)
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
    scored,
    size,
)


def line_of(event: Event, state: RunState, shown: Presentation = GENERIC) -> Line:
    """Return the line of one event, which has been applied to `state` and `shown` already. An event without a
    line function gets a plain line made of its type and data, so that nothing in a log is invisible."""
    function = LINES.get(event.type)
    line = shown.line(event, state)
    if line is None and function is not None:
        line = function(event, state)
    if line is None:
        line = _plain(event, state)
    if line.score_in and state.config.get("rehearsal"):
        line = _made_up(line)
    if event.data.inherited:
        return Line(line.what, "trace", ("inherited",), line.mark, line.indent)
    return replace(line, weight="trace") if shown.is_hidden(event) else line


def _made_up(line: Line) -> Line:
    """Mark the score of a line as made up."""
    if line.score_in == "notes":
        return replace(line, notes=(scored(line.notes[0], rehearsal=True), *line.notes[1:]))
    return replace(line, what=scored(line.what, rehearsal=True))


def _plain(event: Event, state: RunState) -> Line:
    """Return the line of an event without a line function. A workflow's own event is named by the last part
    of its type."""
    data = event.data
    fields: dict[str, Any] = data.fields if isinstance(data, UnknownData) else decode(encode(data))
    shown = outline({key: value for key, value in fields.items() if value not in ("", [], {})})
    quiet = event.type.split(".")[0] in ("run", "step", "model", "budget", "artifact")
    name = event.type.removeprefix(f"{state.workflow.rpartition(':')[2]}.")
    return Line(": ".join(part for part in (name, shown) if part), "trace" if quiet else "routine")


Data = TypeVar("Data", bound=EventData)


def _line_for(kind: type[Data]) -> Callable[[Callable[[Data, Event, RunState], Line | None]], None]:
    """Register the line function of one event class. Unreadable data of that type get the plain line."""

    def register(function: Callable[[Data, Event, RunState], Line | None]) -> None:
        @line_for(kind.type)
        def line(event: Event, state: RunState) -> Line | None:
            return function(event.data, event, state) if isinstance(event.data, kind) else None

    return register


# ── runs ─────────────────────────────────────────────────────────────────────────────────────────


@_line_for(RunCreated)
def _created(data: RunCreated, event: Event, state: RunState) -> Line | None:
    return Line(f"created: {brief(data.request, 200)}", "trace")


@line_for("run.started")
def _started(event: Event, state: RunState) -> Line | None:
    return Line("started", "trace")


@_line_for(RunResumed)
def _resumed(data: RunResumed, event: Event, state: RunState) -> Line | None:
    after = f" after {data.after}" if data.after else ""
    weight: Weight = "trace" if data.after == "waiting" else "result"  # the answer has a line already
    cut_off = cut_off_calls(data.forfeited.get("", NOTHING))
    return Line(f"resumed{after}{f'; {cut_off}' if cut_off else ''}", weight, mark="▸")


@_line_for(RunWaiting)
def _waiting(data: RunWaiting, event: Event, state: RunState) -> Line | None:
    choices = f" [{' / '.join(data.choices)}]" if data.choices else ""
    call = f" {_asked_call(data.details)}" if question_about(event.path)[0] else ""
    return Line(one_line(data.question + call + choices), "attention", mark="?")


def _asked_call(details: Any) -> str:
    """Return the call that a question is about."""
    fields = cast("dict[str, Any]", details) if isinstance(details, dict) else {}
    return call_words(fields["tool"], fields.get("arguments", {}), 200) if "tool" in fields else ""


@_line_for(RunAnswered)
def _answered(data: RunAnswered, event: Event, state: RunState) -> Line | None:
    by = f" (by {data.by})" if data.by else ""
    kind, _ = question_about(event.path)
    words = decision_words(kind, data.answer) if kind else f"answered: {brief(data.answer, 120)}"
    return Line(f"{words}{by}", "result", mark="▸")


@_line_for(BudgetRaised)
def _raised(data: BudgetRaised, event: Event, state: RunState) -> Line | None:
    limits = ", ".join(f"{kind} {value:g}" for kind, value in data.budget.items())
    return Line(f"more may be spent: {limits}", "result", mark="▸")


@_line_for(RunWarned)
def _warned(data: RunWarned, event: Event, state: RunState) -> Line | None:
    return Line(one_line(data.message), "warning", mark="!")


@line_for("run.paused", "run.cancelled")
def _stopped(event: Event, state: RunState) -> Line | None:
    if not isinstance(event.data, (RunPaused, RunCancelled)):
        return None
    what, reason = event.type.removeprefix("run."), one_line(event.data.reason)
    text = reason if reason.startswith(what) else f"{what}: {reason}" if reason else what
    return Line(text, "trace", mark="■")


@line_for("run.completed", "run.partial")
def _ended(event: Event, state: RunState) -> Line | None:
    reason = f" ({state.stop_reason})" if state.stop_reason else ""
    return Line(f"{event.type.removeprefix('run.')}{reason}", "trace", _spent(state), "■")


@_line_for(RunFailed)
def _failed(data: RunFailed, event: Event, state: RunState) -> Line | None:
    return Line(f"failed: {one_line(data.error)}", "trace", _spent(state), "■")


@_line_for(RunForked)
def _forked(data: RunForked, event: Event, state: RunState) -> Line | None:
    edit = f" with another {data.edit}" if data.edit else ""
    return Line(f"forked from {data.source} at {data.at}{edit}", "result", mark="▸")


# ── steps ────────────────────────────────────────────────────────────────────────────────────────


@_line_for(StepStarted)
def _step_started(data: StepStarted, event: Event, state: RunState) -> Line | None:
    if call := step_call(StepState(event.path, about=data.about)):
        return Line(call, "trace", mark="→")
    who = f" {data.about['agent']}" if "agent" in data.about else ""
    return Line(f"started{who}", "routine" if data.kind == "sleep" else "trace")


@_line_for(StepRunning)
def _step_running(data: StepRunning, event: Event, state: RunState) -> Line | None:
    step = state.steps.get(event.path)
    call = (step_call(step) if step else "") or one_line(data.tool)
    return Line(f"{call}, which must not be repeated", "trace", mark="→")


@_line_for(StepCompleted)
def _step_completed(data: StepCompleted, event: Event, state: RunState) -> Line | None:
    step = state.steps.get(event.path)
    if step is None:
        return None
    raw = b"null" if data.blob else bytes(data.result)
    edited = " (edited)" if data.edited else " (cut off)" if data.cut else ""
    if "tool" in step.about:
        return _called(step, None if data.blob else outcome_of(step, raw), edited)
    result, who = result_words(step, raw), one_line(str(step.about.get("agent", "")))
    turn = turn_of(step, raw)
    acts = bool(turn and turn.calls) or is_condensation(step)
    what = (" " if acts else ": ").join(part for part in (who, result) if part)
    weight: Weight = "trace" if step.kind == "clock" else "routine"
    return Line((what or "done") + edited, weight, _figures(step), "✓")


SHOWN_LINES = 6
"""Lines of a tool's result up to which a line shows the beginning of all of them."""


def _called(step: StepState, outcome: ToolOutcome | None, edited: str) -> Line:
    """Return the line of a finished tool call."""
    words = CallWords("done", "a long result") if outcome is None else outcome_words(step, outcome)
    lines = words.text.strip().splitlines()
    more = f" … {count(len(lines), 'line')}" if len(lines) > SHOWN_LINES else ""
    result = (one_line(lines[0], 200) + more if more else one_line(words.text, 300)) if lines else "done"
    text = f"{one_line(str(step.about['tool']), 64)}: {result}{edited}"
    mark = "✓" if words.went_well else "?" if words.state == "unknown" else "✗"
    return Line(text, "routine" if words.went_well else "warning", _figures(step), mark)


@_line_for(StepFailed)
def _step_failed(data: StepFailed, event: Event, state: RunState) -> Line | None:
    step = state.steps.get(event.path)
    if step is None:
        return None
    kind, error = data.error_type, one_line(data.error)
    own = data.kind != "error" or hasattr(errors, kind)  # its message is clear without the class name
    named = own or error == kind or error.startswith(f"{kind}:")
    what = error if named and error else ": ".join(part for part in (kind, error) if part)
    what = f"{one_line(str(step.about['tool']), 64)}: {what}" if "tool" in step.about else what
    return Line(what, "failure", _figures(step), "✗")


@_line_for(StepRetried)
def _step_retried(data: StepRetried, event: Event, state: RunState) -> Line | None:
    wait = f" in {duration(data.wait_s)}" if data.wait_s else ""
    return Line(f"attempt {data.attempt} failed, again{wait}: {one_line(data.error)}", "warning", mark="↻")


@_line_for(StepStale)
def _step_stale(data: StepStale, event: Event, state: RunState) -> Line | None:
    return Line(f"runs again: {data.reason}", mark="↻")


@_line_for(ArtifactCreated)
def _artifact(data: ArtifactCreated, event: Event, state: RunState) -> Line | None:
    return Line(f"{one_line(data.name)} ({one_line(data.media_type)})", "result", (size(data.bytes),), "+")


@_line_for(BudgetReserved)
def _reserved(data: BudgetReserved, event: Event, state: RunState) -> Line | None:
    cost = f"{money(data.reserved.usd)}, " if data.reserved.usd else ""
    return Line(f"calling; at most {cost}{count(data.reserved.tokens, 'token')}", "trace")


@_line_for(BudgetSettled)
def _settled(data: BudgetSettled, event: Event, state: RunState) -> Line | None:
    if not data.lost:
        return None
    return Line("outcome of a call unknown: the process died; counted in full", "warning", mark="!")


@_line_for(BudgetOverrun)
def _overrun(data: BudgetOverrun, event: Event, state: RunState) -> Line | None:
    used = f"{amount(data.actual.tokens)} tokens instead of at most {amount(data.reserved.tokens)}"
    if data.actual.usd > data.reserved.usd:
        used = f"{money(data.actual.usd)} instead of at most {money(data.reserved.usd)}"
    return Line(f"a call used {used}", "warning", mark="!")


@_line_for(BudgetExhausted)
def _exhausted(data: BudgetExhausted, event: Event, state: RunState) -> Line | None:
    shown = money if data.kind == "usd" else duration if data.kind == "seconds" else amount
    kind = dimension_word(data.kind)
    reserve = f", {shown(data.kept)} kept back for the end" if data.kept else ""
    text = f"{kind} budget used up: {shown(data.spent)} of {shown(data.limit)}{reserve}"
    return Line(text, "warning", mark="!")


# ── models ───────────────────────────────────────────────────────────────────────────────────────


@_line_for(ModelAsked)
def _asked(data: ModelAsked, event: Event, state: RunState) -> Line | None:
    what = f"turn {data.turn}" if data.turn else brief(data.prompt, 200)
    return Line(f"asked {model_name(data.model)}: {what}", "trace")


@_line_for(ModelAttempted)
def _attempted(data: ModelAttempted, event: Event, state: RunState) -> Line | None:
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


@_line_for(ModelRepaired)
def _repaired(data: ModelRepaired, event: Event, state: RunState) -> Line | None:
    what = "" if data.cut else "reply did not fit, "
    return Line(f"{what}asked again: {one_line(data.error)}", "routine", mark="↻")


@line_for("model.continued")
def _continued(event: Event, state: RunState) -> Line | None:
    return Line("reply was cut off, continued", "routine", mark="↻")


@_line_for(ModelCached)
def _cached(data: ModelCached, event: Event, state: RunState) -> Line | None:
    saves = (f"saves {money(data.saved.usd)}",) if data.saved.usd else ()
    old = (f"{duration(data.age_s)} old",) if data.age_s else ()
    return Line(f"{model_name(data.model)} from the cache, answer {data.number}", "trace", saves + old)


@_line_for(ModelKept)
def _kept(data: ModelKept, event: Event, state: RunState) -> Line | None:
    return Line("kept in the cache", "trace")


@_line_for(ModelUncached)
def _uncached(data: ModelUncached, event: Event, state: RunState) -> Line | None:
    return Line(one_line(data.reason), "trace")


@_line_for(ModelFellBack)
def _fell_back(data: ModelFellBack, event: Event, state: RunState) -> Line | None:
    return Line(
        f"{data.from_model} gave up, {data.to_model} takes over: {one_line(data.error)}", "warning", mark="!"
    )


def _figures(step: StepState) -> tuple[str, ...]:
    cost = (money(step.charge.usd),) if step.charge.usd else ()
    cached = ("cached",) if step.saved.calls else ()
    took = (duration(step.duration_s),) if step.duration_s is not None and step.duration_s >= 0.05 else ()
    return cost + cached + took


def _spent(state: RunState) -> tuple[str, ...]:
    return (money(state.usage.usd),) if state.usage.usd else ()
