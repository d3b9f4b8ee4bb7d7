"""Structured replies of the roles, and the reports of departments.

Reports have camelCase names in JSON; everything else is snake_case.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

Unit = Annotated[float, Field(ge=0, le=1)]


class Reply(BaseModel):
    """A model's reply."""

    model_config = ConfigDict(frozen=True)


class Grade(Reply):
    """The head's grade of an output."""

    quality: Unit
    relevance: Unit
    consistency: Unit
    feedback: str = ""
    suggestions: list[str] = []


class NamedGrade(Grade):
    specialist: str


class Grades(Reply):
    """Grades of several outputs from one call."""

    grades: list[NamedGrade]


class Assignment(Reply):
    """The part of one specialist."""

    specialist: str
    """Its key; a name is accepted as well."""
    task: str
    needs: list[str] = []
    """Specialists whose accepted work it has to read first."""


class Brief(Reply):
    """A head's plan for its department."""

    approach: str
    required_skills: list[str] = []
    assignments: list[Assignment] = []


class RelevanceScore(Reply):
    department: str
    relevance: Unit
    reason: str = ""
    part: str = ""
    """The department's contribution to this request."""


class Routing(Reply):
    """Relevance of departments, according to a model."""

    scores: list[RelevanceScore]


ConflictKind = Literal["direct", "semantic", "temporal", "logical"]
Severity = Literal["low", "medium", "high", "critical"]


class FoundConflict(Reply):
    """Statements of two departments that cannot both be true."""

    kind: ConflictKind
    severity: Severity
    departments: list[str] = Field(min_length=2)
    description: str = Field(min_length=1)


class Validation(Reply):
    conflicts: list[FoundConflict]


class Resolution(Reply):
    """A head's answer to a conflict of its department."""

    yields: bool
    reason: str
    output: str = ""
    """The department's rewritten text, if it yields."""


# ── reports ──────────────────────────────────────────────────────────────────────────────────────


class Report(BaseModel):
    """Base of reports: snake_case in Python, camelCase in JSON."""

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
    """The task that the head assigned."""
    counted_attempt: int = 0
    """The attempt whose output and score count; 0: none."""
    counted_feedback: str = ""
    """The head's feedback on that attempt."""
    counted_suggestions: list[str] = []
    """Suggestions of that grade."""
    graded: bool = True
    """False if the counted attempt could not be graded."""
    error: str = ""

    @property
    def is_accepted(self) -> bool:
        return self.review_status != "rejected"


class FoundContradiction(Report):
    """A contradiction between specialists that the head found and decided."""

    what: str = ""
    said: str = ""
    """The statements. Empty, like `what`, if the head's line has another form."""
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
    """Result of the formula alone; `None` without specialists."""
    flags: list[str] = []
    stand_in: str = ""
    """The specialist whose work is the output because the synthesis failed."""
    contradictions: list[str] = []
    """Contradictions of specialists that a rule found."""
    decisions: list[str] = []
    """The head's lines about all contradictions, including those that no rule found."""
    found_contradictions: list[FoundContradiction] = []
    """The same lines, split into subject, statements and decision."""
    error: str = ""
    missing: list[str] = []
    """Inputs that were missing."""

    @property
    def key(self) -> str:
        return self.department_id.removeprefix("dept-")
