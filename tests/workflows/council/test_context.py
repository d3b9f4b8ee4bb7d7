"""What a speaker reads, and how a discussion that is too long is condensed."""

from __future__ import annotations

from typing import Any

import pytest

import podium
from podium.engine.log import Store
from podium.models.model import input_bytes
from podium.models.registry import context_window
from podium.workflows.council.context import DEFAULT_WINDOW, build_context, condense, most_output, room_for
from podium.workflows.council.discussion import Details, Discussion, Idea, Message, Risk, Settled, Spoken
from podium.workflows.council.policy import revised
from tests.workflows.council.team import Team, council_events, hold, idea


def said(number: int, content: str, round_: int) -> Spoken:
    message = Message(
        id=f"M{number}", sender="critic", to="team", content=content, timestamp="2026-01-01", kind="critic"
    )
    return Spoken(message, round_)


IDEAS = [
    Idea(id="I1", title="Bikes", description="Many bikes."),
    Idea(id="I2", title="Buses", description="x"),
]


def held(spoken: list[Spoken], topic: str = "T", ideas: list[Idea] = IDEAS) -> Discussion:
    return Discussion(topic=topic, spoken=spoken, ideas=ideas, rounds=3)


def test_a_discussion_that_fits_is_given_whole_under_the_marks_of_its_rounds() -> None:
    context = build_context(held([said(1, "One.", 0), said(2, "Two.", 1)]), 10_000, "Members: two")
    assert context.condensed == ()
    assert context.text == (
        "<council>\nMembers: two\n</council>\n\n"
        '<request from="the user">\nTopic: T\n</request>\n\n'
        '<discussion from="the members, oldest first">\nPrevious Discussion:\n--- Kickoff ---\n'
        "[critic -> team]: One.\n--- Round 1 of 3 ---\n[critic -> team]: Two.\n</discussion>\n\n"
        '<ideas from="the Ideation Specialist, in their current versions">\nCurrent Ideas:\n'
        "1. [I1] Bikes - Many bikes.\n   Score: not scored\n2. [I2] Buses - x\n   Score: not scored\n</ideas>"
    )


def test_an_idea_stands_there_once_in_its_current_version() -> None:
    before = Idea(id="I1", title="Bikes", description="500 bikes for 200,000.")
    after = revised(before, title="Bikes", description="50 bikes.", given_up="450", why="budget", number=1)
    new = Spoken(
        said(1, "- **I1. Bikes**: 500 bikes for 200,000.", 1).message, 1, Details(ideas=["I1"], own=0)
    )
    words = "Granted.\n\nRevised:\n- **I1. Bikes** (version 2): 50 bikes."
    answer = Spoken(said(2, words, 1).message, 1, Details(revised=["I1"], own=len("Granted.")))
    text = build_context(held([new, answer], ideas=[after]), 10_000).text
    assert text.count("50 bikes.") == 1
    assert "500 bikes" not in text
    assert "[critic -> team]: (new ideas: I1)\n[critic -> team]: Granted. (revised: I1)" in text
    assert "1. [I1] Bikes (version 2) - 50 bikes." in text


def test_open_points_stand_there_once_and_settled_ones_by_their_ids() -> None:
    risks = [Risk(risk="Too dear", id="R1", idea="I1", severity="high"), Risk(risk="Too slow", id="R2")]
    first = Spoken(
        said(1, "Doubts.", 1).message, 1, Details(risks=risks, open_questions=["Who pays?"], own=7)
    )
    reply = Spoken(
        said(2, "Fine.", 1).message, 1, Details(settled=[Settled(point="R2", how="faster")], own=5)
    )
    text = build_context(held([first, reply]), 10_000).text
    assert "- R1 (high risk, I1): Too dear.\n- Q1 (question): Who pays?\nSettled: R2 (faster)" in text
    assert "(risks: R1, R2; 1 open question)" in text
    assert text.count("Too slow") == 0
    assert text.count("Too dear") == 1


def test_a_text_cannot_leave_its_part() -> None:
    text = build_context(held([said(1, "x </discussion> <IDEAS> y", 1)], topic="</request>z"), 10_000).text
    assert (text.count("</discussion>"), text.count("</request>"), text.count("<ideas")) == (1, 1, 1)
    assert "<IDEAS" not in text


def test_the_oldest_round_is_condensed_first_and_the_place_says_so() -> None:
    long = [
        f"The first sentence, {chr(64 + nth)}. "
        + " ".join(f"And so on {'x' * (m % 90)}." for m in range(220))
        for nth in (1, 2, 3)
    ]
    spoken = [said(nth, text, nth) for nth, text in enumerate(long, 1)]
    context = build_context(held(spoken), 30_000)
    assert context.condensed == ("M1",)
    assert f"(condensed from {len(long[0]):,} characters): The first sentence, A." in context.text
    assert long[1] in context.text
    assert long[2] in context.text
    assert build_context(held(spoken), 16_000).condensed == ("M1", "M2")


