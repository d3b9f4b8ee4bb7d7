"""Report data, costs, and the JSON report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from podium.engine.codec import encode
from podium.engine.events import NOTHING, Charge, ChargedData, Event, RunAnswered, RunWaiting
from podium.engine.state import RunState, StepState
from podium.models.events import ModelAttempted
from podium.report.messages import ShownConversation
from podium.report.presentation import GENERIC, Presentation, Section
from podium.report.turns import ToolUse, decision_words, question_about, step_call, tools_of
from podium.report.words import cut_note, cut_steps, model_name, money, one_line

NO_AGENT = "steps"
"""Name for spending outside of agents: a workflow's own steps."""


class Cost(msgspec.Struct, frozen=True):
    """Spending of one agent on one model."""

    agent: str
    model: str
    """Empty if no model was asked."""
    usage: Charge


def costs_of(events: Iterable[Event], state: RunState) -> list[Cost]:
    """Return the costs by agent and model, in order of their first call. Inherited calls do not count:
    another run paid for them."""
    spent: dict[tuple[str, str], Charge] = {}
    for event in events:
        data = event.data
        if not isinstance(data, ChargedData) or data.inherited or data.charge == NOTHING:
            continue
        step = state.steps.get(event.path)
        about = step.about if step else {}
        # A call that was cut off names no model. Use the one that the step was to ask.
        named = data.model if isinstance(data, ModelAttempted) else str(about.get("model", ""))
        tool = f"tool {about['tool']}" if "tool" in about else ""
        pair = (one_line(str(about.get("agent", "")) or tool) or NO_AGENT, one_line(model_name(named)))
        spent[pair] = spent.get(pair, NOTHING) + data.charge
    return [Cost(agent, model, usage) for (agent, model), usage in spent.items()]


def summed(pairs: Iterable[tuple[str, Charge]]) -> dict[str, Charge]:
    """Sum the charges by name."""
    sums: dict[str, Charge] = {}
    for name, usage in pairs:
        sums[name] = sums.get(name, NOTHING) + usage
    return sums


def price_word(usage: Charge) -> str:
    """Return the cost in words. A free call, or a failed one that cost nothing, is not of unknown price."""
    known = money(usage.usd)
    if usage.unpriced_calls:
        return f"{known} + price unknown" if usage.usd else "price unknown"
    return "free" if usage.tokens and not usage.usd else known


class StepFacts(msgspec.Struct, frozen=True):
    """One step as a row of the table."""

    path: str
    kind: str
    agent: str
    status: str
    offset_s: float
    """Start of the step, in seconds after the run's creation."""
    duration_s: float | None
    usage: Charge
    saved: Charge
    """Charge that was saved because the cache held the answer."""
    retries: int
    error: str
    inherited: bool
    edited: bool
    cut: bool
    """True if the result ends where a model's reply was cut off."""
    call: str = ""
    """A tool call on one line."""


class Answered(msgspec.Struct, frozen=True):
    """A question to a person, and the answer."""

    path: str
    question: str
    answer: str
    by: str


class ReportData(msgspec.Struct, kw_only=True):
    """The data of a report of any run. Fields with a default may be unknown to the code that creates it."""

    run_id: str
    workflow: str
    request: str
    status: str
    stop_reason: str = ""
    created: datetime | None = None
    duration_s: float
    models: list[str]
    rehearsal: bool
    output: Any = None
    deliverable: str | None
    """The part of the output to read first, as Markdown. None: the output is data."""
    summary: str
    """Key figures on one line, if the workflow has some."""
    quality: float | None = None
    missing: list[str] = []
    error: str = ""
    hint: str = ""
    incomplete: str = ""
    """A sentence that names the texts that were cut off; empty if there are none."""
    notices: list[str] = []
    """Warnings that a reader must see before the result."""
    warnings: list[str]
    usage: Charge
    saved: Charge = NOTHING
    budget: dict[str, Any] = {}
    options: dict[str, Any] = {}
    steps: list[StepFacts] = []
    by_agent: dict[str, Charge] = {}
    by_model: dict[str, Charge] = {}
    costs: list[Cost] = []
    """Costs by agent and model."""
    tools: list[ToolUse] = []
    conversations: Sequence[ShownConversation] = ()
    answers: list[Answered] = []
    open_questions: list[str] = []
    artifacts: list[dict[str, Any]] = []
    forked_from: str = ""
    resumes: int = 0


