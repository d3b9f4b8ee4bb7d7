"""Shared run state, Canon port, assignments of `studio`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec
from pydantic import Field

from podium.agents.ask import Run
from podium.engine.events import Charge
from podium.engine.store_parts import FactKind
from podium.errors import BudgetExhaustedError
from podium.workflows.delivery.contracts import Draft
from podium.workflows.studio import events
from podium.workflows.studio.contracts import Assignment, Brief, DepartmentReport, Reply
from podium.workflows.studio.learning import Learnt
from podium.workflows.studio.matching import Meanings
from podium.workflows.studio.policy import LISTED_ONLY, Complexity, threshold_of
from podium.workflows.studio.routing import Route, find_key
from podium.workflows.studio.team import AgentSpec, DepartmentSpec, TeamSpec, agent_id, circle_in

RECALLED = 20
"""Facts that everybody is told."""
CANON = "canon"
"""Stands for what is settled where departments are named."""


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
    """What is settled and has to do with a request."""

    lines: list[str]
    warning: str = ""
    """Why it may be less than it could be."""


class Denial(msgspec.Struct, frozen=True):
    """A new fact that cannot be true together with a settled one."""

    description: str
    severity: str
    fact: str
    """Which settled fact: another contradiction of the same one is the same conflict."""
    settled: str
    """That fact, as everybody is told it."""


class CanonPort(Protocol):
    """The memory of one project."""

    async def names(self) -> list[str]:
        """Names that the project knows."""
        ...

    def recall_cost(self, text: str) -> Charge | None:
        """The most that recalling can cost; `None`: nothing."""
        ...

    async def recall(self, text: str, limit: int) -> Recalled:
        """Settled facts that have to do with a text."""
        ...

    async def contradictions(self, facts: Sequence[NewFact]) -> list[Denial]:
        """Where new facts deny settled ones."""
        ...

    async def propose(self, run_id: str, facts: Sequence[NewFact]) -> int:
        """Keep facts until a person has looked at them; returns how many of this run's do. To propose the
        same again changes nothing."""
        ...

    async def close(self) -> None:
        """Let go of it."""
        ...


OpenCanon = Callable[[Run, str], Awaitable[CanonPort]]
"""Opens the memory of a project for a run."""


@dataclass(frozen=True)
class Choices:
    """How a run was asked to work."""

    specialists: str = "auto"
    adaptive: bool = False
    synthesis_rounds: int = 1
    batch_grading: bool = False


@dataclass(frozen=True)
class Studio:
    """One run's studio. Nothing in it changes while departments work."""

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
    """What the project knows that has to do with the request."""
    draft: Draft | None = None
    """One direct answer to the whole request: the heads build on it, and it is the master's checklist."""

    @property
    def points(self) -> list[str]:
        """What a complete result contains, by the direct draft."""
        return [] if self.draft is None else list(self.draft.points)

    @property
    def first_version(self) -> str:
        """The direct draft, so that all departments begin with one idea."""
        return "" if self.draft is None else self.draft.document

    def threshold(self, key: str, specialist: str) -> float:
        """The one that counts: learnt, if that was wished for and there is evidence."""
        known = self.learnt.get(agent_id(key, specialist))
        if self.choices.adaptive and known is not None and known.suggested is not None:
            return known.suggested
        return self.configured(key, specialist)

    def configured(self, key: str, specialist: str) -> float:
        department = self.team.departments[key]
        spec = department.specialists[specialist]
        return threshold_of(spec.passing_threshold, department.min_quality_threshold)

    def departments_at_work(self) -> tuple[dict[str, str], ...]:
        """Return the chosen departments with what each does and needs, as every prompt lists them."""
        return tuple(
            {
                "name": (spec := self.team.departments[key]).name,
                "does": ", ".join(one.specialization for one in spec.specialists.values() if one.active)
                or spec.head.specialization,
                "part": self.route.parts.get(key, ""),
                "after": ", ".join(
                    self.team.departments[one].name
                    for one in self.route.needs.get(key, ())
                    if one in self.route.chosen
                ),
            }
            for key in self.route.chosen
        )

    async def clock(self) -> int:
        """Milliseconds of work so far, recorded: a resumed run tells the same times."""

        async def read() -> int:
            return round(self.run.driven_s * 1000)

        try:
            return await self.run.step("clock", read)
        except BudgetExhaustedError:  # the time is up, and a resumed run reads it anew
            return await read()


@dataclass(frozen=True)
class Department:
    """A department at work, and what it was given."""

    key: str
    spec: DepartmentSpec
    inputs: tuple[DepartmentReport, ...] = ()
    missing: tuple[str, ...] = ()
    canon: tuple[str, ...] = ()
    approach: str = ""
    team: tuple[dict[str, str], ...] = ()
    """All departments that work on the request and what each does."""
    part: str = ""
    """What the router wants from this department."""
    assignments: Mapping[str, Assignment] = field(default_factory=dict[str, Assignment])
    """The parts of the chosen specialists, by key."""

    def context(self) -> dict[str, Any]:
        """For every prompt of the department."""
        return {
            "departments": list(self.team),
            "department": self.spec.name,
            "part": self.part,
            "inputs": [{"name": one.department_name, "output": one.output} for one in self.inputs],
            "missing": list(self.missing),
            "canon": list(self.canon),
        }


