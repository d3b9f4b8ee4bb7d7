"""Spans computed from events.

The run is the root; branches, steps and calls are below it according to their paths. A step that was cut off
by a crash or a pause and continued by a later stretch is two spans. The root and the branches are emitted
when the run is over.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import msgspec

from podium.engine.events import (
    NOTHING,
    TERMINAL,
    ArtifactCreated,
    BudgetExhausted,
    Event,
    EventData,
    RunAnswered,
    RunCompleted,
    RunCreated,
    RunEnded,
    RunFailed,
    RunForked,
    RunPartial,
    RunPaused,
    RunResumed,
    RunStarted,
    RunWaiting,
    RunWarned,
    StepCompleted,
    StepFailed,
    StepRetried,
    StepStarted,
)
from podium.models.events import ModelAsked, ModelAttempted, ModelCached, ModelFellBack, ModelRepaired
from podium.tracing.span import (
    PROVIDERS,
    Attributes,
    Moment,
    Span,
    about_call,
    as_text,
    cost,
    error_type,
    instructions,
    message,
    span_id_of,
    split_model,
    trace_id_of,
    usage,
)


class OpenStep:
    """The span of a step, and those of its calls, which are kept until the step ends, because the last reply
    is known only then."""

    def __init__(
        self, run_id: str, path: str, nth: int, span: Span, started: StepStarted, content: bool
    ) -> None:
        self.span = span
        self._place = (run_id, path, nth)
        self._started = started
        self._content = content
        self._asked: ModelAsked | None = None
        self._calls: list[tuple[ModelAttempted, Span]] = []
        self._spent = NOTHING

    def tell(self, data: EventData, time_ns: int) -> None:
        """Add an event of the step."""
        match data:
            case ModelAsked():
                self._asked = data
            case ModelAttempted():
                self._call(data, time_ns)
            case ModelRepaired():
                self._answered(data.raw, "")
                self._moment("model.repaired", time_ns, {"podium.attempt": data.attempt}, data.error)
            case ModelFellBack():
                to = {"podium.from_model": data.from_model, "podium.to_model": data.to_model}
                self._moment("model.fell_back", time_ns, dict(to), data.error)
            case ModelCached():
                self._moment("model.cached", time_ns, {"podium.model": data.model})
            case StepRetried():
                waits: Attributes = {"podium.attempt": data.attempt, "podium.wait_s": data.wait_s}
                self._moment("step.retried", time_ns, waits, data.error)
            case ArtifactCreated():
                made: Attributes = {"podium.artifact": data.name, "podium.bytes": data.bytes}
                self._moment("artifact.created", time_ns, made)
            case _:
                pass

    def end(self, data: StepCompleted | StepFailed, time_ns: int) -> list[Span]:
        """End the step with its outcome; return its spans, its own after those of its calls."""
        if isinstance(data, StepFailed):
            self.span.fail(data.error_type or data.kind, data.error if self._content else "")
        elif self._content and data.result:
            text = as_text(data.result)
            self._answered(text, "stop")
            if self._started.kind == "ask":
                self.span.attributes["gen_ai.output.messages"] = message("assistant", text, "stop")
        return self._ended(time_ns)

    def interrupt(self, why: str, time_ns: int) -> list[Span]:
        """End a step that was cut off, because the process died or the run was stopped."""
        self.span.fail(why)
        return self._ended(time_ns)

    def _ended(self, time_ns: int) -> list[Span]:
        self.span.end_ns = max(time_ns, self.span.start_ns)
        if self._calls:
            self.span.attributes |= usage(self._spent.input_tokens, self._spent.output_tokens)
            self.span.attributes |= cost(self._spent.usd, unpriced=bool(self._spent.unpriced_calls))
        if self._content and self._asked is not None:
            self.span.attributes |= self._question(self._asked)
        return [*(span for _, span in self._calls), self.span]

    def _call(self, data: ModelAttempted, time_ns: int) -> None:
        name, kind, told = about_call(data)
        start = max(time_ns - round(data.latency_ms * 1e6), self.span.start_ns)
        span = Span(
            name=name,
            trace_id=self.span.trace_id,
            span_id=span_id_of(*self._place, "call", len(self._calls) + 1),
            parent_id=self.span.span_id,
            kind=kind,
            start_ns=start,
            end_ns=time_ns,
            attributes=told | {"gen_ai.conversation.id": self._place[0]},
        )
        if agent := str(self._started.about.get("agent", "")):
            span.attributes["gen_ai.agent.name"] = agent
        if not data.ok:
            span.fail(error_type(data.error), data.error if self._content else "")
        if self._content and self._asked is not None and data.attempt == 1:
            span.attributes |= self._question(self._asked)
        self._calls.append((data, span))
        self._spent = self._spent + data.charge

    def _question(self, asked: ModelAsked) -> Attributes:
        told: Attributes = {"gen_ai.input.messages": message("user", asked.prompt)}
        return told | ({"gen_ai.system_instructions": instructions(asked.system)} if asked.system else {})

    def _answered(self, text: str, finish: str) -> None:
        """Add the reply of the last call, which the log keeps once: as the step's result or with its
        repair."""
        if self._content and self._calls and self._calls[-1][0].ok:
            data, span = self._calls[-1]
            span.attributes["gen_ai.output.messages"] = message("assistant", text, data.finish or finish)

    def _moment(self, name: str, time_ns: int, told: Attributes, error: str = "") -> None:
        if error and self._content:
            told["podium.error"] = error
        self.span.moments.append(Moment(name, time_ns, told))


def about_step(path: str, started: StepStarted) -> tuple[str, Attributes]:
    """Return the name and attributes of a step's span."""
    name, about = path.rpartition("/")[2], started.about
    told: Attributes = {"podium.path": path, "podium.step.kind": started.kind}
    if started.kind == "tool":
        return f"execute_tool {name}", told | {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
        }
    if started.kind != "ask":
        return f"{started.kind} {name}", told
    told["gen_ai.operation.name"] = "invoke_agent"
    if about.get("model"):
        provider, model, _ = split_model(str(about["model"]))
        told["gen_ai.provider.name"] = PROVIDERS.get(provider, provider)
        told["gen_ai.request.model"] = model
    names = {"agent": "gen_ai.agent.name", "role": "podium.role", "task": "podium.task"}
    names |= {"prompt": "podium.prompt", "prompt_hash": "podium.prompt_hash"}
    told |= {names[key]: str(value) for key, value in about.items() if key in names}
    return f"invoke_agent {about.get('agent', name)}", told


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ROOT = "run"


