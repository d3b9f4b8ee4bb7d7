"""Runs: how they are started, steered and told."""

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
    """Its name; where the server allows it, also `FILE.py:name`."""
    request: Annotated[str, Field(max_length=1_000_000)] = ""
    """What it should do; only a workflow whose options can hold that may go without."""
    options: Annotated[Json, Field(max_length=100, default_factory=dict)]
    """The workflow's own options; `GET /api/workflows` tells them."""
    model: Annotated[str, Field(max_length=300)] | None = None
    """The model for every agent; not given: as the server's settings say."""
    model_for: Annotated[dict[str, str], Field(max_length=100, default_factory=dict)]
    """Other models or profiles, by role."""
    budget: Budgets = Budgets()
    approve: Annotated[list[Name], Field(max_length=20, default_factory=list)]
    """Gates at which a person is asked."""
    concurrency: Annotated[int, Field(ge=0, le=10_000)] | None = None
    """Most model calls at once."""
    cache: bool | None = None
    """Serve identical model calls from a cache."""


class EstimateRun(RequestModel):
    """What a run would take."""

    request: Annotated[str, Field(max_length=1_000_000)] = ""
    options: Annotated[Json, Field(max_length=100, default_factory=dict)]


class Estimate(ResponseModel):
    """What a run would take, without one."""

    data: Json
    """For programs."""
    lines: list[str]
    """For people."""


class ResumeRun(RequestModel):
    """Go on with a run that stopped."""

    budget: Budgets = Budgets()
    """New totals, not additions."""
    model: Annotated[str, Field(max_length=300)] | None = None
    model_for: Annotated[dict[str, str], Field(max_length=100, default_factory=dict)]
    take_over: bool = False
    """Take it from another process that drives it, which is fenced off: for one that hangs."""


class ForkRun(RequestModel):
    """A copy of a run up to one step, changed there. Of reply, prompt and model, only one may be given."""

    at: StepPath
    reply: Any = None
    """Takes the place of the step's result."""
    prompt: Text | None = None
    model: Annotated[str, Field(max_length=300)] | None = None
    budget: Budgets = Budgets()


class AnswerRun(RequestModel):
    """An answer to a run's question."""

    answer: Text
    question: Annotated[str, Field(max_length=2000)] | None = None
    """The path of the question, where several are open."""


class CancelRun(RequestModel):
    """Stop a run for good."""

    reason: Annotated[str, Field(max_length=1000)] = ""


class RunSummary(ResponseModel):
    """One line of the list."""

    run_id: str
    workflow: str
    request: str
    """The beginning of it."""
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
    """What cost, calls, tokens and duration are held against."""
    duration_s: float
    parent: str | None
    """The run that it was forked from."""
    holder: str | None
    """Who drives it now."""
    owner: str | None


class RunPage(ResponseModel):
    """A page of the list."""

    runs: list[RunSummary]
    next: str | None
    """Give it as `before` to get the next page; `null`: there is none."""


class Question(ResponseModel):
    """What a run wants to know."""

    path: str
    question: str
    choices: list[str]
    details: Any


class Cost(ResponseModel):
    """What one agent spent on one model."""

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
    """Where a run comes from."""

    source: str
    at: str
    edit: str
    steps: int
    """Finished steps that it inherited."""


class RunDetail(RunSummary):
    """One run with its result: what `podium show --json` tells, without the steps."""

    request: str  # whole
    output: Any
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
    """The number of the newest event that this was made of; follow the stream from there."""


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
    """The result ends where a model's reply was cut off: it is not complete."""


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
    """An answer that is kept; the run goes on with it."""

    run_id: str
    question: str
    answer: str


class Replayed(ResponseModel):
    """Whether today's code comes to the same result."""

    run_id: str
    same: bool
    diverged_at: str | None
    reason: str | None


class Event(ResponseModel):
    """One entry of a run's log. `EventTypes` in this description tells what `data` holds for each type."""

    seq: int
    run_id: str
    time: str
    path: str
    type: str
    data: Json


class EventPage(ResponseModel):
    """A stretch of a run's log."""

    events: list[Event]
    next: int | None
    """Give it as `after` to get more; `null`: this is all so far."""


class ArtifactList(ResponseModel):
    """What a run made."""

    run_id: str
    artifacts: list[Artifact]
