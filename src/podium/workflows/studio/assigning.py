"""Who does what in a department: assignments of the brief, and the order in which specialists can work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from podium.workflows.studio.contracts import Assignment, Brief
from podium.workflows.studio.routing import find_key
from podium.workflows.studio.team import AgentSpec, DepartmentSpec, circle_in


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
