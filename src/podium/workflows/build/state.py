"""Orchestration state of `build` with its JSON names, and the message table.

Without pydantic, so that reports and the live view can read the log without loading agent contracts. Fields
of our own, outside the agreed contract, keep snake_case.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

Status = Literal[
    "initializing",
    "planning",
    "executing",
    "testing",
    "verifying",
    "completed",
    "failed",
    "aborted",
    "time_expired",
]
StepStatus = Literal["pending", "in_progress", "completed", "failed", "blocked"]
PlanStatus = Literal["pending", "in_progress", "completed", "failed"]
Complexity = Literal["simple", "medium", "complex"]

OURS = frozenset({"depends_on"})


def json_name(field: str) -> str:
    head, *tail = field.split("_")
    return field if field in OURS else head + "".join(part.title() for part in tail)


class CamelStruct(msgspec.Struct, rename=json_name):
    """Base struct: snake_case in Python, camelCase in JSON."""

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
    """A finding of the tester."""

    severity: str
    description: str
    kind: str = "bug"
    file: str = ""
    suggestion: str = ""


class TestResult(CamelStruct):
    """Result of the tests, with the tester's review."""

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
    """A note for the reader, such as that no tests were found."""
    summary: str = ""
    """The tester's summary. Empty if the result was not reviewed."""
    findings: list[Finding] = []
    edge_cases: list[str] = []
    known_failures: list[str] = []
    """Failing tests that failed before any change, too. They are not blamed on it."""
    new_failures: list[str] = []
    fixed: list[str] = []
    """Tests that failed before any change and pass now."""
    missing: list[str] = []
    """Tests that ran before any change and do not run now."""

    @property
    def critical(self) -> list[str]:
        return [finding.description for finding in self.findings if finding.severity == "critical"]

    def counted(self) -> str:
        """Return `4 passed, 1 failed`."""
        if self.note and not self.total:
            return self.note
        counts = {
            "passed": self.passed,
            "failed": self.failed,
            "errors": self.errors,
            "skipped": self.skipped,
        }
        parts = [f"{number} {word}" for word, number in counts.items() if number]
        if self.known_failures:
            parts.append(f"{len(self.known_failures)} of them failed before")
        late = ["timed out"] if self.timed_out else []
        return ", ".join(parts + late) or ("passed" if self.ok else f"exit code {self.exit_code}")


class CodeOutput(CamelStruct):
    """The coder's change for a step."""

    status: str
    summary: str = ""
    files: list[str] = []
    tests: list[str] = []
    """The subset of `files` that are tests."""
    evidence: str = ""
    why: str = ""
    """The cause of a bug, or the design of a change."""
    risks: list[str] = []
    caught: list[str] = []
    """Findings of the inspection that caused a refusal."""
    suspected: list[str] = []
    """Suspicious findings of the inspection, shown to the supervisor."""
    attempt: int = 1
    cycle: int = 0
    """0 for the first version, then 1 for the first fix, and so on."""


class VerificationResult(CamelStruct):
    """The supervisor's verdict."""

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
    """Ids of the steps that must be done before."""
    files: list[str] = []
    """Files that it may change. Empty means no restriction."""
    evidence: str = ""
    """Evidence that will show that the step is done."""
    verified: bool = True
    """False if it was completed on passing tests alone, because the supervisor could not be asked."""

    @property
    def label(self) -> str:
        """`2`, or `2.1` for the first step of its sub-plan."""
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
    """Active sub-plans, the outermost first."""
    current_agent: str | None = None
    iteration: int = 0
    start_time: float | None = None
    """Milliseconds, like `end_time`."""
    end_time: float | None = None
    time_limit: float = 0.0
    """Seconds of driven time."""
    agents: dict[str, AgentState] = msgspec.field(
        default_factory=lambda: {role: AgentState() for role in ROLES}
    )
    metrics: Metrics = msgspec.field(default_factory=Metrics)
    event_log: list[dict[str, Any]] = []
    """The messages in short form. The run's own log has everything."""


ORCHESTRATOR, PLANNER, CODER, TESTER, SUPERVISOR, ALL = (
    "orchestrator",
    "planner",
    "coder",
    "tester",
    "supervisor",
    "all",
)

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
"""Sender and receiver of each message type. A correction goes to the role whose work it is about."""

ANSWERS: Final[dict[str, str]] = {
    "PLAN_REQUEST": "PLAN_RESPONSE",
    "REPLAN_REQUEST": "SUBPLAN_RESPONSE",
    "CODE_REQUEST": "CODE_RESPONSE",
    "CODE_FIX_REQUEST": "CODE_RESPONSE",
    "TEST_REQUEST": "TEST_RESPONSE",
    "VERIFY_REQUEST": "VERIFY_RESPONSE",
}
"""Answer type of each request type. A fix is answered like the original code."""
