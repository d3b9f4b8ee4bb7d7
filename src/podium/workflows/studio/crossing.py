"""Cross-department validation: contradictions between departments are found, and settled by the heads
concerned in at most two rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from podium.errors import BudgetExhaustedError, StepFailedError
from podium.workflows.studio import events, roles
from podium.workflows.studio.canon import CANON
from podium.workflows.studio.contracts import DepartmentReport, FoundConflict, Resolution, Validation
from podium.workflows.studio.matching import likeness, telling_stems
from podium.workflows.studio.policy import MAX_CONFLICT_ROUNDS
from podium.workflows.studio.working import Conflict, Studio

SAME = 0.5
"""From this likeness on, two descriptions of the same departments' conflict mean the same one."""


@dataclass
class Crossing:
    """The departments' reports as they are changed, and the conflicts among them."""

    studio: Studio
    reports: dict[str, DepartmentReport]
    conflicts: list[Conflict] = field(default_factory=list[Conflict])

    @property
    def open_conflicts(self) -> list[Conflict]:
        return [one for one in self.conflicts if one.status != "resolved"]


async def validate_across(studio: Studio, reports: Sequence[DepartmentReport]) -> Crossing:
    """Find, settle, look again; what two rounds did not settle stays open and is shown."""
    crossing = Crossing(studio, {one.key: one for one in reports})
    working = [one for one in reports if one.status == "completed"]
    if len(working) + bool(studio.settled) < 2:
        return crossing
    try:
        for number in range(1, MAX_CONFLICT_ROUNDS + 1):
            await _find(crossing, number)
            if not crossing.open_conflicts:
                break
            for conflict in crossing.open_conflicts:
                await _settle(crossing, conflict, number)
    except BudgetExhaustedError as error:
        studio.run.warn(f"The departments were not checked against each other to the end: {error}")
    return crossing


async def _find(crossing: Crossing, number: int) -> None:
    """Ask the master what contradicts what. A check that fails is a warning, not the end."""
    studio = crossing.studio
    working = {key: one for key, one in crossing.reports.items() if one.status == "completed"}

    def check(answer: Validation) -> str:
        named = {key for one in answer.conflicts for key in one.departments}
        allowed = [*working, *([CANON] if studio.settled else [])]
        unknown = ", ".join(sorted(named - set(allowed)))
        return f"there is no department {unknown}; there are {', '.join(allowed)}" if unknown else ""

    try:
        found = await studio.run.ask(
            roles.MASTER, "validate", returns=Validation, check=check, request=studio.request,
            settled=list(studio.settled),
            outputs=[{"key": key, "name": one.department_name, "output": one.output}
                     for key, one in working.items()],
        )  # fmt: skip
    except StepFailedError as error:
        studio.run.warn(f"The departments could not be checked against each other: {error.reason}")
        studio.run.emit(events.Validated(round=number, conflicts=0, error=error.reason))
        return
    new = [made for one in found.conflicts if (made := _noted(crossing, one)) is not None]
    studio.run.emit(events.Validated(round=number, conflicts=len(crossing.open_conflicts)))
    for made in new:
        studio.run.emit(
            events.ConflictFound(
                id=made.id, round=number, kind=made.kind, severity=made.severity,
                departments=made.departments, description=made.description,
            )
        )  # fmt: skip


def _noted(crossing: Crossing, found: FoundConflict) -> Conflict | None:
    """A conflict that was not known yet; one that was settled and is there again is open again."""
    departments = list(dict.fromkeys(found.departments))
    if len(departments) < 2:
        return None
    for known in crossing.conflicts:
        alike = likeness(telling_stems(known.description), telling_stems(found.description)) >= SAME
        if set(known.departments) == set(departments) and alike:
            if known.status == "resolved":
                known.said.append(f"{known.yielded} had yielded, but it is still there")
                known.status, known.yielded, known.reason = "unresolved", "", ""
            return None
    name = f"c{len(crossing.conflicts) + 1}"
    made = Conflict(name, found.kind, found.severity, departments, found.description)
    crossing.conflicts.append(made)
    return made


async def _settle(crossing: Crossing, conflict: Conflict, number: int) -> None:
    """Ask the heads concerned one after the other, the less relevant department first, until one yields.
    What is settled never does."""
    studio = crossing.studio
    conflict.rounds = number
    heads = [key for key in conflict.departments if key != CANON]
    for key in sorted(heads, key=lambda key: studio.route.relevance(key)):
        report = crossing.reports[key]
        try:
            answer = await _ask(crossing, conflict, key)
        except StepFailedError as error:
            conflict.said.append(f"{report.department_name} could not answer: {error.reason}")
            continue
        if not answer.yields:
            conflict.said.append(f"{report.department_name} does not yield: {answer.reason}")
            continue
        crossing.reports[key] = report.model_copy(update={"output": answer.output.strip()})
        conflict.status, conflict.yielded, conflict.reason = "resolved", key, answer.reason
        studio.run.emit(events.ConflictResolved(id=conflict.id, round=number, by=key, reason=answer.reason))
        return


async def _ask(crossing: Crossing, conflict: Conflict, key: str) -> Resolution:
    studio = crossing.studio
    others = [crossing.reports[other] for other in conflict.departments if other not in (key, CANON)]

    def check(answer: Resolution) -> str:
        return (
            "you yield, so `output` must hold your whole text"
            if answer.yields and not answer.output.strip()
            else ""
        )

    async with studio.run.branch("resolve", key=f"{conflict.id}-{key}-{conflict.rounds}"):
        return await studio.run.ask(
            roles.head_of(studio.team.departments[key].head), "resolve", returns=Resolution, check=check,
            request=studio.request, own=crossing.reports[key].output,
            conflict={"description": conflict.description, "kind": conflict.kind,
                      "severity": conflict.severity},
            others=[{"name": one.department_name, "output": one.output} for one in others],
            said=list(conflict.said), settled=list(studio.settled) if CANON in conflict.departments else [],
        )  # fmt: skip
