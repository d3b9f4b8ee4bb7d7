"""History of specialists, and their selection."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec

from podium.engine.log import Store
from podium.workflows.studio import events
from podium.workflows.studio.policy import accepted, success_rate, suggested_threshold, threshold_of
from podium.workflows.studio.similarity import Meanings, content_stems, similarity, stems_of
from podium.workflows.studio.team import AgentSpec, DepartmentSpec, TeamSpec, agent_id

MOST_RUNS = 200
"""Maximum number of past runs that are read, the newest first."""
SIMILAR = 0.2
"""Minimum similarity at which two requests count as similar."""


class Past(msgspec.Struct, frozen=True):
    """One past review."""

    agent_id: str
    request: str
    score: float
    status: str
    attempts: int


class Learnt(msgspec.Struct, frozen=True, kw_only=True):
    """Statistics of one agent's past reviews."""

    agent_id: str
    results: int
    mean: float
    acceptance: float
    """Share of its work that was accepted."""
    success: float
    """Share of accepted work among similar requests, weighted by similarity; among all requests if none is
    similar."""
    similar: int
    """Number of similar requests."""
    configured: float
    suggested: float | None
    """A better threshold. None without enough evidence."""


async def read_past(
    store: Store, team: str, *, rehearsals: bool, but: str = "", owner: str | None = None
) -> list[Past]:
    """Return all reviews of a team's earlier runs, by default of all owners. Rehearsals and real runs are
    kept apart. Events that a fork inherited count only in the original run."""
    reviews: list[Past] = []
    for row in await store.list_runs(workflow="studio", limit=MOST_RUNS, owner=owner):
        if row.run_id == but or row.rehearsal != rehearsals:
            continue
        for event in await store.read(row.run_id, types=(events.SpecialistReviewed.type,)):
            data = event.to_event(row.run_id).data
            if (
                isinstance(data, events.SpecialistReviewed)
                and data.team == team
                and data.inherited is not True
            ):
                reviews.append(Past(data.agent_id, row.request, data.score, data.status, data.attempts))
    return reviews


def learn(team: TeamSpec, past: Sequence[Past], request: str) -> dict[str, Learnt]:
    """Return statistics by agent id. Agents without a history are left out."""
    stems = content_stems(request)
    similarities = {
        text: similarity(stems, content_stems(text)) for text in {review.request for review in past}
    }
    learnt: dict[str, Learnt] = {}
    for key, department in team.departments.items():
        for name, spec in department.specialists.items():
            own = [review for review in past if review.agent_id == agent_id(key, name)]
            if own:
                configured = threshold_of(spec.passing_threshold, department.min_quality_threshold)
                learnt[own[0].agent_id] = _learnt(own, similarities, configured)
    return learnt


def _learnt(own: Sequence[Past], similarities: dict[str, float], configured: float) -> Learnt:
    scores = [review.score for review in own]
    everything = [(1.0, accepted(review.status)) for review in own]
    similar = [
        (similarities[review.request], accepted(review.status))
        for review in own
        if similarities[review.request] >= SIMILAR
    ]
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
"""Weight of the skills that the head requires, compared with the words of the request."""


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
    """Choose active specialists: those with an assignment first, then by matching skills, by success rate,
    and by order in the file."""
    active = [name for name, spec in department.specialists.items() if spec.active]
    wanted = content_stems(request)

    def rank(name: str) -> tuple[bool, float, float]:
        fit = fitting(department.specialists[name], wanted, required, meanings)
        known = learnt.get(agent_id(key, name))
        return name not in assigned, -fit, -(success_rate([]) if known is None else known.success)

    return sorted(active, key=rank)[:count]


def fitting(spec: AgentSpec, request: set[str], required: Sequence[str], meanings: Meanings) -> float:
    """Return how well a specialist fits: the sum of its best matching skill for the request and for each
    required skill. Earlier required skills weigh slightly more, so that the head's order breaks ties."""
    skills = [*spec.skills, spec.specialization]
    total = max((meanings.match(skill, request) for skill in skills), default=0.0)
    for place, skill in enumerate(required):
        sought = set(stems_of(skill))
        best = max((meanings.match(own, sought) for own in skills), default=0.0)
        total += REQUIRED_WEIGHT * best / (1 + place / 100)
    return round(total, 6)
