"""The brain of a project: search, names, proposals, and what is kept of them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from podium.brain import Brain, Fact
from podium.brain.brain import accepted, discarded, edited
from podium.engine.log import Store
from podium.errors import UsageError
from podium.settings import Settings
from tests.brain.facts import add_facts, fact

CAST = (
    "Elena Marsh | eye colour | green",
    "Elena Marsh | nickname | Ellie",
    "Tomas Reed | occupation | radio operator",
    "Marcus | status | dead",
)


async def subjects(brain: Brain, text: str, limit: int = 20) -> list[str]:
    return [fact.subject for fact in await brain.search(text, limit)]


def everything_in(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.glob("brain.sqlite*") if file.is_file())


# ── search ──


@pytest.mark.parametrize("text", ["Elena Marsh", "elena", "ELLIE", "Ele", "Where does Ellie sleep tonight?"])
async def test_facts_are_found_by_name_alias_and_beginning(brain: Brain, text: str) -> None:
    await add_facts(brain, *CAST)
    assert (await subjects(brain, text))[:2] == ["Elena Marsh", "Elena Marsh"]


async def test_facts_are_found_by_their_words_in_any_form(brain: Brain) -> None:
    await add_facts(brain, *CAST)
    assert await subjects(brain, "somebody operates radios") == ["Tomas Reed"]


async def test_facts_are_found_by_the_words_they_were_taken_from(brain: Brain) -> None:
    await add_facts(brain, "Elena | fears | deep water", quote="She never went near the pier again.")
    assert await subjects(brain, "the pier") == ["Elena"]


async def test_accents_and_other_writings_are_found(brain: Brain) -> None:
    await add_facts(brain, "Café Noir | owner | Zoë", kind="place")
    await add_facts(brain, "燈塔 | 位置 | 北海岸的懸崖", run="run-2", kind="place")
    assert await subjects(brain, "cafe noir") == ["Café Noir"]
    assert await subjects(brain, "懸崖") == ["燈塔"]


@pytest.mark.parametrize(
    "text", ['"', "AND OR NOT", "eyes*", "(", "subject:x", "🎬", "a" * 100_000, "' OR 1=1 --"]
)
async def test_whatever_is_typed_is_searched_for_and_never_an_error(brain: Brain, text: str) -> None:
    await add_facts(brain, *CAST)
    assert isinstance(await brain.search(text), list)


async def test_the_most_telling_facts_come_first_and_no_more_than_wanted(brain: Brain) -> None:
    await add_facts(brain, *(f"Extra {number} | eye colour | green" for number in range(30)), *CAST)
    names = await subjects(brain, "Elena Marsh and her green eyes", 5)
    assert len(names) == 5
    assert names[0] == "Elena Marsh"


async def test_an_empty_question_and_an_empty_brain_find_nothing(brain: Brain) -> None:
    assert await brain.search("Elena") == []
    await add_facts(brain, *CAST)
    assert await brain.search("  ") == []


async def test_only_what_was_accepted_is_canon(brain: Brain) -> None:
    await brain.propose("run-1", [fact(text) for text in CAST])
    assert await brain.search("Elena") == []
    assert await brain.names() == []
    assert await brain.contradictions([fact("Elena Marsh | eye colour | blue")]) == []
    assert len(await brain.search("Elena", status=("proposed",))) == 2


# ── names ──


async def test_names_are_those_of_characters_places_and_objects_with_their_other_forms(brain: Brain) -> None:
    await add_facts(brain, *CAST, "Captain Hale | age | 60")
    await add_facts(brain, "The Lighthouse | height | 40 m", run="run-2", kind="place")
    await add_facts(brain, "magic | price | a memory", run="run-3", kind="rule")
    names = await brain.names()
    assert {"Elena Marsh", "Ellie", "Elena", "Marsh", "Tomas", "Marcus", "The Lighthouse", "Hale"} <= set(
        names
    )
    assert not {"magic", "Captain", "The"} & set(names)
    assert await brain.names(kinds=("place",)) == ["The Lighthouse"]


async def test_a_part_of_a_name_that_two_bear_is_not_listed(brain: Brain) -> None:
    await add_facts(brain, "Elena Marsh | age | 34", "Elena Reed | age | 35")
    assert "Elena" not in await brain.names()


# ── proposals ──


async def test_a_proposal_keeps_its_run_and_quote(brain: Brain) -> None:
    facts = [fact("Elena | eyes | green", quote="her green eyes", source_run="forged")]
    assert [await brain.propose("run-9", facts), await brain.propose("run-9", facts)] == [1, 1]
    (proposal,) = await brain.facts(("proposed",))
    assert (proposal.source_run, proposal.quote, proposal.project) == (
        "run-9",
        "her green eyes",
        "lighthouse",
    )
    (first,) = await brain.history(proposal.id)
    assert (first.action, first.by) == ("proposed", "run run-9")


async def test_what_is_proposed_again_is_there_once_and_stays_decided(brain: Brain) -> None:
    for _ in range(2):
        await brain.propose("run-1", [fact("Elena | eyes | green"), fact("Elena | eyes | green")])
    (proposal,) = await brain.facts(("proposed",))
    await brain.change([discarded(proposal, "me")])
    await brain.propose("run-1", [fact("Elena | eyes | green")])
    assert [known.status for known in await brain.facts(())] == ["discarded"]


async def test_what_canon_says_already_is_not_proposed(brain: Brain) -> None:
    await add_facts(brain, *CAST)
    same = [fact("elena marsh | Eye colour | Green"), fact("Ellie | eyeColor | green")]
    await brain.propose("run-2", [*same, fact("Elena Marsh | age | 34")])
    assert [proposal.predicate for proposal in await brain.facts(("proposed",))] == ["age"]


async def test_what_says_nothing_is_left_out_and_what_says_too_much_is_cut(brain: Brain) -> None:
    await brain.propose(
        "r", [fact("Elena | eyes |  "), fact(" | eyes | green"), fact(f"E | x | {'y' * 9000}")]
    )
    (proposal,) = await brain.facts(("proposed",))
    assert len(proposal.value) == 4000


async def test_keys_never_reach_the_store(store: Store, tmp_path: Path, brain: Brain) -> None:
    secret = "sk-" + "a1B2c3D4" * 4
    await add_facts(brain, f"vault | code | {secret}", quote=f"the code is {secret}")
    (stored,) = await brain.facts()
    await brain.change([edited(stored, "me", subject=f"safe {secret}")])
    assert (await brain.facts())[0].value == "[redacted]"
    await store.close()
    assert secret.encode() not in everything_in(tmp_path)


async def test_lone_surrogates_are_no_reason_to_fail(brain: Brain) -> None:
    await add_facts(brain, "Elena | says | a \ud800 b")
    assert len(await brain.facts()) == 1


async def test_projects_know_nothing_of_each_other(store: Store, brain: Brain) -> None:
    await add_facts(brain, *CAST)
    other = await Brain.open(store, "harbour", settings=Settings())
    assert await other.search("Elena") == []
    assert await other.contradictions([fact("Elena Marsh | eye colour | blue")]) == []


@pytest.mark.parametrize("name", ["", "  ", "x" * 101, "a\x00b"])
async def test_a_project_needs_a_name(store: Store, name: str) -> None:
    with pytest.raises(UsageError, match="not the name of a project"):
        await Brain.open(store, name, settings=Settings())


# ── changes ──


async def test_a_change_by_another_is_seen(store: Store, brain: Brain) -> None:
    await add_facts(brain, *CAST)
    other = await Brain.open(store, "lighthouse", settings=Settings())
    assert "Ida" not in await other.names()
    await add_facts(brain, "Ida | age | 70", run="run-2")
    assert "Ida" in await other.names()


async def test_a_change_of_what_somebody_else_has_changed_is_refused(brain: Brain) -> None:
    await brain.propose("run-1", [fact("Elena | eyes | green")])
    (read,) = await brain.facts(("proposed",))
    assert await brain.change([edited(read, "Ada", value="blue")]) == [read.id]
    assert await brain.change([accepted(read, "Ben")]) == []
    (now,) = await brain.facts(())
    assert (now.value, now.status) == ("blue", "proposed")


async def test_an_edit_shows_who_replaced_what(brain: Brain) -> None:
    (stored,) = await add_facts(brain, "Elena | eyes | green")
    await brain.change([edited(stored, "Ada", value="blue")])
    last = (await brain.history(stored.id))[-1]
    assert (last.by, last.action, last.before, last.after) == (
        "Ada",
        "edited",
        {"value": "green"},
        {"value": "blue"},
    )
    assert [known.value for known in await brain.search("blue")] == ["blue"]
    assert await brain.search("green") == []


async def test_what_is_forgotten_leaves_nothing(brain: Brain, store: Store) -> None:
    first, *_ = await add_facts(brain, *CAST)
    assert await brain.forget([first.id]) == 1
    assert first.id not in {known.id for known in await brain.search("Elena green eyes")}
    assert await brain.history(first.id) == []
    assert await brain.forget() == len(CAST) - 1
    assert await store.list_projects() == []


async def test_many_at_once_do_not_get_in_each_others_way(store: Store) -> None:
    async def work(number: int) -> None:
        brain = await Brain.open(store, f"p{number % 3}", settings=Settings())
        await brain.propose(f"run-{number}", [Fact(subject=f"S{number}", predicate="is", value="here")])

    await asyncio.gather(*(work(number) for number in range(30)))
    assert sum(share.proposed for share in await store.list_projects()) == 30
