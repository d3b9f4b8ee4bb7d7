"""What a studio does with a project's memory: facts are taken from finished work, held against what is
settled, and proposed for a person to keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from podium.engine.branch import Ok
from podium.engine.log import Store
from podium.errors import BudgetExhaustedError, StepFailedError
from podium.workflows.studio import roles
from podium.workflows.studio.canon import Canon, NewFact, NewFacts
from podium.workflows.studio.contracts import DepartmentReport
from podium.workflows.studio.working import Conflict, Studio


@dataclass(frozen=True)
class NoMemory:
    """Stands in where no memory can be opened."""

    warning: str

    async def names(self) -> list[str]:
        return []

    async def recall(self, text: str, limit: int) -> list[str]:
        return []

    async def contradictions(self, run_id: str, facts: Sequence[NewFact]) -> list[str]:
        return []

    async def propose(self, run_id: str, facts: Sequence[NewFact]) -> None:
        """Nothing is kept."""


async def open_brain(store: Store, project: str) -> Canon:
    """The memory of a project. This version has none to open yet."""
    return NoMemory(f"Facts of the project {project} are not remembered yet: this version has no brain.")


async def keep_facts(studio: Studio, reports: Sequence[DepartmentReport]) -> list[Conflict]:
    """Take facts from every department's work, and propose them. What denies a settled fact is a conflict."""
    canon = studio.canon
    if canon is None:
        return []
    working = {one.key: one for one in reports if one.status == "completed"}
    async with studio.run.branch("facts"):
        outcomes = await studio.run.gather({key: _extract(studio, one) for key, one in working.items()})
        found = {key: one.value for key, one in outcomes.items() if isinstance(one, Ok)}
        conflicts: list[Conflict] = []
        for key, facts in found.items():
            denied = await studio.run.step(
                "contradictions", canon.contradictions, studio.run.id, facts, key=key, returns=list[str]
            )
            conflicts += [
                Conflict(f"canon-{key}-{nth}", "direct", "high", [key, "canon"], line)
                for nth, line in enumerate(denied, 1)
            ]
        everything = [fact for facts in found.values() for fact in facts]
        await studio.run.step("propose", canon.propose, studio.run.id, everything)
    return conflicts


async def _extract(studio: Studio, report: DepartmentReport) -> list[NewFact]:
    """The facts of one department's text; none if the model cannot tell them."""
    try:
        found = await studio.run.ask(
            roles.MASTER, "extract_facts", returns=NewFacts, name=report.department_name, output=report.output
        )
    except (StepFailedError, BudgetExhaustedError) as error:
        studio.run.warn(f"No facts were taken from the work of the {report.department_name}: {error}")
        return []
    return found.facts
