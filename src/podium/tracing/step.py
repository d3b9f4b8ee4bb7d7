"""One step while it is under way: what its span, and those of its calls, are made of."""

from __future__ import annotations

from podium.engine.events import (
    NOTHING,
    ArtifactCreated,
    EventData,
    StepCompleted,
    StepFailed,
    StepRetried,
    StepStarted,
)
from podium.models.events import ModelAsked, ModelAttempted, ModelCached, ModelFellBack, ModelRepaired
from podium.tracing.span import Attributes, Moment, Span, span_id_of
from podium.tracing.words import (
    PROVIDERS,
    about_call,
    as_text,
    cost,
    error_type,
    instructions,
    message,
    split_model,
    usage,
)


class OpenStep:
    """The span of a step and, kept until the step ends, those of its calls: what the last one answered is
    known only then."""

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
        """Something happened in the step."""
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
        """It has an outcome. Its own span comes last, after those of its calls."""
        if isinstance(data, StepFailed):
            self.span.fail(data.error_type or data.kind, data.error if self._content else "")
        elif self._content and data.result:
            text = as_text(data.result)
            self._answered(text, "stop")
            if self._started.kind == "ask":
                self.span.attributes["gen_ai.output.messages"] = message("assistant", text, "stop")
        return self._ended(time_ns)

    def interrupt(self, why: str, time_ns: int) -> list[Span]:
        """It was cut off: the process died, or the run was stopped."""
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
        """The reply of the last call, which the log keeps once: as the step's result or with its repair."""
        if self._content and self._calls and self._calls[-1][0].ok:
            data, span = self._calls[-1]
            span.attributes["gen_ai.output.messages"] = message("assistant", text, data.finish or finish)

    def _moment(self, name: str, time_ns: int, told: Attributes, error: str = "") -> None:
        if error and self._content:
            told["podium.error"] = error
        self.span.moments.append(Moment(name, time_ns, told))


def about_step(path: str, started: StepStarted) -> tuple[str, Attributes]:
    """Name and attributes of a step's span."""
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
