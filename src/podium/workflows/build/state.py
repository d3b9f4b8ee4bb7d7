"""Orchestration state with JSON names, message table (no pydantic) of `build`.

Light on purpose: reports and the live view read these from the log without loading any model's contracts.
What is ours rather than agreed keeps its snake_case.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

Status = Literal[
    "initializing", "planning", "executing", "testing", "verifying",
    "completed", "failed", "aborted", "time_expired",
]  # fmt: skip
StepStatus = Literal["pending", "in_progress", "completed", "failed", "blocked"]
PlanStatus = Literal["pending", "in_progress", "completed", "failed"]
Complexity = Literal["simple", "medium", "complex"]

OURS = frozenset({"depends_on"})


def json_name(field: str) -> str:
    head, *tail = field.split("_")
    return field if field in OURS else head + "".join(part.title() for part in tail)


class CamelStruct(msgspec.Struct, rename=json_name):
    """Python names here, the agreed names in JSON."""

    def shown(self) -> dict[str, Any]:
        return msgspec.to_builtins(self)


class Failure(msgspec.Struct):
    """One failing test."""

    name: str
    message: str = ""
    file: str = ""
    line: int | None = None
    output: str = ""


class Finding(msgspec.Struct):
    """Something that the tester noticed."""

    severity: str
    description: str
    kind: str = "bug"
    file: str = ""
    suggestion: str = ""


class TestResult(CamelStruct):
    """What came of the tests, and of the tester's look at the code."""

    __test__ = False

    ok: bool
    command: str = ""
    framework: str = ""
    exit_code: int | None = None
    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    total: int = 0
    failures: list[Failure] = []
    seconds: float = 0.0
    timed_out: bool = False
    coverage: float | None = None
    note: str = ""
    """What a reader has to know, such as that no tests were found."""
    summary: str = ""
    """The tester's own words; empty for the bare result."""
    findings: list[Finding] = []
    edge_cases: list[str] = []

    @property
    def critical(self) -> list[str]:
        return [one.description for one in self.findings if one.severity == "critical"]

    def counted(self) -> str:
        """`4 passed, 1 failed`."""
        if self.note and not self.total:
            return self.note
        told = {"passed": self.passed, "failed": self.failed, "errors": self.errors, "skipped": self.skipped}
        parts = [f"{number} {word}" for word, number in told.items() if number]
        late = ["timed out"] if self.timed_out else []
        return ", ".join(parts + late) or ("passed" if self.ok else f"exit code {self.exit_code}")


class CodeOutput(CamelStruct):
    """What the coder changed for a step."""

    status: str
    summary: str = ""
    files: list[str] = []
    tests: list[str] = []
    """Those of the files that are tests."""
    evidence: str = ""
    caught: list[str] = []
    """What a program holds against it, so that it was refused."""
    suspected: list[str] = []
    """What a program found suspicious; the supervisor was told."""
    attempt: int = 1
    cycle: int = 0
    """0: the first version; then one for each fix."""


class VerificationResult(CamelStruct):
    """A word of the supervisor."""

    verified: bool
    score: float
    issues: list[str] = []
    recommendation: str = "continue"
    reason: str = ""


class PlanStep(CamelStruct):
    id: str
    number: int
    description: str
    complexity: Complexity = "medium"
    status: StepStatus = "pending"
    depth: int = 0
    parent_step_id: str | None = None
    sub_steps: list[PlanStep] = []
    attempts: int = 0
    max_attempts: int = 3
    code_output: CodeOutput | None = None
    test_results: TestResult | None = None
    verification_result: VerificationResult | None = None
    fail_reason: str | None = None
    depends_on: list[str] = []
    """Ids of the steps that have to be done before."""
    files: list[str] = []
    """What it may touch; empty: whatever it needs."""
    evidence: str = ""
    """How one will see that it is done."""
    verified: bool = True
    """False: it was completed on passing tests alone, because the supervisor could not be asked."""

    @property
    def label(self) -> str:
        """`2`, and `2.1` for the first step of its sub-plan."""
        return self.id.rpartition("step-")[2]


