"""What the rehearsal makes of real topics: distinct ideas, differing scores, a critique of just these."""

from __future__ import annotations

import pytest

import podium
from podium.engine.log import Store
from podium.models.sample_values import LABEL
from tests.workflows.scripted import BARE

TOPICS = [
    "How can our small town get more people to cycle to work?",
    "Names for a bakery",
    "A birthday party for 40 guests without a car",
    "Wie wird ein Garten im Schatten schön?",
]


@pytest.mark.parametrize("topic", TOPICS)
async def test_a_topic_becomes_distinct_ideas_about_it_with_differing_scores(
    store: Store, topic: str
) -> None:
    options = {**BARE, "preset": "full"}
    result = await podium.run("council", topic, model="rehearsal", store=store, options=options)
    assert (result.status, result.rehearsal, result.usage.calls) == ("completed", True, 25)
    ideas = result.output["ideas"]
    titles = [idea["title"] for idea in ideas]
    assert len(set(titles)) == len(titles) >= 9
    words = {word.lower() for word in topic.strip("?").split() if len(word) > 2}
    assert all(any(word in idea["title"].lower() for word in words) for idea in ideas)
    assert len({idea["score"] for idea in ideas}) >= len(ideas) // 2
    assert all(LABEL in idea["description"] for idea in ideas)
    assert any(idea["refines"] for idea in ideas)
    final = result.output["final_idea"]
    assert final["score"] == max(idea["score"] for idea in ideas)


async def test_the_critique_refers_to_the_ideas(store: Store) -> None:
    result = await podium.run(
        "council", TOPICS[0], model="rehearsal", store=store, options={**BARE, "preset": "extended"}
    )
    critique = next(m["content"] for m in result.output["messages"] if m["type"] == "critic")
    first_round = [idea for idea in result.output["ideas"] if idea["round"] == 1]
    assert all(f"{idea['id']} ({idea['title']})" in critique for idea in first_round)


@pytest.mark.parametrize(("preset", "calls"), [("standard", 10), ("extended", 20), ("full", 29)])
async def test_a_rehearsal_needs_no_repair(store: Store, preset: str, calls: int) -> None:
    result = await podium.run(
        "council", TOPICS[1], model="rehearsal", store=store, options={"preset": preset}
    )
    assert result.usage.calls == calls
    assert [warning for warning in result.warnings if "threshold" not in warning] == []


async def test_different_topics_are_answered_differently(store: Store) -> None:
    winners: set[str] = set()
    for topic in TOPICS:
        result = await podium.run("council", topic, model="rehearsal", store=store)
        winners.add(result.output["final_idea"]["title"])
    assert len(winners) == len(TOPICS)


async def test_a_rehearsal_with_a_folder_uses_it(
    store: Store, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("notes")
    (folder / "prices.txt").write_text("tea 3")
    options = {"preset": "extended", "files": str(folder)}
    result = await podium.run("council", TOPICS[1], model="rehearsal", store=store, options=options)
    brief = next(m["content"] for m in result.output["messages"] if m["type"] == "researcher")
    assert "Looked up with: list_files" in brief
    assert "prices.txt was there to be read. (prices.txt)" in brief


async def test_a_very_large_minimum_is_met_as_far_as_one_ask_goes(store: Store) -> None:
    options = {**BARE, "min_ideas": 50}
    result = await podium.run("council", TOPICS[1], model="rehearsal", store=store, options=options)
    assert len(result.output["ideas"]) == 40
    assert result.status == "completed"


async def test_a_rehearsal_shows_revisions_settled_points_and_a_document(store: Store) -> None:
    result = await podium.run(
        "council", TOPICS[0], model="rehearsal", store=store, options={"preset": "extended"}
    )
    draft = result.output["ideas"][0]
    assert (draft["title"], draft["origin"], draft["round"]) == ("Direct draft", "draft", 0)
    first = next(idea for idea in result.output["ideas"] if idea["version"] > 1)
    assert (first["version"], first["history"][1]["given_up"]) == (2, "the start everywhere at once")
    assert result.output["open_points"]
    assert result.output["settled_points"]
    assert "### What it takes" in result.output["deliverable"]
    assert result.output["recommendation"]["idea"] == result.output["final_idea"]["id"]
    kickoff = result.output["messages"][0]["content"]
    assert "- Critic: " in kickoff
    assert "Moderator" not in kickoff, "it needs no focus"
