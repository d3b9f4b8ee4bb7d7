"""A council with its floor: the draft as an idea, the editor's pass, the comparison, and the log of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import podium
from podium.engine.budget import Budget
from podium.engine.log import Store
from podium.engine.result import RunResult
from podium.report.data import facts_of
from podium.report.markdown import to_markdown
from podium.workflows import presentation_of
from podium.workflows.council.deliverable import answer_of
from podium.workflows.council.handover import DESCRIPTION, draft_idea
from podium.workflows.council.report import CouncilPresentation
from podium.workflows.delivery.contracts import Draft
from tests.workflows import scripted
from tests.workflows.council.pages import artifact, seen
from tests.workflows.council.team import Team, council_events, hold, ideas, recommendation, scores, selection

DRAFT: dict[str, Any] = {
    "points": ["what to plant", "what it costs"],
    "document": "# Plant ferns\n\nFerns under the oak, 18 at 5 euros: 90 euros.\n\n## Steps\n\n1. Dig holes.",
}
DOCUMENT = "## Moss\n\nMoss between the stones costs 40 euros."
SCORES = {"complete": 5, "correct": 5, "usable": 5, "fitting": 5}


def judgement(better: str, why: str = "it says more") -> dict[str, Any]:
    return {"why": why, "a": SCORES, "b": SCORES, "better": better}


def checked(*missing: str, **fields: Any) -> dict[str, Any]:
    return {"parts": [{"part": "the price", "met": not missing}], "still_missing": list(missing), **fields}


def team(**script: Any) -> Team:
    """Ideas I1 (the draft) to I4; I2 wins with the leader's document, which both judges prefer."""
    written = {**selection("I2"), "recommendation": recommendation("I2", DOCUMENT)}
    return Team(
        {
            "floor/draft": DRAFT,
            "ideate": ideas("Moss", "Gravel", "A pond"),
            "validate": scores(I1=7, I2=9, I3=6, I4=5),
            "select": written,
            "delivery/team-first/compare": judgement("A"),
            "delivery/draft-first/compare": judgement("B"),
            **script,
        }
    )


async def go(store: Store, model: Team, **options: Any) -> RunResult:
    return await hold(store, model, "A garden in the shade", **{"floor": True, "editor": True, **options})


# ── the draft ──


async def test_the_draft_is_an_idea_that_is_scored_like_the_others(store: Store) -> None:
    model = team()
    result = await go(store, model)
    assert (result.status, result.warnings) == ("completed", [])
    assert model.tasks == [
        "draft",
        "kickoff",
        "ideate",
        "synthesize",
        "validate",
        "select",
        "edit_result",
        "compare",
        "compare",
        "visualize",
    ]
    first = result.output["ideas"][0]
    assert (first["id"], first["title"], first["origin"], first["round"], first["score"]) == (
        "I1",
        "Plant ferns",
        "draft",
        0,
        7.0,
    )
    assert first["description"] == "Ferns under the oak, 18 at 5 euros: 90 euros. Steps: Dig holes."
    assert [idea["origin"] for idea in result.output["ideas"][1:]] == ["", "", ""]
    assert "Current Ideas:\n1. [I1] Plant ferns - Ferns under the oak" in model.asked_to("validate")[0].prompt


async def test_ideation_is_reported_not_to_repeat_the_draft(store: Store) -> None:
    model = team()
    await go(store, model, rounds=2)
    first, second = (call.prompt for call in model.asked_to("ideate"))
    assert "I1 is what one expert recommended who answered alone" in first
    assert "# Your task: ideas for round 1 of 2" in first
    assert "# Your task: better ideas, round 2 of 2" in second
    assert "Do not repeat it" not in second


async def test_the_leader_has_the_points_at_first_and_the_whole_draft_at_last(store: Store) -> None:
    model = team()
    await go(store, model)
    (kickoff,), (select,) = model.asked_to("kickoff"), model.asked_to("select")
    assert "- what to plant\n- what it costs\n" in kickoff.prompt
    assert "## Steps" not in kickoff.prompt
    assert f"<draft>\n{DRAFT['document']}\n</draft>" in select.prompt
    assert "- what to plant\n- what it costs\n" in select.prompt
    assert "must be clearly better" in select.prompt


