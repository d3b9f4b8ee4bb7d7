"""What departments say and a project denies: facts are taken from their texts, and rules hold them against
everything that is settled."""

from __future__ import annotations

from podium.engine.branch import Failed
from podium.workflows.studio.canon import CANON, Canon, Denial
from podium.workflows.studio.remembering import extract_facts
from podium.workflows.studio.working import Conflict, Crossing

GONE = "its new text no longer says so."


async def held_against_canon(crossing: Crossing) -> list[Conflict]:
    """Read every text that is new since the last time; returns the conflicts that are new, or there again.
    Where a budget has ended nothing is read: the departments are not at their end."""
    canon = crossing.studio.canon
    if canon is None or any(one.status == "unfinished" for one in crossing.reports.values()):
        return []
    await _read(crossing, canon)
    return [one for key in crossing.working for one in _compared(crossing, key)]


async def _read(crossing: Crossing, canon: Canon) -> None:
    """Take the facts of texts that nobody has read yet, and what is settled against them."""
    studio = crossing.studio
    new = {key: one for key, one in crossing.working.items() if crossing.read.get(key) != one.output}
    if not new:
        return
    async with studio.run.branch("facts"):
        outcomes = await studio.run.gather(
            {key: extract_facts(studio, one.department_name, one.output) for key, one in new.items()}
        )
        for key, outcome in outcomes.items():
            if isinstance(outcome, Failed):
                raise outcome.error
            crossing.read[key], crossing.facts[key] = new[key].output, outcome.value or []
            crossing.denials[key] = (
                None
                if outcome.value is None
                else await studio.run.step(
                    "contradictions", canon.contradictions, outcome.value, key=key, returns=list[Denial]
                )
            )


def _compared(crossing: Crossing, key: str) -> list[Conflict]:
    """The conflicts of one department with what is settled, compared with those that are known of it. Where
    nobody could tell what a text states, what its head said counts."""
    denials = crossing.denials.get(key)
    if denials is None:
        return []
    known = {one.fact: one for one in crossing.conflicts if one.fact and key in one.departments}
    there = {one.fact: one for one in denials}
    for fact, one in known.items():
        if fact not in there and one.status != "resolved":
            crossing.resolve(one, key, GONE)
    found = [one for fact, one in known.items() if fact in there and crossing.reopen(one)]
    for fact, one in there.items():
        if fact not in known:
            made = Conflict("direct", one.severity, [key, CANON], one.description)
            made.fact, made.settled = fact, one.settled
            found.append(crossing.note(made))
    return found
