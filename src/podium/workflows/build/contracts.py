"""Structured replies of the roles. All of it comes from a model and is untrusted."""

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


def paragraph(text: str) -> str:
    return one_line(text, 2 * LONGEST)


LONGEST = 2_000
Line = Annotated[str, AfterValidator(flattened)]
"""Text of a model, flattened to one line of limited length, so that it cannot imitate a section of another
model's prompt."""


Text = Annotated[str, AfterValidator(paragraph)]
"""Text of a model in a few sentences, flattened as a line is, but longer."""


class Reply(BaseModel):
    """A model's reply."""

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
    evidence: Line = Field(default="", description="What will show that the step is done.")


class Plan(Reply):
    analysis: Line = ""
    steps: list[PlannedStep]
    must_pass: list[Line] = Field(
        default=[],
        description="Names of tests that fail now and must pass when the goal is met.",
    )


# ── coder ────────────────────────────────────────────────────────────────────────────────────────


class Edit(Reply):
    """Replace the one place where `search` occurs, word for word."""

    search: str
    replace: str


class Change(Reply):
    """Creation, modification, deletion or renaming of one file."""

    path: str
    action: Annotated[Literal["create", "modify", "delete", "rename"], BeforeValidator(lowered)]
    content: str | None = None
    edits: list[Edit] = []
    new_path: str | None = None


class Code(Reply):
    """The coder's submission: a change in the workspace or in `changes`, or `blocked` with the reason."""

    status: Annotated[Literal["done", "blocked"], BeforeValidator(lowered)] = "done"
    summary: Line = Field(default="", description="What was changed, as the subject of a commit message.")
    why: Text = Field(default="", description="The cause of the bug, or the design of the change.")
    evidence: Line = Field(default="", description="What shows that the step is done.")
    risks: list[Line] = Field(
        default=[], description="What a reviewer should look at, or what is not covered."
    )
    changes: list[Change] = Field(
        default=[], description="Changes that are not in the workspace yet; applied together or not at all."
    )
    blocked_reason: Line = ""


# ── tester ───────────────────────────────────────────────────────────────────────────────────────


class ReviewFinding(Reply):
    severity: Annotated[Severity, BeforeValidator(lowered)]
    description: Line
    kind: Line = "bug"
    file: Line = ""
    suggestion: Line = ""


class Review(Reply):
    """The tester's findings beyond the result of the tests."""

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


class StepVerification(Verification):
    """The verdict on a finished step: on its change, on the tester's review, and on the step as a whole
    (`score`)."""

    code_score: Annotated[float, Field(ge=0, le=100, description="Score of the change itself.")]
    review_score: Annotated[float, Field(ge=0, le=100, description="Score of the tester's review.")]
    critical_security: list[Line] = Field(
        default=[], description="Security findings so bad that the change must not be kept."
    )


class OnlyStepVerification(StepVerification):
    """The verdict on the only step of a plan, and so on the goal."""

    goal_score: Annotated[
        float, Field(ge=0, le=100, description="Score of the whole change as an answer to the goal.")
    ]
    goal_met: bool
    missing: list[Line] = Field(default=[], description="What the goal asks for and the change does not do.")
