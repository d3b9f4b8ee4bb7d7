"""Spans of steps under way: their model calls, the turns of an agent with tools, and tool calls."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from podium.engine.codec import encode
from podium.engine.events import (
    NOTHING,
    ArtifactCreated,
    ChargedData,
    EventData,
    StepCompleted,
    StepFailed,
    StepRetried,
    StepStarted,
)
from podium.models.events import ModelAsked, ModelAttempted, ModelCached, ModelFellBack, ModelRepaired
from podium.models.messages import ToolCall, ToolOutcome, Turn
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

    def apply(self, data: EventData, time_ns: int) -> None:
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
        name, kind, attributes = about_call(data)
        start = max(time_ns - round(data.latency_ms * 1e6), self.span.start_ns)
        span = Span(
            name=name,
            trace_id=self.span.trace_id,
            span_id=span_id_of(*self._place, "call", len(self._calls) + 1),
            parent_id=self.span.span_id,
            kind=kind,
            start_ns=start,
            end_ns=time_ns,
            attributes=attributes | {"gen_ai.conversation.id": self._place[0]},
        )
        if agent := str(self._started.about.get("agent", "")):
            span.attributes["gen_ai.agent.name"] = agent
        if not data.ok:
            span.fail(error_type(data.error), data.error if self._content else "")
        if self._content and self._asked is not None and data.attempt == 1:
            span.attributes |= self._question(self._asked)
        self._calls.append((data, span))
        self._spent = self._spent + data.charge

    def _question(self, question: ModelAsked) -> Attributes:
        attributes: Attributes = {"gen_ai.input.messages": message("user", question.prompt)}
        return attributes | (
            {"gen_ai.system_instructions": instructions(question.system)} if question.system else {}
        )

    def _answered(self, text: str, finish: str) -> None:
        """Add the reply of the last call, which the log keeps once: as the step's result or with its
        repair."""
        if self._content and self._calls and self._calls[-1][0].ok:
            data, span = self._calls[-1]
            span.attributes["gen_ai.output.messages"] = message("assistant", text, data.finish or finish)

    def _moment(self, name: str, time_ns: int, attributes: Attributes, error: str = "") -> None:
        if error and self._content:
            attributes["podium.error"] = error
        self.span.moments.append(Moment(name, time_ns, attributes))


def about_step(path: str, started: StepStarted) -> tuple[str, Attributes]:
    """Return the name and attributes of a step's span."""
    name, about = path.rpartition("/")[2], started.about
    attributes: Attributes = {"podium.path": path, "podium.step.kind": started.kind}
    if started.kind == "tool" and "tool" in about:
        return f"execute_tool {about['tool']}", attributes
    if started.kind == "tool":
        return f"execute_tool {name}", attributes | {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
        }
    if started.kind != "ask":
        return f"{started.kind} {name}", attributes
    attributes["gen_ai.operation.name"] = "invoke_agent"
    if about.get("model"):
        provider, model, _ = split_model(str(about["model"]))
        attributes["gen_ai.provider.name"] = PROVIDERS.get(provider, provider)
        attributes["gen_ai.request.model"] = model
    names = {"agent": "gen_ai.agent.name", "role": "podium.role", "task": "podium.task"}
    names |= {"prompt": "podium.prompt", "prompt_hash": "podium.prompt_hash"}
    attributes |= {names[key]: str(value) for key, value in about.items() if key in names}
    return f"invoke_agent {about.get('agent', name)}", attributes


_TURN = re.compile(r"(.*)/turn#(\d+)")


def turn_at(path: str) -> tuple[str, int]:
    """Return the path of the ask and the number of the turn at a path."""
    match = _TURN.fullmatch(path)
    return (match[1], int(match[2])) if match else (path, 1)


class AskSpan:
    """The span of an ask with turns. It is the parent of its model calls, tool calls and questions."""

    def __init__(self, span: Span) -> None:
        self.span = span
        self.spent = NOTHING
        self.results: dict[str, dict[str, Any]] = {}
        """Results that the next turn reads, by number of the call, in the form of the conventions."""

    def end(self, time_ns: int) -> Span:
        self.span.end_ns = max(time_ns, self.span.start_ns)
        self.span.attributes |= usage(self.spent.input_tokens, self.spent.output_tokens)
        self.span.attributes |= cost(self.spent.usd, unpriced=bool(self.spent.unpriced_calls))
        return self.span


