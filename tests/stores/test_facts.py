"""The contract of a store for what projects know."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from podium.engine.events import Charge
from podium.engine.log import Store
from podium.engine.store_parts import Fact, FactChange, FactUpdate

TOLD = FactChange(action="imported", at="t0", by="test")
EDITED = FactChange(action="edited", at="t1", by="test", before={"value": "green"}, after={"value": "blue"})


def a_fact(number: int = 1, **more: Any) -> Fact:
    fields: dict[str, Any] = {
        "id": f"f{number}",
        "project": "p",
        "subject": f"Subject {number}",
        "predicate": "eye colour",
        "value": "green",
        "status": "accepted",
        "created_at": "c",
        "updated_at": "u0",
    }
    return Fact(**{**fields, **more})


async def ids_of(store: Store, *terms: str, **more: Any) -> list[str]:
    return [fact.id for fact in await store.match_facts("p", terms, **more)]


async def test_a_fact_comes_back_as_it_was_reported(store: Store, other: Store) -> None:
    fact = a_fact(kind="character", source_run="run-1", quote='She said: "green" — 緑\n', status="proposed")
    assert await store.add_facts([fact], TOLD) == [fact]
    assert await other.list_facts("p") == [fact]


async def test_an_id_is_taken_once_in_each_project(store: Store) -> None:
    first, again, elsewhere = a_fact(), a_fact(value="blue"), a_fact(project="q")
    assert await store.add_facts([first, again], TOLD) == [first]
    assert await store.add_facts([again, elsewhere], TOLD) == [elsewhere]
    assert [fact.value for fact in await store.list_facts()] == ["green", "green"]


async def test_facts_are_listed_in_the_order_in_which_they_were_reported(store: Store) -> None:
    await store.add_facts([a_fact(number) for number in range(2500)], TOLD)
    facts = await store.list_facts("p")
    assert [fact.id for fact in facts] == [f"f{number}" for number in range(2500)]
    assert [fact.id for fact in await store.list_facts("p", limit=2)] == ["f0", "f1"]


async def test_a_list_is_narrowed_by_what_is_given(store: Store) -> None:
    await store.add_facts(
        [a_fact(1, status="proposed", source_run="r1"), a_fact(2, source_run="r1"), a_fact(3, project="q")],
        TOLD,
    )
    assert [fact.id for fact in await store.list_facts("p", status=("proposed",))] == ["f1"]
    assert [fact.id for fact in await store.list_facts(source_run="r1")] == ["f1", "f2"]
    assert [fact.id for fact in await store.list_facts("q", ids=["f1", "f3"])] == ["f3"]


async def test_words_are_found_in_any_form_in_every_part(store: Store) -> None:
    await store.add_facts(
        [a_fact(1, subject="The Lighthouses"), a_fact(2, value="walking"), a_fact(3, quote="a lonely pier")],
        TOLD,
    )
    assert await ids_of(store, "lighthouse") == ["f1"]
    assert await ids_of(store, "walks") == ["f2"]
    assert await ids_of(store, "pier") == ["f3"]
    assert await ids_of(store, "nothing") == []
    assert await ids_of(store) == []


async def test_a_subject_weighs_more_than_a_quote_and_limits_hold(store: Store) -> None:
    await store.add_facts([a_fact(1, quote="the tower"), a_fact(2, subject="Tower")], TOLD)
    assert await ids_of(store, "tower") == ["f2", "f1"]
    assert await ids_of(store, "tower", limit=1) == ["f2"]


async def test_matches_keep_to_their_project_and_status(store: Store) -> None:
    await store.add_facts([a_fact(1), a_fact(2, project="q"), a_fact(3, status="discarded")], TOLD)
    assert await ids_of(store, "green", status=("accepted",)) == ["f1"]
    assert await ids_of(store, "green") == ["f1", "f3"]


async def test_a_change_is_made_once_and_remembered(store: Store) -> None:
    before = a_fact()
    await store.add_facts([before], TOLD)
    update = FactUpdate(msgspec.structs.replace(before, value="blue"), EDITED)
    assert await store.change_facts([update], "u1") == ["f1"]
    assert await store.change_facts([update], "u2") == [], "it was read before the change"
    (now,) = await store.list_facts("p")
    assert (now.value, now.created_at, now.updated_at) == ("blue", "c", "u1")
    assert await ids_of(store, "blue") == ["f1"]
    assert await ids_of(store, "green") == []
    history = await store.fact_history("p", "f1")
    assert [change.action for change in history] == ["imported", "edited"]
    assert (history[1].before, history[1].after) == ({"value": "green"}, {"value": "blue"})


async def test_of_two_who_change_at_once_one_wins(store: Store, other: Store) -> None:
    await store.add_facts([a_fact()], TOLD)
    updates = [
        FactUpdate(msgspec.structs.replace(a_fact(), value=value), EDITED) for value in ("blue", "brown")
    ]
    changes = await asyncio.gather(
        store.change_facts(updates[:1], "u1"), other.change_facts(updates[1:], "u2")
    )
    assert sorted(map(len, changes)) == [0, 1]


async def test_a_fact_that_is_gone_is_not_changed(store: Store) -> None:
    assert await store.change_facts([FactUpdate(a_fact(), EDITED)], "u1") == []
    assert await store.change_facts([], "u1") == []
    assert await store.list_facts() == []


async def test_what_is_forgotten_is_gone_with_all_that_hangs_on_it(store: Store) -> None:
    await store.add_facts([a_fact(1), a_fact(2), a_fact(1, project="q")], TOLD)
    await store.put_vectors("p", "m", {"f1": b"v"}, Charge(0.5, 10, 0, 1))
    assert await store.forget_facts("p", ["f1", "unknown"]) == 1
    assert await ids_of(store, "green") == ["f2"]
    assert await store.fact_history("p", "f1") == []
    assert await store.get_vectors("p", "m") == {}
    assert await store.forget_facts("p") == 1
    assert await store.forget_facts("p") == 0
    assert [share.project for share in await store.list_projects()] == ["q"]


async def test_projects_are_counted_by_status(store: Store) -> None:
    facts = [a_fact(1), a_fact(2, status="proposed", updated_at="u9"), a_fact(3, status="discarded")]
    await store.add_facts([*facts, a_fact(4, project="a", status="proposed")], TOLD)
    first, second = await store.list_projects()
    assert (first.project, first.accepted, first.proposed) == ("a", 0, 1)
    assert (second.accepted, second.proposed, second.discarded, second.updated_at) == (1, 1, 1, "u9")


async def test_a_revision_grows_with_each_change_and_never_comes_back(store: Store, other: Store) -> None:
    seen = [await store.project_revision("p")]
    assert seen == [0]

    async def look() -> None:
        seen.append(await other.project_revision("p"))

    await store.add_facts([a_fact()], TOLD)
    await look()
    await store.change_facts([FactUpdate(a_fact(), EDITED)], "u1")
    await look()
    await store.put_vectors("p", "m", {"f1": b"v"})
    await look()
    await store.forget_facts("p")
    await store.add_facts([a_fact()], TOLD)
    await look()
    assert len(set(seen)) == len(seen)
    await store.add_facts([a_fact()], TOLD)
    assert await other.project_revision("p") == seen[-1], "nothing was new"


async def test_vectors_are_kept_by_model_until_their_fact_changes(store: Store) -> None:
    await store.add_facts([a_fact(1), a_fact(2)], TOLD)
    await store.put_vectors("p", "m", {"f1": b"one", "f2": b"two"}, Charge(0.25, 10, 0, 1))
    await store.put_vectors("p", "other", {"f1": b"else"}, Charge(0.25, 5, 0, 1, 1))
    assert await store.get_vectors("p", "m") == {"f1": b"one", "f2": b"two"}
    assert await store.get_vectors("p", "m", ids=["f2", "f9"]) == {"f2": b"two"}
    assert await store.get_vectors("p", "m", ids=[]) == {}
    await store.change_facts([FactUpdate(msgspec.structs.replace(a_fact(1), value="blue"), EDITED)], "u1")
    assert await store.get_vectors("p", "m") == {"f2": b"two"}
    (share,) = await store.list_projects()
    assert share.embedding == Charge(0.5, 15, 0, 2, 1)


async def test_a_new_status_keeps_the_vector(store: Store) -> None:
    await store.add_facts([a_fact(status="proposed")], TOLD)
    await store.put_vectors("p", "m", {"f1": b"one"})
    accepted = FactChange(action="accepted", before={"status": "proposed"}, after={"status": "accepted"})
    await store.change_facts([FactUpdate(a_fact(status="accepted"), accepted)], "u1")
    assert await store.get_vectors("p", "m") == {"f1": b"one"}


async def test_thousands_are_taken_at_once(store: Store) -> None:
    facts = [a_fact(number, value=f"value {number}") for number in range(3000)]
    assert len(await store.add_facts(facts, TOLD)) == 3000
    updates = [FactUpdate(msgspec.structs.replace(fact, status="discarded"), EDITED) for fact in facts]
    assert len(await store.change_facts(updates, "u1")) == 3000
    assert await ids_of(store, "2999") == ["f2999"]
    assert await store.forget_facts("p", [fact.id for fact in facts[:2999]]) == 2999
