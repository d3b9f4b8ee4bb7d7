"""What a speaker reads, and how a discussion that is too long is condensed."""

from __future__ import annotations

from typing import Any

import pytest

import podium
from podium.engine.log import Store
from podium.models.model import input_bytes
from podium.models.window import context_window
from podium.workflows.council.context import DEFAULT_WINDOW, build_context, condense, most_output, room_for
from podium.workflows.council.discussion import Idea, Message, Spoken
from tests.workflows.council.team import Team, hold, idea, told


def said(number: int, content: str, round_: int) -> Spoken:
    message = Message(
        id=f"M{number}", sender="critic", to="team", content=content, timestamp="2026-01-01", kind="critic"
    )
    return Spoken(message, round_)


IDEAS = [
    Idea(id="I1", title="Bikes", description="Many bikes."),
    Idea(id="I2", title="Buses", description="x"),
]


def test_a_discussion_that_fits_is_given_whole() -> None:
    found = build_context("T", [said(1, "One.", 0), said(2, "Two.", 1)], IDEAS, 10_000)
    assert found.condensed == ()
    assert found.text == (
        "Topic: T\n\nPrevious Discussion:\n[critic -> team]: One.\n[critic -> team]: Two.\n\nCurrent Ideas:\n"
        "1. [I1] Bikes - Many bikes.\n   Score: not scored\n2. [I2] Buses - x\n   Score: not scored"
    )


def test_the_oldest_round_is_condensed_first_and_the_place_says_so() -> None:
    long = "The first sentence. " + "And so on. " * 1000
    spoken = [said(1, long, 1), said(2, long, 2), said(3, long, 3)]
    found = build_context("T", spoken, IDEAS, 30_000)
    assert found.condensed == ("M1",)
    assert "(condensed from 11,020 characters): The first sentence." in found.text
    assert found.text.count(long.strip()) == 2
    tight = build_context("T", spoken, IDEAS, 16_000)
    assert tight.condensed == ("M1", "M2", "M3") or tight.condensed == ("M1", "M2")


@pytest.mark.parametrize("room", [2_000, 3_000, 8_000, 20_000, 60_000])
def test_whatever_the_room_the_text_fits_and_names_every_idea(room: int) -> None:
    spoken = [
        said(nth, f"# Part {nth}\n\n" + "Wörter über Wörter. " * 2000, nth // 7) for nth in range(1, 22)
    ]
    ideas = [Idea(id=f"I{nth}", title=f"Idea {nth}", description="d" * 5000) for nth in range(1, 21)]
    found = build_context("topic " * 400, spoken, ideas, room)
    assert len(found.text.encode()) <= room
    if room > 2_000:
        assert all(f"[{one.id}] {one.title}" in found.text for one in ideas)


def test_condensing_keeps_headings_and_first_sentences() -> None:
    text = "# Costs\n\nIt is dear. Very dear indeed.\n\n- a point that matters. More of it.\n- another\n"
    assert condense(text, 200).splitlines() == [
        "# Costs",
        "It is dear.",
        "- a point that matters.",
        "- another",
    ]
    assert len(condense("x" * 10_000, 240)) <= 240


def test_a_reply_never_takes_more_than_a_quarter_of_the_window() -> None:
    assert (most_output(4096, 128_000), most_output(8192, 16_000)) == (4096, 4000)
    assert room_for(32_000, 4096, 1000) == (32_000 - 4096) * 3 - 1000 - 9_000


@pytest.mark.parametrize(
    ("name", "window"),
    [("rehearsal", None), ("python:x.py:f", None), ("ollama:qwen3", None), ("openai:no-such-model", None),
     ("nobody:x", None)],
)  # fmt: skip
def test_the_window_of_an_unknown_model_is_not_known(name: str, window: int | None) -> None:
    assert context_window(name) == window


def test_the_window_of_a_hosted_model_comes_from_the_tables() -> None:
    found = context_window("openai:gpt-4o")
    assert found is not None
    assert found >= DEFAULT_WINDOW


# ── in a run ──

TOKENS = 40_000


def long_text(call: podium.Call) -> str:
    """About 40,000 tokens."""
    return f"# {call.agent}, {call.path}\n\n" + "This goes on and on, and says little. " * (TOKENS * 4 // 38)


def long_data(call: podium.Call) -> dict[str, Any]:
    return {"text": long_text(call)}


def long_ideas(call: podium.Call) -> dict[str, Any]:
    return {"ideas": [idea(f"Plan {call.path} {nth}", "word " * TOKENS) for nth in range(5)]}


async def test_three_rounds_of_40_000_token_contributions_stay_within_32k_and_name_ideas_of_round_1(
    store: Store,
) -> None:
    window = 32_000
    script: dict[str, Any] = {
        **dict.fromkeys(("kickoff", "rebut", "synthesize"), long_text),
        **dict.fromkeys(("research", "critique", "implement"), long_data),
        "ideate": long_ideas,
    }
    team = Team(script)
    found = await hold(store, team, preset="full", context_window=window)
    assert (found.status, len(team.calls)) == ("completed", 25)
    for call in team.calls:
        tokens = -(-input_bytes(call) // 3) + call.max_tokens
        assert tokens <= window, f"{call.path}: {tokens}"
    for call in team.calls[10:]:
        assert "[I1] Plan round-1/ideate 0" in call.prompt, call.path
    assert "(condensed from " in team.calls[-1].prompt
    first = next(m for m in found.output["messages"] if m["type"] == "researcher")
    assert len(first["content"]) > 3 * TOKENS, "the original is in the log and in the result"
    assert [one for one in found.warnings if "condensed to fit into 32,000 tokens" in one] != []
    events = [data for name, data in await told(store, found.run_id) if name == "warning"]
    assert any("Condensed for the Ideation Specialist: M1" in data["message"] for data in events)


async def test_a_repaired_ask_stays_within_the_window_too(store: Store) -> None:
    team = Team({"kickoff": long_text, "ideate": ["no JSON here " * 4000, "again none " * 4000, None]})
    await hold(store, team, context_window=8_000)
    for call in team.asked_to("ideate"):
        assert -(-input_bytes(call) // 3) + call.max_tokens <= 8_000
    assert [call.attempt for call in team.asked_to("ideate")] == [1, 2, 3]


async def test_a_wide_window_condenses_nothing(store: Store) -> None:
    team = Team({"kickoff": long_text})
    found = await hold(store, team)
    assert found.warnings == []
    assert "condensed" not in team.calls[1].prompt
