"""What a studio does with a project's brain: settled facts are recalled, facts are taken from finished work,
held against what is settled, and proposed for a person to keep."""

from __future__ import annotations

from collections.abc import Sequence

from podium.agents.ask import Run
from podium.brain import Brain, Fact
from podium.engine.branch import Ok
from podium.engine.events import Charge
from podium.errors import BudgetExhaustedError, StepFailedError
from podium.workflows.studio import events, roles
from podium.workflows.studio.canon import CANON, RECALLED, Canon, Denial, NewFact, NewFacts, Recalled
from podium.workflows.studio.contracts import DepartmentReport
from podium.workflows.studio.working import Conflict, Studio


class BrainCanon:
    """A project's brain in the words of a studio."""

    def __init__(self, brain: Brain) -> None:
        self._brain = brain

    async def names(self) -> list[str]:
        return await self._brain.names()

    def recall_cost(self, text: str) -> Charge | None:
        return self._brain.search_cost(text)

    async def recall(self, text: str, limit: int) -> Recalled:
        found = await self._brain.search(text, limit)
        return Recalled(
            [f"{one.subject}, {one.predicate}: {one.value}" for one in found], self._brain.warning
        )

    async def contradictions(self, facts: Sequence[NewFact]) -> list[Denial]:
        found = await self._brain.contradictions(_facts(facts))
        return [Denial(one.reason, one.severity) for one in found]

    async def propose(self, run_id: str, facts: Sequence[NewFact]) -> None:
        await self._brain.propose(run_id, _facts(facts))

    async def close(self) -> None:
        await self._brain.close()


def _facts(facts: Sequence[NewFact]) -> list[Fact]:
    return [
        Fact(subject=one.subject, predicate=one.predicate, value=one.value, kind=one.kind, quote=one.quote)
        for one in facts
    ]


async def open_brain(run: Run, project: str) -> Canon:
    """The brain of a project, over the store that the run itself is kept in."""
    return BrainCanon(await Brain.open(run.store, project, settings=run.settings))


async def recall(run: Run, canon: Canon, request: str) -> list[str]:
    """What is settled and has to do with the request; recorded, so that a resumed run knows the same."""
    found = await run.step(
        "recall", canon.recall, request, RECALLED, returns=Recalled, cost=canon.recall_cost(request)
    )
    if found.warning:
        run.warn(found.warning)
    return found.lines


async def keep_facts(studio: Studio, reports: Sequence[DepartmentReport]) -> list[Conflict]:
    """Take facts from every department's work, and propose them. What denies a settled fact is a conflict.
    Where a budget has ended nothing is kept: the run is not at its end."""
    canon = studio.canon
    if canon is None or any(one.status == "unfinished" for one in reports):
        return []
    working = {one.key: one for one in reports if one.status == "completed"}
    conflicts: list[Conflict] = []
    try:
        async with studio.run.branch("facts"):
            outcomes = await studio.run.gather({key: _extract(studio, one) for key, one in working.items()})
            found = {key: one.value for key, one in outcomes.items() if isinstance(one, Ok)}
            for key, facts in found.items():
                conflicts += await _denied(studio, canon, key, facts)
            everything = [fact for facts in found.values() for fact in facts]
            await studio.run.step("propose", canon.propose, studio.run.id, everything)
    except BudgetExhaustedError as error:
        studio.run.warn(f"The facts of this run were not kept: {error}")
    return conflicts


async def _denied(studio: Studio, canon: Canon, key: str, facts: list[NewFact]) -> list[Conflict]:
    """What one department says and the project denies."""
    denied = await studio.run.step(
        "contradictions", canon.contradictions, facts, key=key, returns=list[Denial]
    )
    conflicts = [
        Conflict(f"{CANON}-{key}-{nth}", "direct", one.severity, [key, CANON], one.description)
        for nth, one in enumerate(denied, 1)
    ]
    for one in conflicts:
        studio.run.emit(
            events.ConflictFound(
                id=one.id, round=0, kind=one.kind, severity=one.severity, departments=one.departments,
                description=one.description,
            )
        )  # fmt: skip
    return conflicts


async def _extract(studio: Studio, report: DepartmentReport) -> list[NewFact]:
    """The facts of one department's text; none if the model cannot tell them."""
    try:
        found = await studio.run.ask(
            roles.MASTER, "extract_facts", returns=NewFacts, name=report.department_name, output=report.output
        )
    except StepFailedError as error:
        studio.run.warn(f"No facts were taken from the work of the {report.department_name}: {error}")
        return []
    return found.facts