class ExecutionPlan(CamelStruct):
    id: str
    goal: str
    analysis: str
    steps: list[PlanStep]
    depth: int = 0
    parent_plan_id: str | None = None
    status: PlanStatus = "pending"
    current_step_index: int = 0


class AgentState(CamelStruct):
    status: str = "idle"
    last_output: str = ""
    metrics: dict[str, int] = {}


class Metrics(CamelStruct):
    total_steps: int = 0
    completed_steps: int = 0
    failed_steps: int = 0
    replan_count: int = 0
    fix_cycles: int = 0
    verifications_passed: int = 0
    verifications_failed: int = 0


ROLES = ("planner", "coder", "tester", "supervisor")


class OrchestrationState(CamelStruct):
    id: str = ""
    primary_goal: str = ""
    status: Status = "initializing"
    current_plan: ExecutionPlan | None = None
    plan_stack: list[ExecutionPlan] = []
    """Sub-plans under way, the outermost first."""
    current_agent: str | None = None
    iteration: int = 0
    start_time: float | None = None
    """Milliseconds, as both times here."""
    end_time: float | None = None
    time_limit: float = 0.0
    """Seconds of driven time."""
    agents: dict[str, AgentState] = msgspec.field(
        default_factory=lambda: {role: AgentState() for role in ROLES}
    )
    metrics: Metrics = msgspec.field(default_factory=Metrics)
    event_log: list[dict[str, Any]] = []
    """The messages in short; the run's own log holds everything."""


ORCHESTRATOR, PLANNER, CODER, TESTER, SUPERVISOR, ALL = (
    "orchestrator", "planner", "coder", "tester", "supervisor", "all",
)  # fmt: skip

ROUTES: Final[dict[str, tuple[str, str]]] = {
    "PLAN_REQUEST": (ORCHESTRATOR, PLANNER),
    "PLAN_RESPONSE": (PLANNER, ORCHESTRATOR),
    "REPLAN_REQUEST": (ORCHESTRATOR, PLANNER),
    "SUBPLAN_RESPONSE": (PLANNER, ORCHESTRATOR),
    "CODE_REQUEST": (ORCHESTRATOR, CODER),
    "CODE_RESPONSE": (CODER, ORCHESTRATOR),
    "CODE_FIX_REQUEST": (ORCHESTRATOR, CODER),
    "TEST_REQUEST": (ORCHESTRATOR, TESTER),
    "TEST_RESPONSE": (TESTER, ORCHESTRATOR),
    "FIX_PLAN": (TESTER, ORCHESTRATOR),
    "VERIFY_REQUEST": (ORCHESTRATOR, SUPERVISOR),
    "VERIFY_RESPONSE": (SUPERVISOR, ORCHESTRATOR),
    "CORRECTION": (SUPERVISOR, ORCHESTRATOR),
    "ESCALATION": (SUPERVISOR, ORCHESTRATOR),
    "STEP_COMPLETE": (SUPERVISOR, ORCHESTRATOR),
    "STEP_BLOCKED": (CODER, ORCHESTRATOR),
    "GOAL_COMPLETE": (SUPERVISOR, ORCHESTRATOR),
    "ABORT": (SUPERVISOR, ALL),
}
"""From and to. A correction goes to the role whose work it is about."""

ANSWERS: Final[dict[str, str]] = {
    "PLAN_REQUEST": "PLAN_RESPONSE",
    "REPLAN_REQUEST": "SUBPLAN_RESPONSE",
    "CODE_REQUEST": "CODE_RESPONSE",
    "CODE_FIX_REQUEST": "CODE_RESPONSE",
    "TEST_REQUEST": "TEST_RESPONSE",
    "VERIFY_REQUEST": "VERIFY_RESPONSE",
}
"""A fix is answered like the code it mends."""