async def test_a_draft_is_criticised_and_can_be_revised(store: Store) -> None:
    revised = {"idea": "I1", "description": "Ferns, 12 of them.", "given_up": "six ferns"}
    model = team(rebut={"text": "Granted.", "revisions": [revised]})
    result = await go(store, model, preset="extended", rounds=1)
    assert "[I1] Plant ferns" in model.asked_to("critique")[0].prompt
    first = result.output["ideas"][0]
    assert (first["version"], first["origin"], first["description"]) == (2, "draft", "Ferns, 12 of them.")
    shown, _ = await seen(store, result)
    assert isinstance(shown, CouncilPresentation)
    assert shown.fold.discussion.ideas[0].origin == "draft"


async def test_the_draft_does_not_count_for_the_minimum_of_ideas(store: Store) -> None:
    model = team(ideate=ideas("Moss", "Gravel"), validate=scores(I1=7, I2=9, I3=6))
    result = await go(store, model, min_ideas=3)
    assert len(model.asked_to("ideate")) == 2
    assert "Bring 1 new idea that differs from those above" in model.asked_to("ideate")[1].prompt
    assert len(result.output["ideas"]) == 5
    few = await go(store, team(**{"round-1/ideate": ideas("Moss"), "ideate": {"ideas": []}}), min_ideas=3)
    assert "Only 1 of at least 3 ideas came up; 2 are missing (--min-ideas)." in few.warnings


async def test_a_draft_idea_that_wins_without_a_document_is_the_draft_itself(store: Store) -> None:
    model = team(validate=scores(I1=9, I2=7, I3=6, I4=5), select=RuntimeError("no line"))
    result = await go(store, model)
    assert result.output["final_idea"]["id"] == "I1"
    assert result.output["deliverable"] == DRAFT["document"]
    assert result.output["comparison"] == {"preferred": "equal", "why": ["Both texts are the same."]}


async def test_a_team_without_ideas_hands_over_the_draft_as_partial(store: Store) -> None:
    model = team(ideate={"ideas": []}, validate=scores(I1=7), select=selection("I1"))
    result = await go(store, model)
    assert (result.status, result.stop_reason) == ("partial", "no ideas")
    assert result.output["deliverable"] == DRAFT["document"]


@pytest.mark.parametrize(
    ("document", "title", "description"),
    [
        ("# Plant ferns\n\nEighteen of them.", "Plant ferns", "Eighteen of them."),
        ("## **Plant** ferns:\n\n### Why\n\nThey like it.", "Plant ferns", "Why: They like it."),
        ("Just plant ferns.\n\nThey like it.", "Direct draft", "Just plant ferns. They like it."),
        ("# A garden in the shade\n\nPlant ferns.", "Direct draft", "Plant ferns."),
        ("# A garden\n\nPlant ferns.", "A garden", "Plant ferns."),
        ("# Plant ferns", "Plant ferns", "what to plant; what it costs."),
        (
            "# Ferns\n\nPlant:\n\n- *one* fern.\n- two\n\n| a | 5 |\n|---|---|",
            "Ferns",
            "Plant: one fern. two. a; 5.",
        ),
    ],
)
def test_title_and_description_of_the_drafts_idea(document: str, title: str, description: str) -> None:
    idea = draft_idea(Draft(points=DRAFT["points"], document=document), "A garden in the shade?")
    assert (idea.title, idea.description) == (title, description)


def test_a_heading_that_is_the_beginning_of_a_long_request_is_no_title() -> None:
    request = "Plan a garden in the shade of an oak for a family with two small children and 500 euros. " * 3
    idea = draft_idea(Draft(points=["x"], document=f"# {request[:200]}\n\nPlant ferns."), request)
    assert (idea.title, idea.description) == ("Direct draft", "Plant ferns.")


def test_a_very_long_draft_is_cut_at_the_end_of_a_sentence() -> None:
    text = "Plant ferns and water them. " * 600
    idea = draft_idea(Draft(points=["x"], document=f"# Ferns\n\n{text}\n\nMore."), "x")
    assert idea.description.endswith("water them.")
    assert DESCRIPTION - 40 < len(idea.description) <= DESCRIPTION


# ── the editor ──


async def test_what_the_editor_changes_is_the_result_everywhere(store: Store) -> None:
    change = {"find": "costs 40 euros", "replace": "costs 40 euros, 8 pieces at 5"}
    model = team(**{"delivery/edit_result": checked(changes=[change])})
    result = await go(store, model)
    edited = DOCUMENT.replace(change["find"], change["replace"])
    assert result.output["deliverable"] == edited
    assert await artifact(store, result, "recommendation.md") == f"# A garden in the shade\n\n{edited}\n"
    assert "8 pieces at 5" in (await artifact(store, result, "report.html")).split("The record")[0]
    assert "8 pieces at 5" in model.asked_to("visualize")[0].prompt
    shown, page = await seen(store, result)
    assert shown.deliverable(None) == edited, "from the log alone"
    assert "8 pieces at 5" in page.split("The record")[0]
    assert "8 pieces at 5" in await markdown(store, result)