class OpenTurn(OpenStep):
    """One turn: its model calls are spans below that of the ask."""

    def __init__(
        self, run_id: str, path: str, nth: int, ask: AskSpan, started: StepStarted, content: bool
    ) -> None:
        super().__init__(run_id, path, nth, ask.span, started, content)
        self.ask = ask
        self.turn: Turn | None = None
        """The reply of the model; None if the turn failed, or if its reply is stored beside the log."""
        self._read = [ask.results[number] for number in sorted(ask.results, key=_numbers)]

    def end(self, data: StepCompleted | StepFailed, time_ns: int) -> list[Span]:
        self.ask.results.clear()
        if isinstance(data, StepFailed):
            self.span.fail(data.error_type or data.kind, data.error if self._content else "")
            return [*self._ended(time_ns), self.ask.end(time_ns)]
        self.turn = _decoded(data.result, Turn)
        if self._content and self.turn is not None:
            said = _said(self.turn)
            if self._calls and self._calls[-1][0].ok:
                self._calls[-1][1].attributes["gen_ai.output.messages"] = said
            if not self.turn.calls:
                self.span.attributes["gen_ai.output.messages"] = said
        calls = self._ended(time_ns)
        return calls if self.turn is not None and self.turn.calls else [*calls, self.ask.end(time_ns)]

    def interrupt(self, why: str, time_ns: int) -> list[Span]:
        return self._ended(time_ns)

    def _ended(self, time_ns: int) -> list[Span]:
        self.ask.spent += self._spent
        self.span.end_ns = max(time_ns, self.span.start_ns)
        return [span for _, span in self._calls]

    def _question(self, question: ModelAsked) -> Attributes:
        """Return the new messages: the prompt of the first turn, later the results of tools."""
        if question.turn:
            return {"gen_ai.input.messages": encode(self._read).decode()} if self._read else {}
        asked = super()._question(question)
        self.span.attributes |= asked
        return asked


class OpenTool(OpenStep):
    """One tool call. The span of a composite tool is that of its branch."""

    def __init__(
        self,
        run_id: str,
        path: str,
        nth: int,
        span: Span,
        started: StepStarted,
        content: bool,
        provider_id: str,
        ask: AskSpan | None,
    ) -> None:
        super().__init__(run_id, path, nth, span, started, content)
        self._id = provider_id or str(started.about.get("call_id", ""))
        self._ask = ask
        self._charge = NOTHING
        span.attributes |= about_tool(started, self._id)
        if content:
            span.attributes["gen_ai.tool.call.arguments"] = as_text(started.about.get("arguments", {}))

    def apply(self, data: EventData, time_ns: int) -> None:
        if isinstance(data, ChargedData):
            self._charge += data.charge
        super().apply(data, time_ns)

    def end(self, data: StepCompleted | StepFailed, time_ns: int) -> list[Span]:
        self._charge += data.charge
        if self._charge != NOTHING:
            self.span.attributes |= cost(self._charge.usd)
        if isinstance(data, StepFailed):
            return super().end(data, time_ns)
        outcome = _decoded(data.result, ToolOutcome)
        if outcome is not None:
            self._judge(outcome)
        return self._ended(time_ns)

    def _judge(self, outcome: ToolOutcome) -> None:
        if outcome.made_up:
            self.span.attributes["podium.rehearsal"] = True
        if outcome.unknown:
            self.span.fail("unknown_outcome")
        elif outcome.failed:
            refused = "call_id" not in self._started.about
            self.span.fail("refused" if refused else "tool_error", outcome.text if self._content else "")
        if self._content:
            self.span.attributes["gen_ai.tool.call.result"] = outcome.text
            if self._ask is not None:
                part = {"type": "tool_call_response", "id": self._id, "response": outcome.text}
                number = self._place[1].removesuffix("/result").rpartition("tool[")[2].rstrip("]")
                self._ask.results[number] = {"role": "tool", "parts": [part]}


def about_tool(started: StepStarted, call_id: str) -> Attributes:
    """Return the attributes of a tool call."""
    attributes: Attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": str(started.about["tool"]),
        "gen_ai.tool.type": "function",
    }
    if call_id:
        attributes["gen_ai.tool.call.id"] = call_id
    if own := started.about.get("call_id"):
        attributes["podium.call_id"] = str(own)
    return attributes


def _said(turn: Turn) -> str:
    """Return the reply of a turn in the form of the conventions."""
    text = turn.text if isinstance(turn.answer, msgspec.UnsetType) else as_text(turn.answer)
    parts: list[dict[str, Any]] = [{"type": "text", "content": text}] if text or not turn.calls else []
    parts += [_wanted(call) for call in turn.calls]
    finish = "tool_call" if turn.calls else "stop"
    return encode([{"role": "assistant", "parts": parts, "finish_reason": finish}]).decode()


def _wanted(call: ToolCall) -> dict[str, Any]:
    part = {"type": "tool_call", "name": call.name, "arguments": call.arguments}
    return part | ({"id": call.id} if call.id else {})


def _numbers(number: str) -> tuple[int, ...]:
    return tuple(int(part) for part in number.split(".") if part.isdecimal())


def _decoded(result: msgspec.Raw, kind: Any) -> Any:
    try:
        return msgspec.json.decode(bytes(result) or b"null", type=kind)
    except msgspec.MsgspecError:
        return None
