"""Ideas that change, points that are settled, and the reason that is shown for the winner."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

import podium
from podium.engine.budget import Budget
from podium.engine.events import Event
from podium.engine.log import Store
from podium.report.data import facts_of
from podium.report.markdown import to_markdown
from podium.workflows import presentation_of
from podium.workflows.council import events
from podium.workflows.council.discussion import plain, points_of
from podium.workflows.council.report import CouncilPresentation
from podium.workflows.council.view import CouncilState
from tests.workflows.council.pages import artifact, seen
from tests.workflows.council.team import (
    Team,
    council_events,
    hold,
    idea,
    ideas,
    known_ids,
    recommendation,
    revision,
    scores,
    selection,
)

OLD, NEW = "A second shop for 80,000 euros.", "A market stall for 6,000 euros."
FIRST = {"ideas": [idea("Growth", OLD), idea("Boxes"), idea("Courses"), idea("Cakes")]}
REVISED = {
    "text": "Granted: the shop is too dear.",
    "revisions": [revision("I1", NEW, given_up="the second shop", why="80,000 is more than there is")],
}
WON = scores(I1=9, I2=5, I3=5, I4=5)


def won_by_the_first(call: podium.Call) -> dict[str, Any]:
    return scores(**{name: 9 if name == "I1" else 5 for name in known_ids(call)})


# ── revisions ──


async def test_a_rebuttal_changes_the_idea_and_the_winner_is_shown_as_it_is_now(store: Store) -> None:
    team = Team({"ideate": FIRST, "rebut": REVISED, "validate": WON})
    result = await hold(store, team, preset="extended", rounds=1)
    final = result.output["final_idea"]
    assert (final["id"], final["description"], final["version"]) == ("I1", NEW, 2)
    assert [(version["version"], version["description"]) for version in final["history"]] == [
        (1, OLD),
        (2, NEW),
    ]
    assert final["history"][1]["given_up"] == "the second shop"
    assert result.output["deliverable"].count("6,000") == 1
    assert "80,000" not in result.output["deliverable"]
    (event,) = [data for name, data in await council_events(store, result.run_id) if name == "idea_revised"]
    assert (event["id"], event["version"], event["description"], event["round"]) == ("I1", 2, NEW, 1)


async def test_later_speakers_read_only_the_current_version(store: Store) -> None:
    team = Team({"ideate": FIRST, "rebut": REVISED, "validate": WON})
    await hold(store, team, preset="extended", rounds=1)
    for task in ("validate", "select"):
        prompt = team.asked_to(task)[0].prompt
        assert prompt.count(NEW) == 1, task
        assert OLD not in prompt, task


async def test_a_later_round_may_revise_without_new_ideas(store: Store) -> None:
    later = {"ideas": [], "revisions": [revision("I2", "Boxes for 12 offices.", title="Office boxes")]}
    result = await hold(store, Team({"ideate": [FIRST, later]}), rounds=2)
    assert [idea["title"] for idea in result.output["ideas"]] == [
        "Growth",
        "Office boxes",
        "Courses",
        "Cakes",
    ]
    assert not any("said nothing" in warning for warning in result.warnings)


async def test_a_revision_of_an_idea_that_does_not_exist_is_a_warning(store: Store) -> None:
    bad = {"text": "x", "revisions": [revision("I77", "nothing")]}
    result = await hold(store, Team({"ideate": FIRST, "rebut": bad}), preset="extended", rounds=1)
    assert "The Ideation Specialist revised ideas that do not exist: I77." in result.warnings


async def test_report_and_terminal_show_the_current_version_and_keep_the_history(store: Store) -> None:
    team = Team({"ideate": FIRST, "rebut": REVISED, "validate": WON})
    run = await hold(store, team, preset="extended", rounds=1)
    shown, page = await seen(store, run)
    assert isinstance(shown, CouncilPresentation)
    assert plain(shown.fold.discussion.ideas) == run.output["ideas"]
    answer, record = page.split('class="answer"')[1].split("The record: how it was decided")
    assert NEW in answer
    assert OLD not in answer
    assert OLD in record, "the history"
    assert OLD not in (shown.deliverable(run.output) or "")
    lines = [
        line.what
        for row in await store.read(run.run_id)
        if (line := shown.own_line(row.to_event(run.run_id))) is not None
    ]
    assert "I1 Growth, version 2: 80,000 is more than there is" in lines
    assert "Ideation Specialist to Critic: Granted: the shop is too dear. (1 revised)" in lines


@pytest.mark.parametrize("calls", [8, 10, 15])
async def test_a_council_that_goes_on_after_its_budget_keeps_its_revisions(store: Store, calls: int) -> None:
    script = {"ideate": FIRST, "rebut": REVISED, "critique": [RISKS, REPLY], "validate": won_by_the_first}
    first = await hold(store, Team(script), preset="extended", budget=Budget(calls=calls))
    assert first.status == "partial"
    handle = await podium.resume(first.run_id, model=Team(script), store=store, budget=Budget(calls=90))
    run = await handle.result()
    shown, _ = await seen(store, run)
    assert isinstance(shown, CouncilPresentation)
    discussion = shown.fold.discussion
    assert run.status == "completed"
    assert run.output["ideas"][0]["version"] == 2
    assert plain(discussion.ideas) == run.output["ideas"]
    assert (
        plain([point for point in points_of(discussion.spoken) if not point.settled])
        == run.output["open_points"]
    )
    assert shown.deliverable(run.output) == run.output["deliverable"]


@pytest.mark.parametrize(("logged", "expected"), [("I1", ["I1"]), (None, []), (["I1", "I2"], ["I1", "I2"])])
def test_logs_of_earlier_releases_are_still_read(logged: Any, expected: list[str]) -> None:
    shown = CouncilState()
    added = events.IdeaAdded(id="I3", title="c", description="d", refines=logged, round=1)
    shown.apply(Event(1, "r", datetime.now(UTC), "", added.type, added))
    assert shown.discussion.ideas[0].refines == expected


async def test_an_idea_may_join_several(store: Store) -> None:
    joined = {"ideas": [idea("Stall with boxes", refines=["I1", "I2"]), idea("Old way", refines="I3")]}
    result = await hold(store, Team({"ideate": [FIRST, joined]}), rounds=2)
    assert [idea["refines"] for idea in result.output["ideas"][4:]] == [["I1", "I2"], ["I3"]]


# ── open points ──

RISKS = {
    "text": "Doubts.",
    "risks": [
        {"risk": "The rent is not counted", "idea": "I1", "severity": "high"},
        {"risk": "Staff is missing", "idea": "I1", "severity": "medium"},
    ],
    "open_questions": ["Who signs?"],
}
REPLY = {"text": "Better.", "settled": [{"point": "R1", "how": "a stall has no rent"}, "Q1"]}


async def test_settled_points_are_no_longer_listed(store: Store) -> None:
    team = Team({"ideate": FIRST, "critique": [RISKS, REPLY], "rebut": REVISED, "validate": WON})
    run = await hold(store, team, preset="extended", rounds=1)
    assert [(point["id"], point["text"]) for point in run.output["open_points"]] == [
        ("R2", "Staff is missing")
    ]
    assert [(point["id"], point["how"]) for point in run.output["settled_points"]] == [
        ("R1", "a stall has no rent"),
        ("Q1", ""),
    ]
    assert "Staff is missing" in run.output["deliverable"]
    assert "rent" not in run.output["deliverable"]
    _, page = await seen(store, run)
    part = page.split("<h2>Open questions and risks</h2>")[1].split("</section>")[0]
    still, settled = part.split("settled in the discussion")
    assert "Staff is missing" in still
    assert "The rent is not counted" not in still
    assert "Who signs?" not in still
    assert "The rent is not counted" in settled
    prompt = team.asked_to("critique")[1].prompt
    assert "- R1 (high risk, I1): The rent is not counted" in prompt


async def test_a_point_that_is_raised_again_keeps_its_id_and_is_open_again(store: Store) -> None:
    again = {"text": "No.", "risks": [{"id": "R1", "risk": "The rent doubles", "severity": "low"}]}
    team = Team({"ideate": FIRST, "critique": [RISKS, REPLY, again, {"text": "Well."}]})
    run = await hold(store, team, preset="extended", rounds=2)
    first = run.output["open_points"][0]
    assert (first["id"], first["text"], first["severity"], first["idea"]) == (
        "R1",
        "The rent doubles",
        "low",
        "I1",
    )
    assert [point["id"] for point in run.output["settled_points"]] == ["Q1"]


async def test_the_same_risk_in_the_same_words_is_one_point(store: Store) -> None:
    run = await hold(store, Team({"ideate": FIRST, "critique": RISKS}), preset="extended")
    assert [point["id"] for point in run.output["open_points"]] == ["R1", "R2", "Q1"]


async def test_a_researcher_may_answer_an_open_question(store: Store) -> None:
    facts = [{"text": "Facts."}, {"text": "More.", "settled": [{"point": "Q1", "how": "the landlord"}]}]
    team = Team({"ideate": FIRST, "critique": [RISKS, {"text": "Well."}], "research": facts})
    run = await hold(store, team, preset="extended")
    assert [point["id"] for point in run.output["settled_points"]] == ["Q1"]


async def test_settling_what_nobody_raised_is_a_warning(store: Store) -> None:
    team = Team({"ideate": FIRST, "critique": {"text": "x", "settled": ["R9"]}})
    run = await hold(store, team, preset="extended", rounds=1)
    assert "The Critic settled points that do not exist: R9." in run.warnings


# ── the reason for the winner ──


async def test_the_reason_shown_for_the_winner_argues_for_the_winner(store: Store) -> None:
    chosen = {
        **selection("I2", "Boxes are what I love."),
        "recommendation": recommendation("I1", "Open a stall.", why="A stall pays for itself."),
    }
    run = await hold(store, Team({"ideate": FIRST, "validate": WON, "select": chosen}))
    assert (run.output["final_idea"]["id"], run.output["leader_choice"]) == ("I1", "I2")
    assert run.output["reasoning"] == "A stall pays for itself."
    assert "love" not in run.output["deliverable"]
    _, page = await seen(store, run)
    record = page.split("The record: how it was decided")[1]
    assert "The team leader would have chosen <strong>I2</strong> Boxes" in record
    assert "Boxes are what I love." in record.split("In its words")[1]


async def test_a_leader_who_speaks_only_for_another_idea_gives_no_reason_for_the_winner(store: Store) -> None:
    team = Team({"ideate": FIRST, "validate": WON, "select": selection("I2", "Boxes are what I love.")})
    run = await hold(store, team)
    assert run.output["reasoning"] == ""
    assert "love" not in run.output["deliverable"]
    assert "- good" in run.output["deliverable"], "what the moderator said for it"


async def test_a_recommendation_of_another_idea_than_the_winner_is_sent_back(store: Store) -> None:
    wrong = {**selection("I2"), "recommendation": recommendation("I2", "Sell boxes.")}
    right = {**selection("I2"), "recommendation": recommendation("I1", "Open a stall.")}
    team = Team({"ideate": FIRST, "validate": WON, "select": [wrong, right]})
    run = await hold(store, team)
    assert "`recommendation` must present I1" in team.asked_to("select")[1].prompt
    assert "Open a stall." in run.output["deliverable"]
    stubborn = Team({"ideate": FIRST, "validate": WON, "select": wrong})
    run = await hold(store, stubborn)
    assert "Sell boxes." not in run.output["deliverable"]
    assert (run.output["leader_choice"], run.output["recommendation"]) == ("I2", None)
    assert "{" not in run.output["messages"][-2]["content"], "its words, not its JSON"


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ({"validate": WON}, "the highest score wins, and that is I1, “Growth”"),
        ({"validate": scores(I1=9, I2=9, I3=5, I4=5)}, "I1, I2 share it"),
        ({"validate": RuntimeError("gone")}, "there are no scores, so the idea in `choice` wins"),
    ],
)
async def test_the_leader_is_reported_how_the_decision_is_made(
    store: Store, script: dict[str, Any], message: str
) -> None:
    team = Team({"ideate": FIRST, **script})
    await hold(store, team)
    assert message in team.asked_to("select")[0].prompt
    assert "Score the current version, with all its amendments" in team.asked_to("validate")[0].prompt


async def test_a_winner_that_nobody_chose_is_partial(store: Store) -> None:
    team = Team({"ideate": FIRST, "validate": RuntimeError("gone"), "select": RuntimeError("gone")})
    run = await hold(store, team)
    assert (run.status, run.stop_reason, run.output["status"]) == ("partial", "no decision", "partial")
    assert (run.output["final_idea"]["id"], run.output["chosen"]) == ("I1", False)
    assert "No idea was scored or chosen: I1 is named because it came first." in run.warnings
    _, page = await seen(store, run)
    assert "Missing: a decision: no idea was scored, and the leader chose none" in page
    assert "This idea was neither scored nor selected" in run.output["deliverable"]
    one_voice = Team({"ideate": FIRST, "validate": RuntimeError("gone"), "select": selection("I2")})
    assert (await hold(store, one_voice)).status == "completed"


# ── the deliverable ──


async def test_the_deliverable_holds_no_ids_scores_or_transcript(store: Store) -> None:
    document = (
        "Open a stall (I1) and not the shop of I2.\n\n### Costs\n\n6,000 euros once.\n\n### Open\n\n"
        "R2 is still open. The I5 motorway is near."
    )
    chosen = {**selection("I1"), "recommendation": recommendation("I1", document)}
    team = Team({"ideate": FIRST, "critique": RISKS, "validate": WON, "select": chosen})
    run = await hold(store, team, preset="extended", rounds=1)
    text = run.output["deliverable"]
    assert text.startswith("## Growth\n\nOpen a stall and not the shop of “Boxes”.")
    assert "“Staff is missing” is still open." in text
    assert "The I5 motorway" in text, "no idea of this council"
    for internal in ("9.00", " of 10", "Critic", "tokens", "round"):
        assert internal not in text, internal
    shown = presentation_of("council")
    events = [row.to_event(run.run_id) for row in await store.read(run.run_id)]
    for event in events:
        shown.apply(event)
    assert shown.deliverable(run.output) == text
    report = to_markdown(facts_of(events, output=run.output, shown=shown), shown.sections(alive=False))
    alone = await artifact(store, run, "recommendation.md")
    assert alone == f"# the topic\n\n{text}\n"
    assert report.index("6,000 euros once.") < report.index("## The record: how it was decided")


async def test_every_preset_gives_next_steps(store: Store) -> None:
    steps = [{"step": "Ask for a licence", "effort": "a day"}]
    chosen = {**selection("I1"), "recommendation": recommendation("I1", next_steps=steps)}
    team = Team({"ideate": FIRST, "validate": WON, "select": chosen})
    run = await hold(store, team, preset="extended", rounds=1)
    shown, page = await seen(store, run)
    assert "Ask for a licence" in page.split("<h2>Next steps</h2>")[1].split("</section>")[0]
    part = next(section for section in shown.sections(alive=False) if section.name == "next_steps")
    assert [step["step"] for step in part.data["steps"]] == ["Ask for a licence"]


async def test_a_result_below_the_threshold_says_so_without_figures(store: Store) -> None:
    run = await hold(store, Team({"ideate": ideas("a", "b", "c"), "validate": scores(I1=4, I2=3, I3=3)}))
    assert "below the quality that was asked for" in run.output["deliverable"]
    assert "4.00" not in run.output["deliverable"]