class Trace:
    """The spans of one run. Apply the whole log, from the first event on."""

    def __init__(self, run_id: str, *, content: bool = False) -> None:
        self._run_id = run_id
        self._content = content
        """Prompts, replies and error messages may leave the store."""
        self._root: Span | None = None
        self._branches: dict[str, Span] = {}
        self._steps: dict[str, OpenStep] = {}
        self._starts: dict[str, int] = {}
        """Number of starts of each step."""
        self._waits: dict[str, Span] = {}
        self._last_ns = 0

    def apply(self, event: Event) -> list[Span]:
        """Apply an event; return the spans that it ends."""
        if event.data.inherited is True:
            return []  # already traced by the run that this one was forked from
        now = (event.time - _EPOCH) // timedelta(microseconds=1) * 1000
        ended = self._step_event(event, now) if event.path else self._run_event(event, now)
        if event.path:
            self._touch(event.path, now)
        self._last_ns = now
        return ended

    def rest(self, status: str) -> list[Span]:
        """Return the open spans of a run that is not over, ended at the last event so far."""
        if self._root is None:
            return []
        self._root.attributes["podium.run.status"] = status
        return [*self._cut_off(status), *self._close(self._last_ns)]

    # ── steps ──

    def _step_event(self, event: Event, now: int) -> list[Span]:
        path, step = event.path, self._steps.get(event.path)
        match event.data:
            case StepStarted():
                ended = self._interrupted(path, "interrupted") if step else []
                self._steps[path] = self._start(path, event.data, now)
                return ended
            case StepCompleted() | StepFailed():
                step = step or self._start(path, StepStarted(), now)
                self._steps.pop(path, None)
                return step.end(event.data, now)
            case RunWaiting():
                about: Attributes = {"podium.path": path, "podium.step.kind": "wait"}
                self._waits[path] = self._span(f"wait {path.rpartition('/')[2]}", path, now, about, "wait")
            case RunAnswered():
                return self._answered(path, now)
            case _ if step is not None:
                step.tell(event.data, now)
            case _:
                pass
        return []

    def _start(self, path: str, started: StepStarted, now: int) -> OpenStep:
        nth = self._starts[path] = self._starts.get(path, 0) + 1
        name, about = about_step(path, started)
        if nth > 1:
            about["podium.start"] = nth
        span = self._span(name, path, now, about, nth)
        return OpenStep(self._run_id, path, nth, span, started, self._content)

    def _interrupted(self, path: str, why: str) -> list[Span]:
        return self._steps.pop(path).interrupt(why, self._last_ns)

    def _cut_off(self, why: str) -> list[Span]:
        """End everything under way at the time of the last event."""
        return [span for path in list(self._steps) for span in self._interrupted(path, why)]

    def _answered(self, path: str, now: int) -> list[Span]:
        span = self._waits.pop(path, None)
        if span is None:
            return []
        span.end_ns = now
        return [span]

    # ── the run ──

    def _run_event(self, event: Event, now: int) -> list[Span]:
        ended: list[Span] = []
        match event.data:
            case RunCreated():
                self._root = self._begun(event.data, now)
            case RunForked():
                source = event.data.source
                self._links().append((trace_id_of(source), span_id_of(source, _ROOT)))
            case RunStarted():
                self._moment(event.type, now)
            case RunResumed():
                self._moment(event.type, now, {"podium.after": event.data.after})
                ended = self._cut_off("interrupted")
                self._forgive()
            case RunPaused():
                self._moment(event.type, now, {"podium.reason": event.data.reason})
                ended = self._cut_off("paused")
            case RunWarned():
                self._moment(event.type, now, {"podium.message": event.data.message} if self._content else {})
            case BudgetExhausted():
                self._moment(event.type, now, {"podium.budget": event.data.kind})
            case RunEnded() if event.type in TERMINAL:
                self._judge(event.type.removeprefix("run."), event.data)
                self._last_ns = now
                ended = [*self._cut_off(event.type.removeprefix("run.")), *self._close(now)]
            case _:
                pass
        return ended

    def _begun(self, created: RunCreated, now: int) -> Span:
        name = created.workflow.rpartition(":")[2]
        told: Attributes = {
            "gen_ai.operation.name": "invoke_workflow",
            "gen_ai.workflow.name": name,
            "gen_ai.conversation.id": self._run_id,
            "podium.run.id": self._run_id,
            "podium.version": created.podium,
        }
        if self._content:
            told["gen_ai.input.messages"] = message("user", as_text(created.request))
        return Span(
            name=f"invoke_workflow {name}",
            trace_id=trace_id_of(self._run_id),
            span_id=span_id_of(self._run_id, _ROOT),
            start_ns=now,
            attributes=told,
        )

    def _judge(self, status: str, data: RunEnded) -> None:
        if self._root is None:
            return
        told = self._root.attributes
        told |= {"podium.run.status": status, "podium.driven_s": data.driven_s}
        told |= cost(data.usage.usd, unpriced=bool(data.usage.unpriced_calls))
        told |= {
            "podium.usage.calls": data.usage.calls,
            "podium.usage.input_tokens": data.usage.input_tokens,
            "podium.usage.output_tokens": data.usage.output_tokens,
        }
        match data:
            case RunFailed():
                self._root.fail(data.error_type, data.error if self._content else "")
            case RunPartial():
                told["podium.stop_reason"] = data.stop_reason
            case _:
                pass
        if self._content and isinstance(data, (RunCompleted, RunPartial)) and data.output is not None:
            told["gen_ai.output.messages"] = message("assistant", as_text(data.output), "stop")

    def _forgive(self) -> None:
        """Clear the failure of a run that continues."""
        if self._root is not None:
            self._root.failed, self._root.description = False, ""
            for name in ("error.type", "podium.stop_reason", "gen_ai.output.messages"):
                self._root.attributes.pop(name, None)

    def _close(self, now: int) -> list[Span]:
        """Return the root, the branches and unanswered questions as they are now. If the run continues after
        all, they are sent again under the same ids."""
        if self._root is None:
            return []
        self._root.end_ns = now
        for span in self._waits.values():
            span.end_ns = now
        return [_copied(span) for span in (*self._waits.values(), *self._branches.values(), self._root)]

    # ── places ──

    def _span(self, name: str, path: str, now: int, told: Attributes, *place: str | int) -> Span:
        parent = path.rpartition("/")[0]
        return Span(
            name=name,
            trace_id=trace_id_of(self._run_id),
            span_id=span_id_of(self._run_id, path, *place),
            parent_id=self._branch_id(parent),
            start_ns=now,
            attributes=told | {"gen_ai.conversation.id": self._run_id},
        )

    def _branch_id(self, path: str) -> str:
        return span_id_of(self._run_id, path, "branch") if path else span_id_of(self._run_id, _ROOT)

    def _touch(self, path: str, now: int) -> None:
        """Extend the branches above a path until now."""
        parent = path.rpartition("/")[0]
        while parent:
            span = self._branches.get(parent)
            if span is None:
                name = f"branch {parent.rpartition('/')[2]}"
                span = self._span(name, parent, now, {"podium.path": parent}, "branch")
                self._branches[parent] = span
            span.end_ns = now
            parent = parent.rpartition("/")[0]

    def _moment(self, name: str, now: int, told: Attributes | None = None) -> None:
        if self._root is not None:
            self._root.moments.append(Moment(name, now, told or {}))

    def _links(self) -> list[tuple[str, str]]:
        return self._root.links if self._root is not None else []


def spans_of(run_id: str, events: Iterable[Event], *, status: str = "", content: bool = False) -> list[Span]:
    """Return all spans of a log; `status` is the run's, for one that is not over."""
    trace, spans, over = Trace(run_id, content=content), list[Span](), False
    for event in events:
        spans += trace.apply(event)
        over = event.type in TERMINAL or (over and event.type != "run.resumed")
    if not over:
        spans += trace.rest(status)
    return list({span.span_id: span for span in spans}.values())


def _copied(span: Span) -> Span:
    return msgspec.structs.replace(
        span, attributes=dict(span.attributes), moments=list(span.moments), links=list(span.links)
    )
