"""Everything that is not a run: workflows, teams, models, facts, the server itself."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from podium.server.schemas.shared import Json, RequestModel, ResponseModel

FactStatus = Literal["proposed", "accepted", "discarded"]
Kind = Literal["character", "scene", "place", "object", "rule", "other"]


class Option(ResponseModel):
    """An option of a workflow: enough to draw a field of a form."""

    name: str
    help: str
    required: bool
    default: Any
    json_schema: Json
    """A JSON schema of its values."""


class Workflow(ResponseModel):
    """An orchestration that can be started."""

    name: str
    title: str
    """One sentence."""
    text: str
    """What it does, at length."""
    gates: list[str]
    """Where a person can be asked."""
    options: list[Option]
    can_estimate: bool
    needs_request: bool


class WorkflowList(ResponseModel):
    workflows: list[Workflow]


class TeamList(ResponseModel):
    """Teams that come with Podium."""

    teams: list[str]


class TeamFile(RequestModel):
    """A team file to be checked."""

    text: Annotated[str, Field(max_length=500_000)]


class TeamFlaw(ResponseModel):
    """Something that is wrong in a team file."""

    line: int
    place: str
    reason: str


class TeamChecked(ResponseModel):
    """What a check found."""

    ok: bool
    team: str | None
    departments: int
    specialists: int
    flaws: list[TeamFlaw]


class Learnt(ResponseModel):
    """How one agent did so far."""

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
    """What is known of one project, in figures."""

    project: str
    accepted: int
    proposed: int
    discarded: int
    updated_at: str


class ProjectList(ResponseModel):
    projects: list[Project]


class Fact(ResponseModel):
    """Something that a project knows, or might."""

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
    """Why a search could not go by meaning, although a model is configured for that."""


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
    """Facts that wait for a review, and what they contradict."""

    project: str
    facts: list[Fact]
    clashes: list[Clash]


Ids = Annotated[list[Annotated[str, Field(min_length=1, max_length=64)]], Field(max_length=1000)]


class FactEdit(RequestModel):
    """Other words for a fact."""

    id: Annotated[str, Field(min_length=1, max_length=64)]
    subject: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    predicate: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    value: Annotated[str, Field(min_length=1, max_length=4000)] | None = None
    kind: Kind | None = None


class ReviewFacts(RequestModel):
    """Decisions about facts, by id. Edits come first; a fact can be decided about only once."""

    accept: Annotated[Ids, Field(default_factory=list)]
    replace: Annotated[Ids, Field(default_factory=list)]
    """Accepted in the place of the canon that they contradict."""
    discard: Annotated[Ids, Field(default_factory=list)]
    edit: Annotated[list[FactEdit], Field(max_length=1000, default_factory=list)]


class Reviewed(ResponseModel):
    """What a review has done: ids of facts."""

    accepted: list[str]
    discarded: list[str]
    edited: list[str]
    replaced: list[str]
    changed_meanwhile: list[str]
    """Facts that somebody else has changed: nothing was done to them."""
    waiting: int
    """How many still wait."""


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
    """A provider, and whether its models can be used from here."""

    provider: str
    usable: bool
    key: str | None
    """The name of the variable that holds its key; never the key."""
    installed: bool
    missing: str | None
    note: str | None
    profiles: dict[str, str]


class Models(ResponseModel):
    """Which models can be used."""

    model: str | None
    """The one for every agent, if the settings name one."""
    profiles: dict[str, Profile]
    providers: list[Offer]


class Check(ResponseModel):
    name: str
    state: Literal["ok", "warn", "fail"]
    told: str
    fix: str


class Checks(ResponseModel):
    """What `podium doctor` found."""

    ok: bool
    checks: list[Check]


class Health(ResponseModel):
    """The server answers."""

    status: Literal["ok"] = "ok"
    version: str | None = None
    """With a key only, like everything but the status."""
    uptime_s: float | None = None


class Readiness(ResponseModel):
    """Whether runs can be accepted, and how busy the server is."""

    ready: bool
    running: int | None = None
    """With a key only, like everything but `ready`."""
    queued: int | None = None
    max_runs: int | None = None
    reason: str = ""


class Allowance(ResponseModel):
    """One limit of a user, and how it stands."""

    period: Literal["total", "month", "day"]
    """Months and days are those of UTC."""
    limit_usd: float
    spent_usd: float
    """In this period."""
    left_usd: float
    """What the next run may ask for at most."""
    renewed_at: str | None
    """When it begins anew; `null`: never."""


class Me(ResponseModel):
    """Who is asking, and what they may do."""

    name: str
    local: bool
    """The only user of a server on this machine."""
    budget_usd: float | None
    spent_usd: float
    reserved_usd: float
    """What runs that are not over may still spend."""
    allowances: list[Allowance]
    max_runs: int
    running: int
    queued: int


class Login(RequestModel):
    """A key, to be exchanged for a cookie."""

    key: Annotated[str, Field(min_length=1, max_length=500)]
