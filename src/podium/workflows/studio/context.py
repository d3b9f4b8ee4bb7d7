"""Shared state of a studio run: departments, conflicts, assignments and the port to the project's memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec
from pydantic import Field

from podium.agents.ask import Run
from podium.engine.events import Charge
from podium.engine.store_parts import FactKind
from podium.workflows.delivery.contracts import Draft
from podium.workflows.studio import events
from podium.workflows.studio.contracts import Assignment, Brief, DepartmentReport, Reply
from podium.workflows.studio.history import Learnt
from podium.workflows.studio.policy import LISTED_ONLY, Complexity, threshold_of
from podium.workflows.studio.routing import Route, find_key
from podium.workflows.studio.similarity import Meanings
from podium.workflows.studio.team import AgentSpec, DepartmentSpec, TeamSpec, agent_id, circle_in

RECALLED = 20
"""Maximum facts that a prompt lists."""
CANON = "canon"
"""Key that stands for the settled facts in places that name departments."""


class NewFact(Reply):
    """Something that a department has settled."""

    subject: str = Field(min_length=1)
    predicate: str = Field(min_length=1)
    value: str
    kind: FactKind = "other"
    quote: str = ""


class NewFacts(Reply):
    facts: list[NewFact]


class Recalled(msgspec.Struct, frozen=True):
    """Settled facts that are relevant to a request."""

    lines: list[str]
    warning: str = ""
    """Reason why the result may be incomplete. Empty if it is complete."""


class Denial(msgspec.Struct, frozen=True):
    """A new fact that contradicts a settled one."""

    description: str
    severity: str
    fact: str
    """Id of the settled fact. Another contradiction of the same fact is the same conflict."""
    settled: str
    """The settled fact as text."""


class CanonPort(Protocol):
    """The memory of one project."""

    async def names(self) -> list[str]:
        """Return the names that the project knows."""
        ...

    def recall_cost(self, text: str) -> Charge | None:
        """Return the maximum cost of a recall, or None if it is free."""
        ...

    async def recall(self, text: str, limit: int) -> Recalled:
        """Return settled facts that are relevant to a text."""
        ...

    async def contradictions(self, facts: Sequence[NewFact]) -> list[Denial]:
        """Return the new facts that contradict settled ones."""
        ...

    async def propose(self, run_id: str, facts: Sequence[NewFact]) -> int:
        """Store facts for review by a person and return how many facts of this run are pending.
        Idempotent."""
        ...

    async def close(self) -> None:
        """Release the memory."""
        ...


OpenCanon = Callable[[Run, str], Awaitable[CanonPort]]
"""Opens the memory of a project for a run."""


@dataclass(frozen=True)
class Choices:
    """Options of a run."""

    specialists: str = "auto"
    adaptive: bool = False
    synthesis_rounds: int = 1
    batch_grading: bool = False


@dataclass(frozen=True)
class Studio:
    """State of one run. It does not change while departments work."""

    run: Run
    request: str
    team: TeamSpec
    route: Route
    complexity: Complexity
    choices: Choices
    learnt: Mapping[str, Learnt]
    meanings: Meanings
    canon: CanonPort | None = None
    settled: tuple[str, ...] = ()
    """Settled facts of the project that are relevant to the request."""
    draft: Draft | None = None
    """A direct answer to the whole request. The heads build on it, and the master uses it as a checklist."""

    @property
    def points(self) -> list[str]:
        """Parts of a complete result, according to the direct draft."""
        return [] if self.draft is None else list(self.draft.points)

    @property
    def first_version(self) -> str:
        """The direct draft, so that all departments start from the same idea. Empty if there is none."""
        return "" if self.draft is None else self.draft.document

    def threshold(self, key: str, specialist: str) -> float:
        """Return the threshold in effect: the learnt one, if `adaptive` is on and there is enough evidence,
        else the configured one."""
        known = self.learnt.get(agent_id(key, specialist))
        if self.choices.adaptive and known is not None and known.suggested is not None:
            return known.suggested
        return self.configured(key, specialist)

    def configured(self, key: str, specialist: str) -> float:
        department = self.team.departments[key]
        spec = department.specialists[specialist]
        return threshold_of(spec.passing_threshold, department.min_quality_threshold)

    def departments_at_work(self) -> tuple[dict[str, str], ...]:
        """Return the chosen departments with their work, parts and dependencies, for prompts."""
        return tuple(
            {
                "name": (spec := self.team.departments[key]).name,
                "does": ", ".join(agent.specialization for agent in spec.specialists.values() if agent.active)
                or spec.head.specialization,
                "part": self.route.parts.get(key, ""),
                "after": ", ".join(
                    self.team.departments[other].name
                    for other in self.route.needs.get(key, ())
                    if other in self.route.chosen
                ),
            }
            for key in self.route.chosen
        )

    async def clock(self) -> int:
        """Return the milliseconds of work so far. Recorded, so that a resumed run reports the same times."""

        async def read() -> int:
            return round(self.run.driven_s * 1000)

        async with self.run.until_exhausted():
            return await self.run.step("clock", read)
        return await read()  # out of time: a resumed run reads it again


@dataclass(frozen=True)
class Department:
    """A department at work, with its inputs."""

    key: str
    spec: DepartmentSpec
    inputs: tuple[DepartmentReport, ...] = ()
    missing: tuple[str, ...] = ()
    canon: tuple[str, ...] = ()
    approach: str = ""
    team: tuple[dict[str, str], ...] = ()
    """All departments that work on the request, with their work."""
    part: str = ""
    """The department's contribution, as the router describes it."""
    assignments: Mapping[str, Assignment] = field(default_factory=dict[str, Assignment])
    """Assignments of the chosen specialists by key."""

    def context(self) -> dict[str, Any]:
        """Return the variables that every prompt of the department uses."""
        return {
            "departments": list(self.team),
            "department": self.spec.name,
            "part": self.part,
            "inputs": [{"name": report.department_name, "output": report.output} for report in self.inputs],
            "missing": list(self.missing),
            "canon": list(self.canon),
        }


