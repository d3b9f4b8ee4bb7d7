"""Fold of a run's log into its lines and its view."""

from __future__ import annotations

import hashlib
import re
from datetime import datetime

import msgspec

from podium.engine.events import (
    NOTHING,
    ArtifactCreated,
    Charge,
    ChargedData,
    Event,
    RunAnswered,
    RunCompleted,
    RunEnded,
    RunFailed,
    RunPartial,
    RunResumed,
    RunStarted,
    RunWaiting,
    StepCompleted,
    StepFailed,
)
from podium.engine.state import RunState, StepState
from podium.models.events import ModelAsked, ModelAttempted, ModelCached, ModelRepaired
from podium.report.data import NO_AGENT, as_text
from podium.report.event_lines import line_of
from podium.report.presentation import Line, Presentation, ViewGrade
from podium.report.turns import ToolUse, ToolUses, result_words, step_call
from podium.report.view import (
    RunView,
    ViewArtifact,
    ViewBudget,
    ViewFork,
    ViewNotice,
    ViewQuestion,
    ViewStep,
    ViewTool,
    ViewUsage,
    without_nulls,
)
from podium.report.words import SCORES_MADE_UP, one_line, scored, shorten

ALIVE = frozenset({"queued", "running", "waiting"})
OVER = frozenset({"completed", "partial", "failed", "cancelled"})
RESULT_CHARS = 90
_ATTEMPT = re.compile(r"(?:^|/)attempt(?:\[(\d+)\])?(?:#(\d+))?(?=/|$)")
_ARTIFACT = re.compile(r"/?artifact\[.*\]$")


class StepFacts(msgspec.Struct):
    """Facts of a step that the view shows and `StepState` does not have."""

    seqs: list[int] = []
    """Numbers of its events."""
    model: str = ""
    repairs: int = 0
    cached: bool = False
    asked_seq: int = 0
    prompt_blob: bool = False
    prompt_chars: int = 0
    ended_seq: int = 0
    result_blob: bool = False
    result_hash: str = ""
    result_line: str = ""
    failed_calls_ms: tuple[int, ...] = ()


