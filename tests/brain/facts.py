"""Facts in one line each, and canon made of them."""

from __future__ import annotations

from typing import Any

from podium.brain import Brain, Fact
from podium.brain.brain import accepted
from podium.brain.contradictions import Canon, Contradiction, find_contradictions


def fact(text: str, **more: Any) -> Fact:
    """`Elena | eye colour | green`; a character unless told otherwise."""
    subject, predicate, value = (part.strip() for part in text.split("|"))
    fields: dict[str, Any] = {"kind": "character", "subject": subject, "predicate": predicate, "value": value}
    return Fact(**fields | more)


def canon(*texts: str, **more: Any) -> Canon:
    facts = [fact(text, id=str(number), status="accepted", **more) for number, text in enumerate(texts)]
    return Canon(facts)


def clashes(known: str | Canon, new: str, **more: Any) -> list[Contradiction]:
    """What the rules find in one new fact."""
    return find_contradictions([fact(new, **more)], canon(known) if isinstance(known, str) else known)


async def add_facts(brain: Brain, *texts: str, run: str = "run-1", **more: Any) -> list[Fact]:
    """Propose facts and accept them."""
    await brain.propose(run, [fact(text, **more) for text in texts])
    waiting = await brain.facts(("proposed",), run)
    await brain.change([accepted(proposal, "test") for proposal in waiting])
    return await brain.facts()