def facts_of(
    events: Sequence[Event],
    *,
    output: Any = None,
    status: str = "",
    shown: Presentation = GENERIC,
    conversations: Sequence[ShownConversation] = (),
) -> ReportData:
    """Fold a log into report data. `output` is given if it is too large for the log, `status` if the store
    knows better (a run whose driver died is paused), `conversations` because they may be stored beside the
    log. All events have been applied to `shown`."""
    state = RunState.of(events)
    output = state.output if output is None else output
    costs = costs_of(events, state)
    models = summed((cost.model, cost.usage) for cost in costs if cost.model)
    alive = (status or state.status) in ("running", "waiting")
    return ReportData(
        run_id=state.run_id,
        workflow=state.workflow.rpartition("/")[2],
        request=as_text(state.request),
        status=status or state.status,
        stop_reason=state.stop_reason,
        created=state.created,
        duration_s=state.driven_s,
        models=_models(models, state),
        rehearsal=bool(state.config.get("rehearsal")) or _rehearsed(events),
        output=output,
        deliverable=shown.deliverable(output),
        summary=shown.summary(),
        quality=state.quality,
        missing=state.missing,
        error=state.error,
        hint=state.hint,
        incomplete=cut_note(cut_steps(state)),
        notices=list(state.first_warnings),
        warnings=[line for line in state.warnings if line.removeprefix("Missing: ") not in state.missing],
        usage=state.usage,
        saved=state.saved,
        budget=state.budget.to_dict(),
        options=state.options,
        steps=[_step(step, state.created, alive) for step in state.steps.values() if step.kind != "clock"],
        by_agent=summed((cost.agent, cost.usage) for cost in costs),
        by_model=models,
        costs=costs,
        tools=tools_of(events),
        conversations=conversations,
        answers=_answers(events, messages=shown.answers_are_messages),
        open_questions=[question.question for question in state.questions.values()],
        artifacts=_artifacts(state, shown.leading(output)),
        forked_from=state.forked_from.source if state.forked_from else "",
        resumes=state.resumes,
    )


def _artifacts(state: RunState, leading: list[str]) -> list[dict[str, Any]]:
    """Return the artifacts, leading ones first, the rest in order of creation."""
    made = [
        {"id": made.id, "name": made.name, "path": path, "media_type": made.media_type, "bytes": made.bytes}
        for path, made in state.artifacts.items()
    ]
    return sorted(made, key=lambda artifact: artifact["id"] not in leading)


def _models(spent: dict[str, Charge], state: RunState) -> list[str]:
    """Return the models that were asked; if none was yet, the configured ones."""
    return list(dict.fromkeys(map(model_name, spent or state.config.get("models", ()))))


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else encode(value).decode()


def _rehearsed(events: Sequence[Event]) -> bool:
    return any(isinstance(event.data, ModelAttempted) and event.data.rehearsal for event in events)


def _step(step: StepState, began: datetime | None, alive: bool) -> StepFacts:
    offset = (step.started - began).total_seconds() if step.started and began else 0.0
    return StepFacts(
        path=step.path,
        kind=step.kind,
        agent=one_line(str(step.about.get("agent", ""))),
        status=step.status if alive or step.status != "running" else "interrupted",
        offset_s=max(offset, 0.0),
        duration_s=step.duration_s,
        usage=step.charge,
        saved=step.saved,
        retries=step.retries,
        error=step.error,
        inherited=step.inherited,
        edited=step.edited,
        cut=step.cut,
        call=step_call(step),
    )


def _answers(events: Sequence[Event], *, messages: bool) -> list[Answered]:
    """Return the questions with their answers; those that are `messages` are in the conversation."""
    questions: dict[str, str] = {}
    answers: list[Answered] = []
    for event in events:
        if isinstance(event.data, RunWaiting):
            questions[event.path] = event.data.question
        elif isinstance(event.data, RunAnswered):
            kind, _ = question_about(event.path)
            if messages and not kind:
                continue
            answer = decision_words(kind, event.data.answer) if kind else as_text(event.data.answer)
            answers.append(Answered(event.path, questions.get(event.path, ""), answer, event.data.by))
    return answers


def to_json(facts: ReportData, sections: Sequence[Section]) -> bytes:
    """Return the report as one JSON object. The workflow's own sections are under their names."""
    report = msgspec.structs.asdict(facts)
    report |= {
        "stop_reason": facts.stop_reason or None,
        "usage": facts.usage.to_dict(),
        "saved": facts.saved.to_dict(),
        "steps": [_step_as_data(step) for step in facts.steps],
        "by_agent": {name: usage.to_dict() for name, usage in facts.by_agent.items()},
        "by_model": {name: usage.to_dict() for name, usage in facts.by_model.items()},
        "costs": [
            {"agent": cost.agent, "model": cost.model or None, "usage": cost.usage.to_dict()}
            for cost in facts.costs
        ],
        "tools": [_tool_as_data(use) for use in facts.tools],
        "sections": {section.name: section.data for section in sections},
    }
    return msgspec.json.format(encode(report), indent=2) + b"\n"


def _tool_as_data(use: ToolUse) -> dict[str, Any]:
    return msgspec.structs.asdict(use) | {"usage": use.usage.to_dict(), "seconds": round(use.seconds, 3)}


def _step_as_data(step: StepFacts) -> dict[str, Any]:
    plain = msgspec.structs.asdict(step)
    return plain | {"usage": step.usage.to_dict(), "saved": step.saved.to_dict()}