async def markdown(store: Store, run: RunResult) -> str:
    shown = presentation_of("council")
    events = [row.to_event(run.run_id) for row in await store.read(run.run_id)]
    for event in events:
        shown.apply(event)
    return to_markdown(facts_of(events, output=run.output, shown=shown), shown.sections(alive=False))


async def test_the_editor_sees_the_material_without_ids_and_scores(store: Store) -> None:
    model = team(
        critique={
            "text": "R1 weighs most.",
            "risks": [{"risk": "I2 dries out", "idea": "I2", "severity": "high", "mitigation": "water it"}],
        },
        research={"text": "Facts.", "evidence": [{"claim": "Moss likes shade", "source": "A book"}]},
        synthesize="I2 leads, I3 falls behind.",
    )
    await go(store, model, preset="extended", rounds=1, min_ideas=3)
    prompt = model.asked_to("edit_result")[0].prompt
    for text in (
        "Moss: Moss in two sentences.",
        "For it: good",
        "“Moss” dries out. What helps: water it.",
        "Moss likes shade (A book; not checked)",
        "“Moss” leads, “Gravel” falls behind.",
        '<material title="The alternatives">\nPlant ferns: Ferns under the oak',
        DRAFT["document"],
    ):
        assert text in prompt, text
    assert "[I" not in prompt
    assert "9.00" not in prompt


async def test_a_part_that_stays_unanswered_makes_the_run_partial(store: Store) -> None:
    model = team(**{"delivery/edit_result": checked("No price is named.")})
    result = await go(store, model)
    assert (result.status, result.stop_reason) == ("partial", "not met")
    assert result.output["status"] == "partial"
    assert result.output["warnings"] == result.warnings == ["Missing: No price is named."]
    own = await artifact(store, result, "report.html")
    assert "<li>Missing: No price is named.</li>" in own
    assert "## Missing\n\n- No price is named." in await markdown(store, result)
    assert "Parts of the request that are not answered:\n\n- No price is named." in await markdown(
        store, result
    )


# ── the comparison ──


async def test_a_draft_that_is_judged_better_is_handed_over_with_a_warning(store: Store) -> None:
    model = team(
        **{
            "delivery/team-first/compare": judgement("B", "B names the price."),
            "delivery/draft-first/compare": judgement("A", "A names the price."),
        }
    )
    result = await go(store, model, min_score=9.5)
    assert result.status == "completed"
    assert result.output["deliverable"] == DRAFT["document"], "and no caveat about an idea that it is not"
    assert result.output["comparison"]["preferred"] == "draft"
    assert any("The direct draft was judged better" in warning for warning in result.warnings)
    assert any("The direct draft was judged better" in warning for warning in result.output["warnings"])
    assert await artifact(store, result, "recommendation.md") == DRAFT["document"] + "\n"
    assert await artifact(store, result, "team-version.md") == DOCUMENT + "\n"
    shown, page = await seen(store, result)
    assert shown.deliverable(None) == DRAFT["document"]
    assert shown.summary() == "4 ideas · 1 round · the direct draft was better"
    assert "Blind comparison: the direct draft is better." in page
    assert "[I2] Moss (9.00 of 10)" not in model.asked_to("visualize")[0].prompt.split("<result")[1]


async def test_the_report_says_how_the_comparison_ended(store: Store) -> None:
    result = await go(store, team())
    assert result.output["comparison"]["preferred"] == "team"
    text = await markdown(store, result)
    assert "## Compared with a direct answer" in text
    assert "Blind comparison: the team's text is better than the direct draft." in text
    assert "- it says more (A: the team's text, B: the direct draft)" in text


async def test_the_log_shows_the_document_once(store: Store) -> None:
    result = await go(store, team())
    rows = [data for name, data in await council_events(store, result.run_id) if name == "delivered"]
    assert [row["result"]["document"] for row in rows] == [DOCUMENT + "\n"]


# ── left out, out of budget, resumed ──


