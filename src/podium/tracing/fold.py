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
    TERMINAL,
    BudgetExhausted,
    Event,
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
    StepStarted,
)
from podium.models.messages import ToolCall
from podium.tracing.span import (
    Attributes,
    Moment,
    Span,
    as_text,
    cost,
    message,
    span_id_of,
    trace_id_of,
)
from podium.tracing.step import AskSpan, OpenStep, OpenTool, OpenTurn, about_step, about_tool, turn_at

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
        self._asks: dict[str, AskSpan] = {}
        """Asks with turns that are not answered yet, by path. Their spans are among the branches."""
        self._wanted: dict[str, ToolCall] = {}
        """Calls that a turn wants and that have not ended, by path."""
        self._waits: dict[str, Span] = {}
        self._last_ns = 0

    def apply(self, event: Event) -> list[Span]:
        """Apply an event; return the spans that it ends."""
        if event.data.inherited is True:
            return []  # already traced by the run that this one was forked from
        now = (event.time - _EPOCH) // timedelta(microseconds=1) * 1000
        if event.path:
            self._touch(event.path, now)  # first: an ask or a call that ends here is no open branch any more
        ended = self._step_event(event, now) if event.path else self._run_event(event, now)
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
                return self._closed(path, step, step.end(event.data, now))
            case RunWaiting():
                about: Attributes = {"podium.path": path, "podium.step.kind": "wait"}
                self._waits[path] = self._span(f"wait {path.rpartition('/')[2]}", path, now, about, "wait")
            case RunAnswered():
                return self._answered(path, now)
            case _ if step is not None:
                step.apply(event.data, now)
            case _:
                pass
        return []

    def _start(self, path: str, started: StepStarted, now: int) -> OpenStep:
        nth = self._starts[path] = self._starts.get(path, 0) + 1
        name, about = about_step(path, started)
        if nth > 1:
            about["podium.start"] = nth
        if started.kind == "ask" and "turn" in started.about:
            ask = self._ask(path, name, about, now)
            return OpenTurn(self._run_id, path, nth, ask, started, self._content)
        if "tool" not in started.about:
            span = self._span(name, path, now, about, nth)
            return OpenStep(self._run_id, path, nth, span, started, self._content)
        place, composite = path.removesuffix("/result"), path.endswith("/result")
        span = self._branch(place, now) if composite else self._span(name, path, now, about, nth)
        span.name = name
        call, ask = self._wanted.get(place), self._asks.get(_parent(place))
        provider_id = call.id if call else ""
        return OpenTool(self._run_id, path, nth, span, started, self._content, provider_id, ask)

    def _ask(self, path: str, name: str, about: Attributes, now: int) -> AskSpan:
        """Return the span of the ask that a turn belongs to; its first turn begins it."""
        first, number = turn_at(path)
        ask = self._asks.get(first)
        if ask is None or number == 1:
            before = self._branches.get(first)
            about["podium.path"] = first
            span = self._span(name, first, before.start_ns if before else now, about, "branch")
            ask = self._asks[first] = AskSpan(span)
            self._branches[first] = span
        ask.span.failed, ask.span.description = False, ""
        ask.span.attributes.pop("error.type", None)
        return ask

    def _closed(self, path: str, step: OpenStep, spans: list[Span]) -> list[Span]:
        """Note the calls that a turn wants. An ask or a composite call that is over has been sent."""
        if isinstance(step, OpenTurn):
            first, number = turn_at(path)
            for index, call in enumerate(step.turn.calls if step.turn else ()):
                self._wanted[f"{first}/tool[{number}.{index}]"] = call
            if any(span is step.span for span in spans):
                self._asks.pop(first, None)
                self._branches.pop(first, None)
        elif isinstance(step, OpenTool):
            place = path.removesuffix("/result")
            self._wanted.pop(place, None)
            if place != path:
                self._branches.pop(place, None)
        elif path.endswith("/ended") and (ask := self._asks.pop(_parent(path), None)) is not None:
            ask.span.fail("timeout")
            self._branches.pop(_parent(path), None)
            return [*spans, ask.end(self._last_ns)]
        return spans

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
                for ask in self._asks.values():
                    ask.span.fail(event.type.removeprefix("run."))
                ended = [*self._cut_off(event.type.removeprefix("run.")), *self._close(now)]
            case _:
                pass
        return ended

    def _begun(self, created: RunCreated, now: int) -> Span:
        name = created.workflow.rpartition(":")[2]
        attributes: Attributes = {
            "gen_ai.operation.name": "invoke_workflow",
            "gen_ai.workflow.name": name,
            "gen_ai.conversation.id": self._run_id,
            "podium.run.id": self._run_id,
            "podium.version": created.podium,
        }
        if self._content:
            attributes["gen_ai.input.messages"] = message("user", as_text(created.request))
        return Span(
            name=f"invoke_workflow {name}",
            trace_id=trace_id_of(self._run_id),
            span_id=span_id_of(self._run_id, _ROOT),
            start_ns=now,
            attributes=attributes,
        )

    def _judge(self, status: str, data: RunEnded) -> None:
        if self._root is None:
            return
        attributes = self._root.attributes
        attributes |= {"podium.run.status": status, "podium.driven_s": data.driven_s}
        attributes |= cost(data.usage.usd, unpriced=bool(data.usage.unpriced_calls))
        attributes |= {
            "podium.usage.calls": data.usage.calls,
            "podium.usage.input_tokens": data.usage.input_tokens,
            "podium.usage.output_tokens": data.usage.output_tokens,
        }
        match data:
            case RunFailed():
                self._root.fail(data.error_type, data.error if self._content else "")
            case RunPartial():
                attributes["podium.stop_reason"] = data.stop_reason
            case _:
                pass
        if self._content and isinstance(data, (RunCompleted, RunPartial)) and data.output is not None:
            attributes["gen_ai.output.messages"] = message("assistant", as_text(data.output), "stop")

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

    def _span(self, name: str, path: str, now: int, attributes: Attributes, *place: str | int) -> Span:
        return Span(
            name=name,
            trace_id=trace_id_of(self._run_id),
            span_id=span_id_of(self._run_id, path, *place),
            parent_id=self._branch_id(_parent(path)),
            start_ns=now,
            attributes=attributes | {"gen_ai.conversation.id": self._run_id},
        )

    def _branch_id(self, path: str) -> str:
        return span_id_of(self._run_id, path, "branch") if path else span_id_of(self._run_id, _ROOT)

    def _touch(self, path: str, now: int) -> None:
        """Extend the branches above a path until now."""
        parent = _parent(path)
        while parent:
            self._branch(parent, now).end_ns = now
            parent = _parent(parent)

    def _branch(self, path: str, now: int) -> Span:
        """Return the span of a branch, which its first event begins."""
        span = self._branches.get(path)
        if span is None:
            call = self._wanted.get(path)
            name = f"execute_tool {call.name}" if call else f"branch {path.rpartition('/')[2]}"
            span = self._branches[path] = self._span(name, path, now, {"podium.path": path}, "branch")
            if call is not None:
                span.attributes |= about_tool(StepStarted(about={"tool": call.name}), call.id)
        return span

    def _moment(self, name: str, now: int, attributes: Attributes | None = None) -> None:
        if self._root is not None:
            self._root.moments.append(Moment(name, now, attributes or {}))

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


def _parent(path: str) -> str:
    """Return the path of the branch that a step is in. Condensing belongs to its ask, not to one turn."""
    parent = path.rpartition("/")[0]
    return turn_at(parent)[0] if path.endswith("/condensed") else parent


def _copied(span: Span) -> Span:
    return msgspec.structs.replace(
        span, attributes=dict(span.attributes), moments=list(span.moments), links=list(span.links)
    )