@dataclass
class Conflict:
    """A contradiction between departments or with a settled fact, and its resolution."""

    kind: str
    severity: str
    departments: list[str]
    description: str
    id: str = ""
    status: str = "unresolved"
    yielded: str = ""
    reason: str = ""
    said: list[str] = field(default_factory=list[str])
    """Answers of the heads that did not yield."""
    rounds: int = 0
    fact: str = ""
    """Id of the contradicted settled fact, if a rule found the conflict."""
    settled: str = ""
    """The settled fact as text."""
    in_result: str = ""
    """For an open conflict: its state in the delivered text."""

    @property
    def is_listed_only(self) -> bool:
        """True if no head was asked because the severity is low."""
        return self.severity in LISTED_ONLY and self.status != "resolved" and not self.rounds

    def shown(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "kind": self.kind,
            "severity": self.severity,
            "departments": self.departments,
            "description": self.description,
            "status": self.status,
            "yielded": self.yielded or None,
            "reason": self.reason or None,
            "said": self.said,
            "rounds": self.rounds,
            "in_result": self.in_result or None,
        }


@dataclass
class CrossValidation:
    """State of the cross-validation: the departments' reports as they change, and their conflicts."""

    studio: Studio
    reports: dict[str, DepartmentReport]
    settled: list[str] = field(default_factory=list[str])
    """Settled facts that are relevant to the request or to the departments' texts."""
    conflicts: list[Conflict] = field(default_factory=list[Conflict])
    facts: dict[str, list[NewFact]] = field(default_factory=dict[str, list[NewFact]])
    """Facts that each department's text states, for a project."""
    read: dict[str, str] = field(default_factory=dict[str, str])
    """The texts that the facts were extracted from, by department."""
    denials: dict[str, list[Denial] | None] = field(default_factory=dict[str, list[Denial] | None])
    """Settled facts that contradict each department's facts. `None` if its facts could not be extracted."""

    @property
    def working(self) -> dict[str, DepartmentReport]:
        """The reports of completed departments: only these can be in conflict."""
        return {key: report for key, report in self.reports.items() if report.status == "completed"}

    @property
    def open_conflicts(self) -> list[Conflict]:
        return [conflict for conflict in self.conflicts if conflict.status != "resolved"]

    @property
    def to_settle(self) -> list[Conflict]:
        """The open conflicts that justify a round of resolution."""
        return [conflict for conflict in self.open_conflicts if conflict.severity not in LISTED_ONLY]

    @property
    def is_complete(self) -> bool:
        """True if every text was read in its current version, so no budget ended the check early."""
        return all(
            report.status != "unfinished"
            and (report.status == "failed" or self.read.get(key) == report.output)
            for key, report in self.reports.items()
        )

    def note(self, conflict: Conflict) -> Conflict:
        """Add a conflict and give it an id by its position."""
        conflict.id = f"c{len(self.conflicts) + 1}"
        self.conflicts.append(conflict)
        return conflict

    @property
    def texts(self) -> dict[str, str]:
        """The departments' current texts."""
        return {key: report.output for key, report in self.reports.items()}

    def reopen(self, conflict: Conflict) -> bool:
        """Reopen a resolved conflict that is still present. Return False if it was open already."""
        if conflict.status != "resolved":
            return False
        name = self.reports[conflict.yielded].department_name
        conflict.said.append(f"{name} had yielded, but it is still there.")
        conflict.status, conflict.yielded, conflict.reason = "unresolved", "", ""
        return True

    def resolve(self, conflict: Conflict, by: str, reason: str) -> None:
        conflict.status, conflict.yielded, conflict.reason = "resolved", by, reason
        self.studio.run.emit(
            events.ConflictResolved(id=conflict.id, round=conflict.rounds, by=by, reason=reason)
        )

    def emit_found(self, conflicts: Sequence[Conflict], number: int) -> None:
        """Emit conflicts that are new or reopened."""
        for conflict in conflicts:
            self.studio.run.emit(
                events.ConflictFound(
                    id=conflict.id,
                    round=number,
                    kind=conflict.kind,
                    severity=conflict.severity,
                    departments=conflict.departments,
                    description=conflict.description,
                )
            )


