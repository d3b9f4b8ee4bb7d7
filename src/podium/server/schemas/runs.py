"""Models for starting, controlling and showing runs."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from podium.server.schemas.shared import Budgets, Ceilings, Json, RequestModel, ResponseModel, Status, Usage

Text = Annotated[str, Field(max_length=1_000_000)]
Name = Annotated[str, Field(min_length=1, max_length=300)]
StepPath = Annotated[str, Field(min_length=1, max_length=2000)]


class StartRun(RequestModel):
    """A new run."""

    workflow: Name
    """Name of the workflow; if the server allows it, also `FILE.py:name`."""
    request: Annotated[str, Field(max_length=1_000_000)] = ""
    """Task of the run; optional only for a workflow whose options can contain it."""
    options: Annotated[Json, Field(max_length=100, default_factory=dict)]
    """Options of the workflow, as listed by `GET /api/workflows`."""
    model: Annotated[str, Field(max_length=300)] | None = None
    """Model of every agent; default: the server's settings."""
    model_for: Annotated[dict[str, str], Field(max_length=100, default_factory=dict)]
    """Other models or profiles, by role."""
    budget: Budgets = Budgets()
    approve: Annotated[list[Name], Field(max_length=20, default_factory=list)]
    """Gates that need approval."""
    concurrency: Annotated[int, Field(ge=0, le=10_000)] | None = None
    """Maximum concurrent model calls."""
    cache: bool | None = None
    """Serve identical model calls from a cache."""


class EstimateRun(RequestModel):
    """Request for an estimate of a run."""

    request: Annotated[str, Field(max_length=1_000_000)] = ""
    options: Annotated[Json, Field(max_length=100, default_factory=dict)]


class Estimate(ResponseModel):
    """Estimate of a run."""

    data: Json
    """For programs."""
    lines: list[str]
    """For people."""


class ResumeRun(RequestModel):
    """Continue a stopped run."""

    budget: Budgets = Budgets()
    """New totals that include what was already spent."""
    model: Annotated[str, Field(max_length=300)] | None = None
    model_for: Annotated[dict[str, str], Field(max_length=100, default_factory=dict)]
    take_over: bool = False
    """Take the run over from a process that hangs; its later writes are refused."""


class ForkRun(RequestModel):
    """Copy of a run up to one step, changed there. Only one of reply, prompt and model may be set."""

    at: StepPath
    reply: Any = None
    """Replaces the step's result."""
    prompt: Text | None = None
    model: Annotated[str, Field(max_length=300)] | None = None
    budget: Budgets = Budgets()


class AnswerRun(RequestModel):
    """Answer to a run's question."""

    answer: Text | dict[str, Any]
    """One of the question's choices, text, or an object with one of the names in its `answers`."""
    question: Annotated[str, Field(max_length=2000)] | None = None
    """Path of the question, if several are open."""


class CancelRun(RequestModel):
    """Stop a run permanently."""

    reason: Annotated[str, Field(max_length=1000)] = ""


class RunSummary(ResponseModel):
    """One line of the list."""

    run_id: str
    workflow: str
    request: str
    """Beginning of the request."""
    status: Status
    stop_reason: str | None
    created_at: str
    updated_at: str
    model: str | None
    rehearsal: bool
    cost_usd: float
    calls: int
    tokens: int
    """Input and output together."""
    budget: Ceilings
    """Limits of cost, calls, tokens and duration."""
    duration_s: float
    parent: str | None
    """The run that it was forked from."""
    holder: str | None
    """Process that executes the run now."""
    owner: str | None


class RunPage(ResponseModel):
    """A page of the list."""

    runs: list[RunSummary]
    next: str | None
    """Value of `before` for the next page; `null`: there is none."""


class Question(ResponseModel):
    """Open question of a run."""

    path: str
    question: str
    choices: list[str]
    details: Any
    answers: dict[str, Any]
    """Answers with data: name and JSON schema. The answer is an object with one of these names."""


class Cost(ResponseModel):
    """Spending of one agent on one model."""

    agent: str
    model: str | None
    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    unpriced_calls: int


class Artifact(ResponseModel):
    """A file that a run made."""

    id: str
    name: str
    media_type: str
    bytes: int
    path: str
    """The step that made it."""


class Forked(ResponseModel):
    """Origin of a forked run."""

    source: str
    at: str
    edit: str
    steps: int
    """Finished steps that it inherited."""


class RunDetail(RunSummary):
    """One run with its result, as in `podium show --json`, without the steps."""

    request: str  # whole
    output: Any
    deliverable: str
    """The text of the output that a person reads first; of an output that is data, the JSON. Empty: none."""
    quality: float | None
    warnings: list[str]
    missing: list[str]
    error: str | None
    hint: str | None
    usage: Usage
    cached_calls: int
    saved_usd: float
    options: Json
    config: Json
    questions: list[Question]
    costs: list[Cost]
    artifacts: list[Artifact]
    forked_from: Forked | None
    resumes: int
    last_seq: int
    """Number of the newest event included; follow the stream from there."""


class Step(ResponseModel):
    """One step, as a line."""

    path: str
    kind: str
    about: Json
    status: str
    duration_s: float | None
    cost_usd: float
    calls: int
    retries: int
    error: str | None
    inherited: bool
    edited: bool
    cut: bool
    """True if the result is incomplete because a model's reply was cut off."""


class StepPage(ResponseModel):
    """The steps of a run, in the order in which they began; each can be forked at."""

    run_id: str
    steps: list[Step]


class StepDetail(Step):
    """One step in full."""

    system: str | None
    prompt: str | None
    result: Any
    events: list[int]
    """Numbers of its events."""


class Answered(ResponseModel):
    """Recorded answer; the run continues with it."""

    run_id: str
    question: str
    answer: Any


class Replayed(ResponseModel):
    """Comparison of the current code's result with the recorded one."""

    run_id: str
    same: bool
    diverged_at: str | None
    reason: str | None


class Event(ResponseModel):
    """One entry of a run's log. `EventTypes` in this schema describes `data` for each type."""

    seq: int
    run_id: str
    time: str
    path: str
    type: str
    data: Json
    line: Json | None
    """The line that the terminal shows for it; `null` if this version cannot read the event."""


class EventPage(ResponseModel):
    """Part of a run's log."""

    events: list[Event]
    next: int | None
    """Value of `after` for the next page; `null`: there is none yet."""


class ArtifactList(ResponseModel):
    """Artifact of a run."""

    run_id: str
    artifacts: list[Artifact]
