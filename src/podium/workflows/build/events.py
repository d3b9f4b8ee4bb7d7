"""Event types of `build`. The state in `fold` is derived from them."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from podium.engine.events import EventData
from podium.workflows.build.state import (
    CodeOutput,
    ExecutionPlan,
    Status,
    StepStatus,
    TestResult,
    VerificationResult,
)


class BuildEvent(EventData, frozen=True, kw_only=True):
    """Something that happened in a build."""


class Phase(BuildEvent, frozen=True, kw_only=True):
    """The orchestration is in another state."""

    type: ClassVar[str] = "build.phase"
    status: Status
    iteration: int
    driven_s: float
    """Driven time in seconds. The difference to the next event is the time of this phase."""
    at_ms: float
    time_limit: float
    reason: str = ""


class Opened(BuildEvent, frozen=True, kw_only=True):
    """There is a branch of its own to work on."""

    type: ClassVar[str] = "build.opened"
    branch: str
    base: str
    """The commit that the branch starts from."""
    origin: str
    """Origin of the workspace: `repository`, `copy` of a folder without git, or `fresh`."""
    tests: str
    """Test command, or what was detected so far."""
    sandbox: str
    """Sandbox tier that code runs in, or `none`."""
    sandbox_reason: str = ""


class Message(BuildEvent, frozen=True, kw_only=True, rename={"sender": "from", "kind": "type"}):
    """An exchange between two roles."""

    type: ClassVar[str] = "build.message"
    id: str
    kind: str
    sender: str
    to: str
    correlation_id: str
    step_id: str = ""
    summary: str = ""
    payload: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])


class PlanCreated(BuildEvent, frozen=True, kw_only=True):
    """A plan was made or revised; `approved` ones are carried out."""

    type: ClassVar[str] = "build.plan_created"
    plan: ExecutionPlan
    iteration: int
    revision: int
    step_id: str = ""
    """The step that a sub-plan is for. Empty for a main plan."""
    approved: bool = False
    fallback: bool = False


class StepChanged(BuildEvent, frozen=True, kw_only=True):
    """A step is in another state."""

    type: ClassVar[str] = "build.step_status"
    step_id: str
    status: StepStatus
    attempts: int
    depth: int
    number: int
    fail_reason: str | None = None
    verified: bool = True


class Coded(BuildEvent, frozen=True, kw_only=True):
    """A change of the coder's was applied, or could not be."""

    type: ClassVar[str] = "build.coded"
    step_id: str
    output: CodeOutput


class LookedUp(BuildEvent, frozen=True, kw_only=True):
    """The coder asked to read a file or to search, and was answered."""

    type: ClassVar[str] = "build.looked_up"
    step_id: str
    kind: str
    """`read` or `search`."""
    target: str
    ok: bool
    number: int
    """Number of the look-up within its step."""
    summary: str = ""


class TestsRun(BuildEvent, frozen=True, kw_only=True):
    """Tests were really run. `step_id` is empty for the whole suite at the end."""

    __test__ = False
    type: ClassVar[str] = "build.tests_run"
    step_id: str
    attempt: int
    cycle: int
    result: TestResult


class Baseline(BuildEvent, frozen=True, kw_only=True):
    """The tests were run before any change."""

    type: ClassVar[str] = "build.baseline"
    result: TestResult


class Verified(BuildEvent, frozen=True, kw_only=True):
    """A gate was tried: by the supervisor, or by rule alone."""

    type: ClassVar[str] = "build.verified"
    gate: str
    step_id: str
    by: str
    """`supervisor`, `rule`, or `nobody` if the supervisor could not be asked."""
    passed: bool
    threshold: float
    result: VerificationResult
    problems: list[str]
    """Rule violations."""
    level: str
    issues: int
    """Consecutive issues over the whole run."""


class Escalated(BuildEvent, frozen=True, kw_only=True):
    """The level rose."""

    type: ClassVar[str] = "build.escalated"
    level: str
    before: str
    issues: int
    score: float | None
    reason: str
    step_id: str = ""


class Committed(BuildEvent, frozen=True, kw_only=True):
    type: ClassVar[str] = "build.committed"
    step_id: str
    sha: str
    message: str
    files: list[str]
    complete: bool = True
    """False for unfinished work that was committed because time was up."""


class Finished(BuildEvent, frozen=True, kw_only=True):
    """The result of a build. Patch and reports are among the artifacts."""

    type: ClassVar[str] = "build.finished"
    branch: str
    head: str
    diff_stat: dict[str, Any]
    patch: str
    """Artifact id, like the next two fields."""
    report: str = ""
    tests: str = ""
    diff: str = ""
    """The start of the patch, for reports that are made from the log alone."""
    where: str = ""
    """Location of the branch: its repository, or a note that there is only the patch."""
