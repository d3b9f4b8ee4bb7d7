"""Past results and specialist choice of `studio`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec

from podium.engine.log import Store
from podium.workflows.studio import events
from podium.workflows.studio.matching import Meanings, likeness, stems_of, telling_stems
from podium.workflows.studio.policy import accepted, success_rate, suggested_threshold, threshold_of
from podium.workflows.studio.team import AgentSpec, DepartmentSpec, TeamSpec, agent_id

MOST_RUNS = 200
"""Runs that are looked back at, the newest first."""
ALIKE = 0.2
"""From this likeness on, two requests count as similar."""


class Past(msgspec.Struct, frozen=True):
    """One reviewed piece of work."""

    agent_id: str
    request: str
    score: float
    status: str
    attempts: int


class Learnt(msgspec.Struct, frozen=True, kw_only=True):
    """What the past says about one agent."""

    agent_id: str
    results: int
    mean: float
    acceptance: float
    """The share of its work that was accepted."""
    success: float
    """The same for requests like this one, if there were any."""
    similar: int
    """How many those were."""
    configured: float
    suggested: float | None
    """A better threshold, if there is enough evidence for one."""


async def read_past(
    store: Store, team: str, *, rehearsals: bool, but: str = "", owner: str | None = None
) -> list[Past]:
    """Everything that was reviewed in earlier runs of a team, by default everybody's. Rehearsals and real
    runs teach each other nothing; what a fork has inherited is counted where it happened."""
    found: list[Past] = []
    for row in await store.list_runs(workflow="studio", limit=MOST_RUNS, owner=owner):
        if row.run_id == but or row.rehearsal != rehearsals:
            continue
        for one in await store.read(row.run_id, types=(events.SpecialistReviewed.type,)):
            data = one.to_event(row.run_id).data
            if (
                isinstance(data, events.SpecialistReviewed)
                and data.team == team
                and data.inherited is not True
            ):
                found.append(Past(data.agent_id, row.request, data.score, data.status, data.attempts))
    return found


def learn(team: TeamSpec, past: Sequence[Past], request: str) -> dict[str, Learnt]:
    """By agent id; agents without a past are left out."""
    stems = telling_stems(request)
    alike = {text: likeness(stems, telling_stems(text)) for text in {one.request for one in past}}
    found: dict[str, Learnt] = {}
    for key, department in team.departments.items():
        for name, spec in department.specialists.items():
            own = [one for one in past if one.agent_id == agent_id(key, name)]
            if own:
                configured = threshold_of(spec.passing_threshold, department.min_quality_threshold)
                found[own[0].agent_id] = _learnt(own, alike, configured)
    return found


def _learnt(own: Sequence[Past], alike: dict[str, float], configured: float) -> Learnt:
    scores = [one.score for one in own]
    everything = [(1.0, accepted(one.status)) for one in own]
    similar = [(alike[one.request], accepted(one.status)) for one in own if alike[one.request] >= ALIKE]
    return Learnt(
        agent_id=own[0].agent_id,
        results=len(own),
        mean=round(sum(scores) / len(scores), 2),
        acceptance=success_rate(everything),
        success=success_rate(similar or everything),
        similar=len(similar),
        configured=configured,
        suggested=suggested_threshold(scores, configured),
    )


REQUIRED_WEIGHT = 2.0
"""What the head asks for counts more than what the request happens to say."""


def choose_specialists(
    key: str,
    department: DepartmentSpec,
    request: str,
    required: Sequence[str],
    count: int,
    meanings: Meanings,
    learnt: Mapping[str, Learnt],
    assigned: Collection[str] = (),
) -> list[str]:
    """Active ones of the department: those that the head gave a part, then by fitting skills, by success, and
    as the file lists them."""
    active = [name for name, spec in department.specialists.items() if spec.active]
    wanted = telling_stems(request)

    def rank(name: str) -> tuple[bool, float, float]:
        fit = fitting(department.specialists[name], wanted, required, meanings)
        known = learnt.get(agent_id(key, name))
        return name not in assigned, -fit, -(success_rate([]) if known is None else known.success)

    return sorted(active, key=rank)[:count]


def fitting(spec: AgentSpec, request: set[str], required: Sequence[str], meanings: Meanings) -> float:
    """How well a specialist fits: the best of its skills for each thing that is asked for. Earlier required
    skills count a little more, so that the head's order decides."""
    skills = [*spec.skills, spec.specialization]
    total = max((meanings.match(skill, request) for skill in skills), default=0.0)
    for place, skill in enumerate(required):
        sought = set(stems_of(skill))
        best = max((meanings.match(own, sought) for own in skills), default=0.0)
        total += REQUIRED_WEIGHT * best / (1 + place / 100)
    return round(total, 6)
