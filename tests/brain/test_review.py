"""What a review does: decisions, what gives way to them, and what others did meanwhile."""

from __future__ import annotations

from podium.brain import Brain
from podium.brain.review import Review
from tests.brain.facts import add_facts, fact


async def waiting(brain: Brain, *texts: str) -> Review:
    await brain.propose("run-2", [fact(text) for text in texts])
    return Review(brain, by="Ada")


async def values(brain: Brain, status: str = "accepted") -> list[str]:
    return [fact.value for fact in await brain.facts((status,))]


async def test_accepting_all_leaves_what_contradicts_canon(brain: Brain) -> None:
    await add_facts(brain, "Elena | eyes | green")
    review = await waiting(brain, "Elena | eyes | blue", "Elena | age | 34")
    await review.accept_all(await brain.facts(("proposed",)))
    assert await values(brain) == ["green", "34"]
    assert await values(brain, "proposed") == ["blue"]
    assert len(review.outcome.conflicting) == 1


async def test_of_two_new_facts_that_contradict_each_other_one_is_accepted(brain: Brain) -> None:
    review = await waiting(brain, "Elena | eyes | blue", "Elena | eyes | brown")
    await review.accept_all(await brain.facts(("proposed",)))
    assert await values(brain) == ["blue"]


async def test_a_fact_takes_the_place_of_what_it_contradicts(brain: Brain) -> None:
    (old,) = await add_facts(brain, "Elena | eyes | green")
    review = await waiting(brain, "Elena | eyes | blue")
    (new,) = await brain.facts(("proposed",))
    assert await review.replace(new)
    assert await values(brain) == ["blue"]
    last = (await brain.history(old.id))[-1]
    assert (last.action, last.by, last.after["replaced_by"]) == ("replaced", "Ada", new.id)
    assert await brain.contradictions([fact("Elena | eyes | blue")]) == []


async def test_an_edit_is_kept_and_can_be_accepted(brain: Brain) -> None:
    review = await waiting(brain, "Elena | eyes | blue")
    (read,) = await brain.facts(("proposed",))
    after = await review.edit(read, value="grey")
    assert after is not None
    assert await review.accept(after)
    assert await values(brain) == ["grey"]
    assert [change.action for change in await brain.history(read.id)] == ["proposed", "edited", "accepted"]


async def test_an_edit_that_changes_nothing_is_no_edit(brain: Brain) -> None:
    review = await waiting(brain, "Elena | eyes | blue")
    (read,) = await brain.facts(("proposed",))
    assert await review.edit(read, value="blue") == read
    assert review.outcome.edited == []


async def test_what_somebody_else_has_decided_is_left_alone(brain: Brain) -> None:
    review = await waiting(brain, "Elena | eyes | blue")
    (read,) = await brain.facts(("proposed",))
    await Review(brain, by="Ben").discard([read])
    assert not await review.accept(read)
    assert await review.edit(read, value="grey") is None
    assert review.outcome.changed_meanwhile == [read.id, read.id]
    assert await values(brain, "discarded") == ["blue"]


async def test_a_decision_can_be_taken_back(brain: Brain) -> None:
    (stored,) = await add_facts(brain, "Elena | eyes | green")
    await Review(brain, by="Ada").discard([stored])
    assert await brain.search("Elena") == []
