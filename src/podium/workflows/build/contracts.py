"""What the roles are asked for as data. Everything in here comes from a model: nothing is taken on trust."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from podium.report.words import one_line
from podium.workflows.build.state import Complexity

Severity = Literal["low", "medium", "high", "critical"]


def lowered(value: Any) -> Any:
    return value.strip().lower() if isinstance(value, str) else value


def flattened(text: str) -> str:
    return one_line(text, LONGEST)


LONGEST = 2_000
Line = Annotated[str, AfterValidator(flattened)]
"""What a model says about something: on one line and not endless, so that it cannot pose as a part of the
prompt in which another one reads it."""


class Reply(BaseModel):
    """An answer of a model."""

    model_config = ConfigDict(frozen=True)


# ── planner ──────────────────────────────────────────────────────────────────────────────────────


class PlannedStep(Reply):
    """One step. Its number is its place in the plan."""

    description: Line
    complexity: Annotated[Complexity, BeforeValidator(lowered)] = "medium"
    depends_on: list[int | str] = Field(default=[], description="Numbers of earlier steps that it needs.")
    files: list[Line] = Field(
        default=[], description="Files or folders that it may change besides tests; empty if not known yet."
    )
    evidence: Line = Field(default="", description="How one will see that the step is done.")


class Plan(Reply):
    analysis: Line = ""
    steps: list[PlannedStep]


# ── coder ────────────────────────────────────────────────────────────────────────────────────────


class Edit(Reply):
    """Replace the one place where `search` occurs, word for word."""

    search: str
    replace: str


class Change(Reply):
    """One file, made, changed, removed or renamed."""

    path: str
    action: Annotated[Literal["create", "modify", "delete", "rename"], BeforeValidator(lowered)]
    content: str | None = None
    edits: list[Edit] = []
    new_path: str | None = None


class LookUp(Reply):
    """Something that the coder wants to see first."""

    kind: Annotated[Literal["read", "search"], BeforeValidator(lowered)]
    target: str = Field(description="A path to read, or a text to search for.")


class Code(Reply):
    """A change; or a wish to see more first; or `blocked` with the reason."""

    status: Annotated[Literal["done", "blocked"], BeforeValidator(lowered)] = "done"
    summary: Line = ""
    changes: list[Change] = []
    evidence: Line = ""
    blocked_reason: Line = ""
    requests: list[LookUp] = []


# ── tester ───────────────────────────────────────────────────────────────────────────────────────


class ReviewFinding(Reply):
    severity: Annotated[Severity, BeforeValidator(lowered)]
    description: Line
    kind: Line = "bug"
    file: Line = ""
    suggestion: Line = ""


class Review(Reply):
    """What the tester sees beyond the tests' own result."""

    summary: Line = ""
    findings: list[ReviewFinding] = []
    edge_cases: list[Line] = []


class FixPlan(Reply):
    diagnosis: Line = ""
    instructions: list[str]
    files: list[str] = []


# ── supervisor ───────────────────────────────────────────────────────────────────────────────────


class Verification(Reply):
    verified: bool
    score: Annotated[float, Field(ge=0, le=100)]
    issues: list[Line] = []
    recommendation: Annotated[Literal["continue", "fix", "replan", "abort"], BeforeValidator(lowered)] = (
        "continue"
    )
    reason: Line = ""


class CodeVerification(Verification):
    critical_security: list[Line] = Field(
        default=[], description="Security findings so bad that the change must not be kept."
    )
