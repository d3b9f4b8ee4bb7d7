"""Review of proposed facts: a person's decisions, applied at once and recorded in their history."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from podium.brain.brain import Brain
from podium.brain.canon import Canon
from podium.brain.contradictions import Contradiction, find_contradictions
from podium.brain.editing import accepted, discarded, edited, replaced
from podium.engine.store_parts import Fact, FactUpdate


class ReviewResult(msgspec.Struct):
    """Ids of the facts that a review has processed so far."""

    accepted: list[str] = []
    discarded: list[str] = []
    edited: list[str] = []
    replaced: list[str] = []
    """Facts of canon that were replaced by an accepted fact."""
    conflicting: list[str] = []
    """Facts that were to be accepted with all others, but contradict canon: they are still proposed."""
    changed_meanwhile: list[str] = []
    """Facts that were changed elsewhere since they were read: nothing was done to them."""


class Review:
    """Decisions about facts of one project. Each is durable before the next one is made."""

    def __init__(self, brain: Brain, *, by: str) -> None:
        self.brain = brain
        self.outcome = ReviewResult()
        self._by = by

    async def clashes(self, fact: Fact) -> list[Contradiction]:
        return await self.brain.contradictions([fact])

    async def accept(self, fact: Fact) -> bool:
        return await self._apply([fact], self.outcome.accepted, accept=True)

    async def accept_all(self, facts: Sequence[Fact]) -> None:
        """Accept all facts that contradict nothing, at once; the rest stay for individual decisions. The
        second of two new facts may contradict the first."""
        canon = Canon((await self.brain.canon()).facts)
        fitting: list[Fact] = []
        for fact in facts:
            if find_contradictions([fact], canon):
                self.outcome.conflicting.append(fact.id)
            else:
                canon.add(fact)
                fitting.append(fact)
        await self._apply(fitting, self.outcome.accepted, accept=True)

    async def discard(self, facts: Sequence[Fact]) -> None:
        await self._apply(facts, self.outcome.discarded, accept=False)

    async def edit(self, fact: Fact, **fields: str) -> Fact | None:
        """Change fields of a fact and return the new state; `None` if it was changed elsewhere meanwhile."""
        changed = {name: text for name, text in fields.items() if str(getattr(fact, name)) != text}
        if not changed:
            return fact
        if not await self._done([edited(fact, self._by, **changed)], self.outcome.edited):
            return None
        (after,) = await self.brain.facts((), ids=[fact.id])
        return after

    async def replace(self, fact: Fact) -> bool:
        """Accept a fact and discard the facts of canon that it contradicts."""
        given_way = {clash.canon.id: clash.canon for clash in await self.clashes(fact)}
        updates = [replaced(known, self._by, fact) for known in given_way.values()]
        done = await self.brain.change([accepted(fact, self._by), *updates])
        self.outcome.accepted += [fact.id] if fact.id in done else []
        self.outcome.replaced += [known for known in given_way if known in done]
        self.outcome.changed_meanwhile += [one for one in (fact.id, *given_way) if one not in done]
        return fact.id in done

    async def _apply(self, facts: Sequence[Fact], into: list[str], *, accept: bool) -> bool:
        decide = accepted if accept else discarded
        return await self._done([decide(fact, self._by) for fact in facts], into)

    async def _done(self, updates: Sequence[FactUpdate], into: list[str]) -> bool:
        done = await self.brain.change(updates)
        into += done
        missed = [update.fact.id for update in updates if update.fact.id not in done]
        self.outcome.changed_meanwhile += missed
        return not missed
