"""Models for workflows, teams, models, facts and the server."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from podium.server.schemas.shared import Json, RequestModel, ResponseModel

FactStatus = Literal["proposed", "accepted", "discarded"]
Kind = Literal["character", "scene", "place", "object", "rule", "other"]


class Option(ResponseModel):
    """Option of a workflow, with the data for a form field."""

    name: str
    help: str
    required: bool
    default: Any
    json_schema: Json
    """A JSON schema of its values."""


class Workflow(ResponseModel):
    """Workflow that can be started."""

    name: str
    title: str
    """One sentence."""
    text: str
    """Full description."""
    gates: list[str]
    """Gates at which a person can be asked."""
    options: list[Option]
    can_estimate: bool
    needs_request: bool


class WorkflowList(ResponseModel):
    workflows: list[Workflow]


class TeamList(ResponseModel):
    """Shipped teams."""

    teams: list[str]


class TeamFile(RequestModel):
    """Team file to check."""

    text: Annotated[str, Field(max_length=500_000)]


class TeamFlaw(ResponseModel):
    """Error in a team file."""

    line: int
    place: str
    reason: str


class TeamChecked(ResponseModel):
    """Result of a check."""

    ok: bool
    team: str | None
    departments: int
    specialists: int
    flaws: list[TeamFlaw]


class Learnt(ResponseModel):
    """Statistics of one agent."""

    agent: str
    results: int
    mean: float
    acceptance: float
    threshold: float
    suggested: float | None


class TeamStats(ResponseModel):
    team: str
    agents: list[Learnt]


class Project(ResponseModel):
    """Number of facts of one project."""

    project: str
    accepted: int
    proposed: int
    discarded: int
    updated_at: str


class ProjectList(ResponseModel):
    projects: list[Project]


class Fact(ResponseModel):
    """Fact of a project, accepted or not."""

    id: str
    project: str
    subject: str
    predicate: str
    value: str
    kind: Kind
    source_run: str
    quote: str
    status: FactStatus
    created_at: str
    updated_at: str


class FactList(ResponseModel):
    project: str
    facts: list[Fact]
    warning: str = ""
    """Reason why the search could not use the configured embedding model."""


class FactChange(ResponseModel):
    """One entry in a fact's history."""

    at: str
    by: str
    action: str
    before: dict[str, str]
    after: dict[str, str]


class FactDetail(Fact):
    history: list[FactChange]


class Clash(ResponseModel):
    """A proposed fact that contradicts canon."""

    new: str
    """Its id."""
    canon: Fact
    reason: str
    severity: str


class Waiting(ResponseModel):
    """Facts that wait for a review, with their contradictions."""

    project: str
    facts: list[Fact]
    clashes: list[Clash]


Ids = Annotated[list[Annotated[str, Field(min_length=1, max_length=64)]], Field(max_length=1000)]


class FactEdit(RequestModel):
    """New values for a fact."""

    id: Annotated[str, Field(min_length=1, max_length=64)]
    subject: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    predicate: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    value: Annotated[str, Field(min_length=1, max_length=4000)] | None = None
    kind: Kind | None = None


class ReviewFacts(RequestModel):
    """Decisions about facts, by id. Edits come first; a fact can be decided about only once."""

    accept: Annotated[Ids, Field(default_factory=list)]
    replace: Annotated[Ids, Field(default_factory=list)]
    """Facts that replace the canon that they contradict."""
    discard: Annotated[Ids, Field(default_factory=list)]
    edit: Annotated[list[FactEdit], Field(max_length=1000, default_factory=list)]


class Reviewed(ResponseModel):
    """Result of a review: ids of facts."""

    accepted: list[str]
    discarded: list[str]
    edited: list[str]
    replaced: list[str]
    changed_meanwhile: list[str]
    """Facts changed by another user meanwhile; left unchanged."""
    waiting: int
    """Number of facts still to review."""


class Forgotten(ResponseModel):
    forgotten: int


class Rated(ResponseModel):
    """A model, its price and its window."""

    model: str
    price: str
    input_usd_per_million: float | None
    output_usd_per_million: float | None
    context_window: int | None


class Profile(ResponseModel):
    source: str
    models: list[Rated]


class Offer(ResponseModel):
    """Provider, and whether its models are usable."""

    provider: str
    usable: bool
    key: str | None
    """Name of the variable with its key; never the key."""
    installed: bool
    missing: str | None
    note: str | None
    profiles: dict[str, str]


class Models(ResponseModel):
    """Usable models."""

    model: str | None
    """Model of every agent, if set."""
    profiles: dict[str, Profile]
    providers: list[Offer]


class Check(ResponseModel):
    name: str
    state: Literal["ok", "warn", "fail"]
    told: str
    fix: str


class Checks(ResponseModel):
    """Results of `podium doctor`."""

    ok: bool
    checks: list[Check]


class Health(ResponseModel):
    """The server answers."""

    status: Literal["ok"] = "ok"
    version: str | None = None
    """Only for authenticated callers, like everything but the status."""
    uptime_s: float | None = None


class Readiness(ResponseModel):
    """Readiness and load of the server."""

    ready: bool
    running: int | None = None
    """Only for authenticated callers, like everything but `ready`."""
    queued: int | None = None
    max_runs: int | None = None
    reason: str = ""


class Allowance(ResponseModel):
    """One limit of a user with its current use."""

    period: Literal["total", "month", "day"]
    """Months and days are those of UTC."""
    limit_usd: float
    spent_usd: float
    """In this period."""
    left_usd: float
    """Maximum budget of the next run."""
    renewed_at: str | None
    """Time at which the limit resets; `null`: never."""


class Me(ResponseModel):
    """The authenticated caller and their limits."""

    name: str
    local: bool
    """The single user of a local server."""
    budget_usd: float | None
    spent_usd: float
    reserved_usd: float
    """Amount that unfinished runs may still spend."""
    allowances: list[Allowance]
    max_runs: int
    running: int
    queued: int


class Login(RequestModel):
    """Key to exchange for a cookie."""

    key: Annotated[str, Field(min_length=1, max_length=500)]
