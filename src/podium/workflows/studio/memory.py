"""Adapter from a project's brain to the studio's canon port, and the steps that recall and propose facts.

Settled facts are recalled before any work starts. Facts of a run are proposed for review by a person.
"""

from __future__ import annotations

from collections.abc import Sequence

from podium.agents.ask import Run
from podium.brain import Brain, Fact
from podium.engine.events import Charge
from podium.errors import StepFailedError
from podium.workflows.studio import agents as roles
from podium.workflows.studio.context import (
    RECALLED,
    CanonPort,
    CrossValidation,
    Denial,
    NewFact,
    NewFacts,
    Recalled,
    Studio,
)


class BrainCanon:
    """Implementation of `CanonPort` on a project's brain."""

    def __init__(self, brain: Brain) -> None:
        self._brain = brain

    async def names(self) -> list[str]:
        return await self._brain.names()

    def recall_cost(self, text: str) -> Charge | None:
        return self._brain.search_cost(text)

    async def recall(self, text: str, limit: int) -> Recalled:
        facts = await self._brain.search(text, limit)
        return Recalled([_line(fact) for fact in facts], self._brain.warning)

    async def contradictions(self, facts: Sequence[NewFact]) -> list[Denial]:
        denied = await self._brain.contradictions(_facts(facts))
        return [
            Denial(
                contradiction.reason,
                contradiction.severity,
                contradiction.canon.id,
                _line(contradiction.canon),
            )
            for contradiction in denied
        ]

    async def propose(self, run_id: str, facts: Sequence[NewFact]) -> int:
        return await self._brain.propose(run_id, _facts(facts))

    async def close(self) -> None:
        await self._brain.close()


def _line(fact: Fact) -> str:
    """Format a fact as text for prompts."""
    return f"{fact.subject}, {fact.predicate}: {fact.value}"


def _facts(facts: Sequence[NewFact]) -> list[Fact]:
    return [
        Fact(
            subject=fact.subject, predicate=fact.predicate, value=fact.value, kind=fact.kind, quote=fact.quote
        )
        for fact in facts
    ]


async def open_brain(run: Run, project: str) -> CanonPort:
    """Open the brain of a project in the run's own store."""
    return BrainCanon(await Brain.open(run.store, project, settings=run.settings))


async def recall(run: Run, canon: CanonPort, request: str) -> list[str]:
    """Return the settled facts relevant to the request. Recorded, so that a resumed run uses the same
    facts."""
    recalled = await run.step(
        "recall", canon.recall, request, RECALLED, returns=Recalled, cost=canon.recall_cost(request)
    )
    if recalled.warning:
        run.warn(recalled.warning)
    return recalled.lines


async def recall_texts(crossing: CrossValidation) -> None:
    """Recall settled facts about the subjects that the departments' texts mention, even if the request does
    not. Warnings are reported only for the first recall."""
    studio, canon = crossing.studio, crossing.studio.canon
    texts = "\n\n".join(report.output for report in crossing.working.values())
    if canon is None or not texts:
        return
    recalled = await studio.run.step(
        "recall", canon.recall, texts, RECALLED, returns=Recalled, cost=canon.recall_cost(texts)
    )
    crossing.settled = list(dict.fromkeys([*studio.settled, *recalled.lines]))


async def propose_facts(crossing: CrossValidation, text: str = "") -> None:
    """Propose new facts for review. Nothing is proposed if a budget ended the run early. `text` is the
    deliverable if it differs from the departments' texts; then its own facts are used."""
    studio, canon = crossing.studio, crossing.studio.canon
    if canon is None or not crossing.is_complete:
        return
    everything = [fact for facts in crossing.facts.values() for fact in facts]
    if text:
        everything = await _facts_of_result(studio, canon, text)
    await studio.run.step("propose", canon.propose, studio.run.id, everything, returns=int)


async def _facts_of_result(studio: Studio, canon: CanonPort, text: str) -> list[NewFact]:
    """Extract the facts of the deliverable, and warn if they contradict settled ones."""
    async with studio.run.branch("delivery"), studio.run.closing():
        facts = await extract_facts(studio, "deliverable", text)
        if not facts:
            return []
        denials = await studio.run.step("contradictions", canon.contradictions, facts, returns=list[Denial])
    for denial in denials:
        studio.run.warn(f"The result contradicts a settled fact ({denial.severity}): {denial.description}")
    return facts


async def extract_facts(studio: Studio, name: str, text: str) -> list[NewFact] | None:
    """Return the facts that a text states, or None if the model fails."""
    try:
        answer = await studio.run.ask(roles.MASTER, "extract_facts", returns=NewFacts, name=name, output=text)
    except StepFailedError as error:
        studio.run.warn(f"No facts were taken from the work of the {name}: {error}")
        return None
    return answer.facts
