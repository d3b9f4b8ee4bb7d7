"""What passes between the roles: the answers that are asked for as data, and the reports that are handed on.

A report's field names are those of the department report in JSON: camelCase. What is ours is snake_case.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

Unit = Annotated[float, Field(ge=0, le=1)]


class Reply(BaseModel):
    """An answer of a model."""

    model_config = ConfigDict(frozen=True)


class Grade(Reply):
    """How good an output is, by its department head."""

    quality: Unit
    relevance: Unit
    consistency: Unit
    feedback: str = ""
    suggestions: list[str] = []


class NamedGrade(Grade):
    specialist: str


class Grades(Reply):
    """Several outputs graded in one call."""

    grades: list[NamedGrade]


class Assignment(Reply):
    """The part of one specialist."""

    specialist: str
    """Its key; a name is accepted as well."""
    task: str
    needs: list[str] = []
    """Specialists whose accepted work it has to read first."""


class Brief(Reply):
    """How a head wants a request to be tackled."""

    approach: str
    required_skills: list[str] = []
    assignments: list[Assignment] = []


class RelevanceScore(Reply):
    department: str
    relevance: Unit
    reason: str = ""
    part: str = ""
    """What the department contributes to this request."""


class Routing(Reply):
    """A model's view of which departments a request is for."""

    scores: list[RelevanceScore]


ConflictKind = Literal["direct", "semantic", "temporal", "logical"]
Severity = Literal["low", "medium", "high", "critical"]


class FoundConflict(Reply):
    """Two departments say what cannot both be true."""

    kind: ConflictKind
    severity: Severity
    departments: list[str] = Field(min_length=2)
    description: str = Field(min_length=1)


class Validation(Reply):
    conflicts: list[FoundConflict]


class Resolution(Reply):
    """What a head says about a conflict that its department is part of."""

    yields: bool
    reason: str
    output: str = ""
    """The department's whole text anew, if it yields."""


# ── reports ──────────────────────────────────────────────────────────────────────────────────────


class Report(BaseModel):
    """Python names here, the report's names in JSON."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)

    def shown(self) -> dict[str, Any]:
        return self.model_dump(mode="json", by_alias=True)


class SpecialistResult(Report):
    agent_id: str
    agent_name: str
    specialization: str
    output: str
    quality_score: float
    execution_time: int
    """Milliseconds."""
    review_status: Literal["approved", "revision-needed", "rejected"]
    review_notes: str
    threshold: float
    attempts: int
    feedback: list[str] = []
    """One line for each attempt that did not pass."""
    assignment: str = ""
    """The part that the head gave it."""
    counted_attempt: int = 0
    """The attempt whose output and score count; 0: none."""
    counted_feedback: str = ""
    counted_suggestions: list[str] = []
    """What would make it better still, as the grade says."""
    """The head's feedback on that attempt."""
    graded: bool = True
    """False: no grade could be had for the attempt that counts."""
    error: str = ""

    @property
    def is_accepted(self) -> bool:
        return self.review_status != "rejected"


class FoundContradiction(Report):
    """A contradiction between specialists that the head found and decided."""

    what: str = ""
    said: str = ""
    """Who says what; empty, like `what`, where the head's line has another form."""
    decision: str


class ReportMetadata(Report):
    analysis_time: int = 0
    """Milliseconds, as all times here."""
    specialists_used: int = 0
    total_execution_time: int = 0
    successful_specialists: int = 0
    failed_specialists: int = 0


DepartmentStatus = Literal["completed", "failed", "unfinished"]
"""`unfinished`: a budget ended before the head could write the result."""


class DepartmentReport(Report):
    department_id: str
    department_name: str
    head_execution_id: str
    output: str
    quality_score: float
    specialist_results: list[SpecialistResult] = []
    metadata: ReportMetadata = ReportMetadata()
    complexity: str
    status: DepartmentStatus
    formula_score: float | None = None
    """What the formula alone gives; `None` without specialists."""
    flags: list[str] = []
    stand_in: str = ""
    """The specialist whose work is the output because the synthesis failed."""
    contradictions: list[str] = []
    """What the specialists disagreed on, by rule."""
    decisions: list[str] = []
    """The head's own lines about contradictions, those that no rule found included."""
    found_contradictions: list[FoundContradiction] = []
    """The same lines by what they are about, who says what, and the decision."""
    error: str = ""
    missing: list[str] = []
    """What it had to work without."""

    @property
    def key(self) -> str:
        return self.department_id.removeprefix("dept-")