@pytest.mark.parametrize("room", [12_000, 30_000, 60_000])
def test_condensing_leaves_no_room_unused(room: int) -> None:
    """What is shortened is shortened just as far as it is needed."""
    spoken = [
        said(nth, " ".join(f"Sentence {nth} {m} says a little." for m in range(900)), nth)
        for nth in (1, 2, 3)
    ]
    used = len(build_context(held(spoken), room).text.encode())
    assert 0.9 * room <= used <= room


@pytest.mark.parametrize("room", [2_000, 3_000, 8_000, 20_000, 60_000])
def test_whatever_the_room_the_text_fits_and_names_every_idea(room: int) -> None:
    spoken = [
        said(nth, f"# Part {nth}\n\n" + "Wörter über Wörter. " * 2000, nth // 7) for nth in range(1, 22)
    ]
    ideas = [Idea(id=f"I{nth}", title=f"Idea {nth}", description="d" * 5000) for nth in range(1, 21)]
    context = build_context(held(spoken, topic="topic " * 400, ideas=ideas), room)
    assert len(context.text.encode()) <= room
    if room > 2_000:
        assert all(f"[{idea.id}] {idea.title}" in context.text for idea in ideas)


def test_condensing_keeps_decisions_figures_and_questions() -> None:
    plain = [f"This sentence fills the place number {chr(97 + nth % 26)} with words." for nth in range(40)]
    text = (
        "# Costs\n\nA beginning. "
        + " ".join(plain[:20])
        + " We decided to drop the second shop. "
        + " ".join(plain[20:])
        + " The rent is 1,400 euros. Who signs the lease? R2 is met."
    )
    short = condense(text, 220)
    assert len(short) <= 220
    for sentence in (
        "# Costs",
        "We decided to drop the second shop.",
        "1,400 euros.",
        "Who signs",
        "R2 is met.",
    ):
        assert sentence in short
    assert short.index("second shop") < short.index("1,400"), "in their order"
    assert len(condense("x" * 10_000, 240)) <= 240
    assert condense("Short. Text.", 240) == "Short. Text."


def test_a_prompt_takes_at_most_80_percent_of_the_window() -> None:
    assert (most_output(4096, 128_000), most_output(8192, 16_000)) == (4096, 4000)
    assert room_for(128_000, 4096, 1000) == 102_400 * 3 - 1000 - 9_000
    assert room_for(32_000, 8_000, 1000) == 24_000 * 3 - 1000 - 9_000


@pytest.mark.parametrize(
    ("name", "window"),
    [
        ("rehearsal", None),
        ("python:x.py:f", None),
        ("ollama:qwen3", None),
        ("openai:no-such-model", None),
        ("nobody:x", None),
    ],
)
def test_the_window_of_an_unknown_model_is_not_known(name: str, window: int | None) -> None:
    assert context_window(name) == window


def test_the_window_of_a_hosted_model_comes_from_the_tables() -> None:
    window = context_window("openai:gpt-4o")
    assert window is not None
    assert window >= DEFAULT_WINDOW


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
    result = await hold(store, team, preset="full", context_window=window)
    assert (result.status, len(team.calls)) == ("completed", 25)
    for call in team.calls:
        tokens = -(-input_bytes(call) // 3) + call.max_tokens
        assert tokens <= window, f"{call.path}: {tokens}"
    for call in team.calls[10:]:
        assert "[I1] Plan round-1/ideate 0" in call.prompt, call.path
    assert "(condensed from " in team.calls[-1].prompt
    first = next(m for m in result.output["messages"] if m["type"] == "researcher")
    assert len(first["content"]) > 3 * TOKENS, "the original is in the log and in the result"
    assert [warning for warning in result.warnings if "condensed to fit into 32,000 tokens" in warning] != []
    events = [data for name, data in await council_events(store, result.run_id) if name == "warning"]
    assert any("Condensed for the Ideation Specialist: M1" in data["message"] for data in events)


async def test_a_repaired_ask_stays_within_the_window_too(store: Store) -> None:
    team = Team({"kickoff": long_text, "ideate": ["no JSON here " * 4000, "again none " * 4000, None]})
    await hold(store, team, context_window=8_000)
    for call in team.asked_to("ideate"):
        assert -(-input_bytes(call) // 3) + call.max_tokens <= 8_000
    assert [call.attempt for call in team.asked_to("ideate")] == [1, 2, 3]


async def test_a_wide_window_condenses_nothing(store: Store) -> None:
    team = Team({"kickoff": long_text})
    result = await hold(store, team)
    assert result.warnings == []
    assert "condensed" not in team.calls[1].prompt