@dataclass
class Conflict:
    """A contradiction between departments, or with what is settled, and what became of it."""

    kind: str
    severity: str
    departments: list[str]
    description: str
    id: str = ""
    status: str = "unresolved"
    yielded: str = ""
    reason: str = ""
    said: list[str] = field(default_factory=list[str])
    """What heads said who did not yield."""
    rounds: int = 0
    fact: str = ""
    """The settled fact that is denied, where a rule has found it."""
    settled: str = ""
    """That fact, as everybody is told it."""
    in_result: str = ""
    """What became of it in the text that is handed over, where it stayed open."""

    @property
    def is_listed_only(self) -> bool:
        """Whether no head was asked about it because it is only a detail."""
        return self.severity in LISTED_ONLY and self.status != "resolved" and not self.rounds

    def shown(self) -> dict[str, Any]:
        return {
            "id": self.id, "kind": self.kind, "severity": self.severity, "departments": self.departments,
            "description": self.description, "status": self.status, "yielded": self.yielded or None,
            "reason": self.reason or None, "said": self.said, "rounds": self.rounds,
            "in_result": self.in_result or None,
        }  # fmt: skip


@dataclass
class CrossValidation:
    """The departments' reports as they are changed, and what they contradict."""

    studio: Studio
    reports: dict[str, DepartmentReport]
    settled: list[str] = field(default_factory=list[str])
    """What the project knows that has to do with the request, or with what the departments wrote."""
    conflicts: list[Conflict] = field(default_factory=list[Conflict])
    facts: dict[str, list[NewFact]] = field(default_factory=dict[str, list[NewFact]])
    """What each department's text states, for a project."""
    read: dict[str, str] = field(default_factory=dict[str, str])
    """The texts that facts were taken from."""
    denials: dict[str, list[Denial] | None] = field(default_factory=dict[str, list[Denial] | None])
    """What is settled against the facts of each department; `None`: nobody could tell its facts."""

    @property
    def working(self) -> dict[str, DepartmentReport]:
        """Those whose text can contradict anything."""
        return {key: one for key, one in self.reports.items() if one.status == "completed"}

    @property
    def open_conflicts(self) -> list[Conflict]:
        return [one for one in self.conflicts if one.status != "resolved"]

    @property
    def to_settle(self) -> list[Conflict]:
        """The open conflicts that are worth a round of resolution."""
        return [one for one in self.open_conflicts if one.severity not in LISTED_ONLY]

    @property
    def at_its_end(self) -> bool:
        """Whether every text was read as it is now: no budget has ended before."""
        return all(
            one.status != "unfinished" and (one.status == "failed" or self.read.get(key) == one.output)
            for key, one in self.reports.items()
        )

    def note(self, conflict: Conflict) -> Conflict:
        """One more; it is named by its place."""
        conflict.id = f"c{len(self.conflicts) + 1}"
        self.conflicts.append(conflict)
        return conflict

    @property
    def texts(self) -> dict[str, str]:
        """The departments' texts as they are now."""
        return {key: one.output for key, one in self.reports.items()}

    def reopen(self, conflict: Conflict) -> bool:
        """Somebody had yielded, and it is still there; `False`: it was open all the time."""
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

    def tell(self, found: Sequence[Conflict], number: int) -> None:
        """Conflicts that are new, or there again."""
        for one in found:
            self.studio.run.emit(
                events.ConflictFound(
                    id=one.id, round=number, kind=one.kind, severity=one.severity,
                    departments=one.departments, description=one.description,
                )
            )  # fmt: skip


def conflict_lines(conflicts: Sequence[Conflict]) -> list[str]:
    """Those that are still open, for a prompt."""
    return [
        f"{' and '.join(one.departments)}: {one.description}" for one in conflicts if one.status != "resolved"
    ]


def ended(text: str) -> str:
    """Return a text with a full stop, so that another sentence can follow it."""
    return text if text.rstrip().endswith((".", "!", "?", "…")) else f"{text.rstrip()}."


def find_specialist(department: DepartmentSpec, text: str) -> str:
    """Return the key of the specialist that a key, a name or a specialization stands for, or nothing."""
    return find_key(text, names_of(department.specialists))


def names_of(specialists: Mapping[str, AgentSpec]) -> dict[str, tuple[str, ...]]:
    return {key: (one.name, one.specialization) for key, one in specialists.items()}


def assignments_of(department: DepartmentSpec, brief: Brief) -> dict[str, Assignment]:
    """Return the brief's assignments by key, without those of specialists that the department lacks."""
    found: dict[str, Assignment] = {}
    for one in brief.assignments:
        key = find_specialist(department, one.specialist)
        if key and department.specialists[key].active:
            needs = [name for need in one.needs if (name := find_specialist(department, need))]
            found.setdefault(key, Assignment(specialist=key, task=one.task, needs=needs))
    return found


def for_chosen(
    department: DepartmentSpec, chosen: Sequence[str], assigned: Mapping[str, Assignment]
) -> dict[str, Assignment]:
    """Return an assignment for each chosen specialist; needs are limited to others that work and do not wait
    for each other."""
    parts = {
        key: assigned.get(key) or Assignment(specialist=key, task=_default(department.specialists[key]))
        for key in chosen
    }
    needs = {
        key: [one for one in dict.fromkeys(part.needs) if one in parts and one != key]
        for key, part in parts.items()
    }
    while circle := circle_in(needs):
        needs[circle[0]] = [one for one in needs[circle[0]] if one not in circle]
    return {key: part.model_copy(update={"needs": needs[key]}) for key, part in parts.items()}


def in_waves(assignments: Mapping[str, Assignment], *, at_once: bool) -> list[list[str]]:
    """Return the specialists that can work together, those that others need first."""
    left, done, waves = list(assignments), set[str](), list[list[str]]()
    while left:
        ready = [key for key in left if done.issuperset(assignments[key].needs)]
        wave = ready if at_once else ready[:1]
        waves.append(wave)
        done.update(wave)
        left = [key for key in left if key not in done]
    return waves


def _default(spec: AgentSpec) -> str:
    return f"Work on everything in the request that is {spec.specialization or spec.name}."