def conflict_lines(conflicts: Sequence[Conflict]) -> list[str]:
    """Return the open conflicts as lines for a prompt."""
    return [
        f"{' and '.join(conflict.departments)}: {conflict.description}"
        for conflict in conflicts
        if conflict.status != "resolved"
    ]


def ended(text: str) -> str:
    """Return a text with a full stop, so that another sentence can follow it."""
    return text if text.rstrip().endswith((".", "!", "?", "…")) else f"{text.rstrip()}."


def find_specialist(department: DepartmentSpec, text: str) -> str:
    """Return the key of the specialist with this key, name or specialization, or an empty string."""
    return find_key(text, names_of(department.specialists))


def names_of(specialists: Mapping[str, AgentSpec]) -> dict[str, tuple[str, ...]]:
    return {key: (spec.name, spec.specialization) for key, spec in specialists.items()}


def assignments_of(department: DepartmentSpec, brief: Brief) -> dict[str, Assignment]:
    """Return the brief's assignments by key, without those of specialists that the department lacks."""
    assignments: dict[str, Assignment] = {}
    for assignment in brief.assignments:
        key = find_specialist(department, assignment.specialist)
        if key and department.specialists[key].active:
            needs = [name for need in assignment.needs if (name := find_specialist(department, need))]
            assignments.setdefault(key, Assignment(specialist=key, task=assignment.task, needs=needs))
    return assignments


def for_chosen(
    department: DepartmentSpec, chosen: Sequence[str], assigned: Mapping[str, Assignment]
) -> dict[str, Assignment]:
    """Return an assignment for each chosen specialist. Needs are limited to other chosen specialists, without
    cycles."""
    parts = {
        key: assigned.get(key) or Assignment(specialist=key, task=_default(department.specialists[key]))
        for key in chosen
    }
    needs = {
        key: [need for need in dict.fromkeys(part.needs) if need in parts and need != key]
        for key, part in parts.items()
    }
    while circle := circle_in(needs):
        needs[circle[0]] = [need for need in needs[circle[0]] if need not in circle]
    return {key: part.model_copy(update={"needs": needs[key]}) for key, part in parts.items()}


def in_waves(assignments: Mapping[str, Assignment], *, at_once: bool) -> list[list[str]]:
    """Return the specialists in waves that can work in parallel, dependencies first."""
    waiting, done, waves = list(assignments), set[str](), list[list[str]]()
    while waiting:
        ready = [key for key in waiting if done.issuperset(assignments[key].needs)]
        wave = ready if at_once else ready[:1]
        waves.append(wave)
        done.update(wave)
        waiting = [key for key in waiting if key not in done]
    return waves


def _default(spec: AgentSpec) -> str:
    return f"Work on everything in the request that is {spec.specialization or spec.name}."
