"""Which specialists work: those whose skills fit, the more successful first."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from podium.workflows.studio.learning import Learnt
from podium.workflows.studio.matching import Meanings, stems_of, telling_stems
from podium.workflows.studio.policy import success_rate
from podium.workflows.studio.team import AgentSpec, DepartmentSpec, agent_id

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