async def test_without_floor_and_editor_it_is_the_council_alone(store: Store) -> None:
    model = team(validate=scores(I1=9, I2=7, I3=6), select=selection("I1"))
    result = await hold(store, model)
    assert model.tasks == ["kickoff", "ideate", "synthesize", "validate", "select", "visualize"]
    assert {idea["origin"] for idea in result.output["ideas"]} == {""}
    assert (result.output["comparison"], result.output["baseline"]) == (None, None)
    assert "delivered" not in [name for name, _ in await council_events(store, result.run_id)]
    prompts = " ".join(call.prompt for call in model.calls)
    assert "one expert" not in prompts
    edited = team(validate=scores(I1=9, I2=7, I3=6), select=selection("I1"))
    await hold(store, edited, editor=True)
    assert edited.tasks[-2:] == ["edit_result", "visualize"]


async def test_a_small_budget_has_no_draft_and_says_so(store: Store) -> None:
    model = team(validate=scores(I1=9, I2=7, I3=6), select=selection("I1"))
    result = await go(store, model, budget=Budget(calls=7))
    assert "draft" not in model.tasks
    assert result.status == "completed"
    ((name, data), *_) = await scripted.events_of(store, result.run_id, "floor")
    assert (name, data["reason"]) == ("skipped", "it would take too much of this budget")


@pytest.mark.parametrize("calls", [8, 9, 10])
async def test_a_council_that_ran_out_pays_nothing_twice_when_it_goes_on(store: Store, calls: int) -> None:
    model = team(**{"delivery/edit_result": checked(changes=[{"find": "40", "replace": "45"}])})
    stopped = await go(store, model, preset="extended", rounds=1, min_ideas=3, budget=Budget(calls=calls))
    assert (stopped.status, stopped.stop_reason) == ("partial", "budget")
    asked_paths = own_paths(model)
    handle = await podium.resume(stopped.run_id, model=model, store=store, budget=Budget(calls=60))
    result = await handle.result()
    assert result.status == "completed"
    assert result.output["deliverable"] == DOCUMENT.replace("40", "45")
    assert asked_paths
    paths = own_paths(model)
    assert len(paths) == len(set(paths)), "nothing is asked twice"
    shown, _ = await seen(store, result)
    assert shown.deliverable(None) == result.output["deliverable"]
    before = len(model.calls)
    assert (await podium.replay(result.run_id, store=store)).output == result.output
    assert len(model.calls) == before


def own_paths(model: Team) -> Sequence[str]:
    """Where members were asked, without the scores of an early ending."""
    return [path for path in model.paths if not path.startswith("closing")]


@pytest.mark.parametrize("calls", range(8, 20))
async def test_every_budget_ends_with_something_to_read(store: Store, calls: int) -> None:
    model = team()
    result = await go(store, model, preset="extended", budget=Budget(calls=calls))
    assert len(model.calls) <= calls
    assert result.status in ("partial", "completed")
    assert result.output["deliverable"]
    shown, _ = await seen(store, result)
    assert shown.deliverable(None) == result.output["deliverable"]


async def test_an_editor_who_uses_up_the_budget_leaves_the_result_as_it_is(store: Store) -> None:
    model = team(**{"delivery/edit_result": "It is fine."})
    result = await go(store, model, roles="leader,ideation,moderator", budget=Budget(calls=8))
    assert len(model.asked_to("edit_result")) == 2
    assert (result.status, result.stop_reason) == ("partial", "budget")
    assert (result.output["status"], result.output["deliverable"]) == ("completed", DOCUMENT)
    assert any("The editor did not check the result" in warning for warning in result.warnings)
    assert (await podium.replay(result.run_id, store=store)).output == result.output


async def test_an_early_end_hands_over_the_draft_before_an_unfinished_idea(store: Store) -> None:
    """Nothing was scored and the leader chose nothing: the first idea is the draft's, and it is whole."""
    model = team(ideate=RuntimeError("no line"))
    result = await go(store, model, preset="extended", budget=Budget(calls=8))
    assert result.status == "partial"
    assert result.output["deliverable"].startswith(DRAFT["document"])


async def test_the_fold_holds_what_the_run_returned(store: Store) -> None:
    result = await go(store, team(), baseline=True)
    shown, _ = await seen(store, result)
    assert isinstance(shown, CouncilPresentation)
    discussion = shown.fold.discussion
    assert answer_of(discussion) == result.output["deliverable"]
    assert discussion.baseline == result.output["baseline"]
    assert discussion.delivered is not None
    assert discussion.delivered.preferred == "team"