class RunFold:
    """The lines and the view of one run, up to the last event applied."""

    def __init__(self, shown: Presentation) -> None:
        self.state = RunState()
        self.shown = shown
        self.facts: dict[str, StepFacts] = {}
        """By path."""
        self._steps: dict[str, ViewStep] = {}
        self._changed: dict[str, None] = {}
        """Paths of steps whose part of the view is out of date."""
        self._counted = 0
        self._agents: dict[str, Charge] = {}
        self._tools = ToolUses()
        self._conversations = 0
        self._questions: dict[str, ViewQuestion] = {}
        self._artifacts: dict[str, ViewArtifact] = {}
        self._grades: dict[str, dict[str, ViewGrade]] = {}
        self._rehearsed = False
        self._driven_before_s = 0.0
        self._since: datetime | None = None
        self._ending = ""
        """Line of the event that stopped the run."""
        self._output_seq = 0

    def apply(self, event: Event) -> Line:
        """Apply one event and return its line."""
        state, data = self.state, event.data
        if isinstance(data, (RunStarted, RunResumed, RunEnded)):
            self._changed.update(dict.fromkeys(step.path for step in state.in_flight))
            self._driven_before_s = state.driven_s
        state.apply(event)
        self.shown.apply(event)
        self._tools.apply(event)
        line = line_of(event, state, self.shown)
        if event.path in state.steps:
            self._apply_step(event)
        if isinstance(data, ChargedData) and not data.inherited:
            self._charge(event.path, data.charge)
        if event.type.startswith("run."):
            self._apply_run(event, line)
        elif isinstance(data, ArtifactCreated):
            self._artifacts[event.path] = ViewArtifact(
                id=data.id,
                name=data.name,
                media_type=data.media_type,
                bytes=data.bytes,
                branch=_ARTIFACT.sub("", event.path),
                seq=event.seq,
            )
        grade = self.shown.grade(event)
        if grade is not None:
            self._grades[event.path] = {**self._grades.get(event.path, {}), str(event.seq): grade}
        return line

    def _charge(self, path: str, charge: Charge) -> None:
        step = self.state.steps.get(path)
        if step is not None and "tool" in step.about:
            return
        agent = one_line(str(step.about.get("agent", ""))) if step else ""
        self._agents[agent or NO_AGENT] = self._agents.get(agent or NO_AGENT, NOTHING) + charge

    def _apply_step(self, event: Event) -> None:
        self._changed[event.path] = None
        facts = self.facts.get(event.path)
        if facts is None:
            facts = self.facts[event.path] = StepFacts()
        facts.seqs.append(event.seq)
        match event.data:
            case ModelAsked() as data:
                facts.model = data.model or facts.model
                facts.asked_seq, facts.prompt_blob = event.seq, bool(data.blob)
                facts.prompt_chars = 0 if data.blob else len(data.prompt)
            case ModelAttempted() as data:
                facts.model = data.model or facts.model
                self._rehearsed = self._rehearsed or data.rehearsal
                if not data.ok:
                    facts.failed_calls_ms = (*facts.failed_calls_ms, _ms(event.time))
            case ModelRepaired():
                facts.repairs += 1
            case ModelCached() as data:
                facts.cached, facts.model = True, data.model or facts.model
            case StepCompleted() as data:
                result = bytes(data.result)
                facts.ended_seq, facts.result_blob = event.seq, bool(data.blob)
                facts.result_hash = hashlib.sha256(data.blob.encode() if data.blob else result).hexdigest()[
                    :16
                ]
                step = self.state.steps[event.path]
                facts.result_line = "" if data.blob else shorten(result_words(step, result), RESULT_CHARS)
                step.result = None  # the log has it; a long run has thousands of them
            case StepFailed():
                facts.ended_seq = event.seq
            case _:
                pass

    def _apply_run(self, event: Event, line: Line) -> None:
        match event.data:
            case RunStarted() | RunResumed():
                self._since, self._ending = event.time, ""
            case RunWaiting() as data:
                details = without_nulls(data.details)
                self._questions[event.path] = ViewQuestion(
                    question=data.question,
                    choices=data.choices,
                    seq=event.seq,
                    details=details,
                    answers=without_nulls(data.answers),
                )
            case RunAnswered():
                self._questions.pop(event.path, None)
            case RunEnded() as data:
                self._since, self._ending = None, line.what
                if isinstance(data, (RunCompleted, RunPartial, RunFailed)):
                    self._output_seq = event.seq
            case _:
                pass

    # ── the view ──

    def view(self) -> RunView:
        """Return the view. Parts that did not change since the last call are the same objects."""
        state, alive = self.state, self.state.status in ALIVE
        self._refresh_steps(alive)
        rehearsal = bool(state.config.get("rehearsal")) or self._rehearsed
        detail = self.shown.detail(alive=alive)
        has_scores = detail is not None or bool(self._grades) or state.quality is not None
        return RunView(
            run_id=state.run_id,
            workflow=state.workflow,
            status=state.status,
            request=as_text(state.request),
            options=without_nulls(state.options),
            config=without_nulls(state.config),
            budget=ViewBudget(
                **{name: value for name, value in state.budget.to_dict().items() if value is not None}
            ),
            created_ms=_ms(state.created),
            updated_ms=_ms(state.updated),
            driven_s=round(state.driven_s, 3),
            usage=ViewUsage.of(state.usage),
            saved=ViewUsage.of(state.saved),
            reserved=ViewUsage.of(_total(state.reserved)),
            usage_at_rest=ViewUsage.of(state.usage + state.lost),
            agents={name: ViewUsage.of(charge) for name, charge in self._agents.items() if charge.calls},
            tools={name: _tool(use) for name, use in self._tools.uses.items()},
            conversations=self._conversations,
            steps_total=self._counted,
            steps_running=len(state.in_flight) if alive else 0,
            steps=dict(self._steps),
            questions=dict(self._questions),
            artifacts=dict(self._artifacts),
            grades=dict(self._grades),
            warnings=list(state.warnings),
            missing=list(state.missing),
            resumes=state.resumes,
            rehearsal=rehearsal,
            driven_before_s=round(self._driven_before_s, 3) if self._since else 0.0,
            driving_since_ms=_ms(self._since) if self._since and state.status == "running" else 0,
            quality=msgspec.UNSET if state.quality is None else state.quality,
            quality_text="" if state.quality is None else scored(f"{round(state.quality, 2):g}", rehearsal),
            scores_note=SCORES_MADE_UP if rehearsal and has_scores else "",
            summary=self.shown.summary(),
            stop_reason=state.stop_reason,
            notice=self._notice(),
            error=state.error,
            hint=state.hint,
            delivered=state.status in OVER and (state.output is not None or bool(state.output_blob)),
            output_seq=self._output_seq,
            output_blob=bool(state.output_blob),
            forked=_fork(state),
            detail=msgspec.UNSET if detail is None else detail,
        )

    def _notice(self) -> ViewNotice | msgspec.UnsetType:
        state = self.state
        text = state.error or (self._ending if state.stop_reason and state.status != "completed" else "")
        if not text:
            return msgspec.UNSET
        text = one_line(text)
        weight = "failure" if state.status == "failed" else "warning"
        return ViewNotice(text=text[:1].upper() + text[1:], weight=weight, hint=state.hint)

    def _refresh_steps(self, alive: bool) -> None:
        for path in self._changed:
            step, before = self.state.steps[path], self._steps.get(path)
            made = self._step(step, self.facts.get(path) or StepFacts(), alive)
            self._steps[path] = made
            self._conversations += made.turn == 1 and before is None
            self._counted += (not made.clock) - (before is not None and not before.clock)
        self._changed.clear()

    def _step(self, step: StepState, facts: StepFacts, alive: bool) -> ViewStep:
        about = step.about
        interrupted = step.status == "running" and not alive
        return ViewStep(
            kind=step.kind,
            agent=one_line(str(about.get("agent", ""))),
            task=str(about.get("task", "")),
            call=step_call(step),
            turn=int(about.get("turn", 0)),
            model=facts.model or str(about.get("model", "")),
            status="interrupted" if interrupted else step.status,
            seq=step.started_seq,
            started_ms=_ms(step.started),
            ended_ms=_ms(step.ended),
            usage=ViewUsage.of(step.charge),
            retries=step.retries,
            repairs=facts.repairs,
            error=step.error,
            inherited=step.inherited,
            edited=step.edited,
            cached=facts.cached,
            cut=step.cut,
            clock=step.kind == "clock",
            attempt=attempt_in(step.path),
            asked_seq=facts.asked_seq,
            prompt_blob=facts.prompt_blob,
            prompt_chars=facts.prompt_chars,
            ended_seq=facts.ended_seq,
            result_blob=facts.result_blob,
            result_hash=facts.result_hash,
            result_line=facts.result_line,
            failed_calls_ms=facts.failed_calls_ms,
        )


def attempt_in(path: str) -> int:
    """Return the number of the attempt whose branch a path is in; 1 if there is only one."""
    matches = list(_ATTEMPT.finditer(path))
    return int(matches[-1][2] or matches[-1][1] or 1) if matches else 1


def _ms(moment: datetime | None) -> int:
    return 0 if moment is None else int(moment.timestamp() * 1000)


def _total(charges: dict[str, Charge]) -> Charge:
    total = NOTHING
    for charge in charges.values():
        total += charge
    return total


def _tool(use: ToolUse) -> ViewTool:
    return ViewTool(
        calls=use.calls,
        failed=use.failed,
        cost_usd=round(use.usage.usd, 9),
        seconds=round(use.seconds, 3),
    )


def _fork(state: RunState) -> ViewFork | msgspec.UnsetType:
    fork = state.forked_from
    if fork is None:
        return msgspec.UNSET
    return ViewFork(source=fork.source, at=fork.at, edit=fork.edit, steps=fork.steps)
