"""A project's brain in the words of a studio: settled facts are recalled before anybody works, and what was
settled in a run is proposed for a person to keep."""

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
    """A project's brain in the words of a studio."""

    def __init__(self, brain: Brain) -> None:
        self._brain = brain

    async def names(self) -> list[str]:
        return await self._brain.names()

    def recall_cost(self, text: str) -> Charge | None:
        return self._brain.search_cost(text)

    async def recall(self, text: str, limit: int) -> Recalled:
        found = await self._brain.search(text, limit)
        return Recalled([_line(one) for one in found], self._brain.warning)

    async def contradictions(self, facts: Sequence[NewFact]) -> list[Denial]:
        found = await self._brain.contradictions(_facts(facts))
        return [Denial(one.reason, one.severity, one.canon.id, _line(one.canon)) for one in found]

    async def propose(self, run_id: str, facts: Sequence[NewFact]) -> int:
        return await self._brain.propose(run_id, _facts(facts))

    async def close(self) -> None:
        await self._brain.close()


def _line(fact: Fact) -> str:
    """A fact as everybody is told it."""
    return f"{fact.subject}, {fact.predicate}: {fact.value}"


def _facts(facts: Sequence[NewFact]) -> list[Fact]:
    return [
        Fact(subject=one.subject, predicate=one.predicate, value=one.value, kind=one.kind, quote=one.quote)
        for one in facts
    ]


async def open_brain(run: Run, project: str) -> CanonPort:
    """The brain of a project, over the store that the run itself is kept in."""
    return BrainCanon(await Brain.open(run.store, project, settings=run.settings))


async def recall(run: Run, canon: CanonPort, request: str) -> list[str]:
    """What is settled and has to do with the request; recorded, so that a resumed run knows the same."""
    found = await run.step(
        "recall", canon.recall, request, RECALLED, returns=Recalled, cost=canon.recall_cost(request)
    )
    if found.warning:
        run.warn(found.warning)
    return found.lines


async def recall_texts(crossing: CrossValidation) -> None:
    """What is settled of whom and what the departments' texts name: the request may not have said a word of
    it. Only the warnings of the first time are told."""
    studio, canon = crossing.studio, crossing.studio.canon
    texts = "\n\n".join(one.output for one in crossing.working.values())
    if canon is None or not texts:
        return
    found = await studio.run.step(
        "recall", canon.recall, texts, RECALLED, returns=Recalled, cost=canon.recall_cost(texts)
    )
    crossing.settled = list(dict.fromkeys([*studio.settled, *found.lines]))


async def propose_facts(crossing: CrossValidation, text: str = "") -> None:
    """Let what was settled wait for a person. Where a budget has ended nothing is proposed: the run is not at
    its end. `text` is the deliverable, where it says something else than the departments' texts: then its own
    facts count."""
    studio, canon = crossing.studio, crossing.studio.canon
    if canon is None or not crossing.at_its_end:
        return
    everything = [fact for facts in crossing.facts.values() for fact in facts]
    if text:
        everything = await _facts_of_result(studio, canon, text)
    await studio.run.step("propose", canon.propose, studio.run.id, everything, returns=int)


async def _facts_of_result(studio: Studio, canon: CanonPort, text: str) -> list[NewFact]:
    """Take the facts from the deliverable, and warn where it contradicts what is settled."""
    async with studio.run.branch("delivery"), studio.run.closing():
        facts = await extract_facts(studio, "deliverable", text)
        if not facts:
            return []
        denials = await studio.run.step("contradictions", canon.contradictions, facts, returns=list[Denial])
    for denial in denials:
        studio.run.warn(f"The result contradicts a settled fact ({denial.severity}): {denial.description}")
    return facts


async def extract_facts(studio: Studio, name: str, text: str) -> list[NewFact] | None:
    """Return the facts that a text states; `None` if the model cannot tell them."""
    try:
        found = await studio.run.ask(roles.MASTER, "extract_facts", returns=NewFacts, name=name, output=text)
    except StepFailedError as error:
        studio.run.warn(f"No facts were taken from the work of the {name}: {error}")
        return None
    return found.facts
