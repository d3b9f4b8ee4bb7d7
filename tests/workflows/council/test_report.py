"""The report: everything that it has to tell, from the log alone, and nothing that could do harm."""

from __future__ import annotations

import re

import pytest

import podium
from podium.engine.budget import Budget
from podium.engine.log import Store
from podium.report.data import facts_of
from podium.report.markdown import to_markdown
from podium.workflows import presentation_of
from podium.workflows.council import markdown
from podium.workflows.council.deliverable import lineage
from podium.workflows.council.discussion import CRITERIA, Discussion, Idea, plain
from podium.workflows.council.report import CouncilPresentation
from podium.workflows.council.report_data import comparison, concept_map, orders, radar, ranking
from tests.workflows.council.pages import artifact, seen
from tests.workflows.council.team import Team, hold, idea, ideas, scores, selection

SCRIPT = {
    "ideate": {
        "ideas": [
            idea("Bike lanes", "Paint them.", category="streets"),
            idea("Bus for free", "For a year.", category="transport"),
            idea("Wider lanes", "Really wide.", category="streets", refines="I1"),
        ]
    },
    "validate": scores(I1=7.5, I2=6, I3=8),
    "select": selection("I1", "It is the simplest."),
    "critique": {
        "text": "Doubts.",
        "risks": [
            {"risk": "Shops complain", "idea": "I1", "severity": "high", "mitigation": "talk to them"},
            {"risk": "Too dear", "idea": "I2", "severity": "low"},
        ],
        "open_questions": ["Who pays?"],
    },
    "implement": {
        "text": "Do it.",
        "next_steps": [{"step": "Measure the road", "idea": "I3", "effort": "a day"}],
    },
    "research": {
        "text": "Facts.",
        "evidence": [{"claim": "Lanes help", "source": "A study", "link": "https://e.org/x"}],
    },
}


async def test_the_report_shows_everything_that_it_has_to(store: Store) -> None:
    run = await hold(store, Team(SCRIPT), "How to get about", preset="full", rounds=1, min_ideas=3)
    _, page = await seen(store, run)
    text = re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)
    for heading in (
        "The record: how it was decided",
        "Runners-up",
        "Next steps",
        "Open questions and risks",
        "All ideas",
        "Comparison",
        "Concept map",
        "Evidence",
        "The journey",
        "What it cost",
        "How it came about",
    ):
        assert f">{heading}</h2>" in text, heading
    assert text.index("Wider lanes") < text.index("The record: how it was decided"), "the answer comes first"
    assert "It improves I1, <em>Bike lanes</em>." in text.split("The record: how it was decided")[1]
    assert "The team leader would have chosen <strong>I1</strong> Bike lanes" in text
    assert "Shops complain" in text.split("Risks of the recommended idea")[1].split("of other ideas")[0]
    assert "Too dear" in text.split("of other ideas")[1]
    assert "Measure the road" in text
    assert "Who pays?" in text
    assert 'href="https://e.org/x"' in text
    assert "? not checked" in text
    assert "worked from its model alone" in text
    assert 'aria-label="Wider lanes: feasibility 8, innovation 8' in text
    assert "3 ideas in 2 categories, 1 of them refinements" in text
    assert "<script" not in page
    assert re.search(r"""(?:src|href)=["'](?!https://e\.org/x)""", page) is None


async def test_the_report_of_the_run_itself_shows_the_same_and_what_it_cost(store: Store) -> None:
    run = await hold(store, Team(SCRIPT), preset="full", rounds=1, min_ideas=3)
    own = await artifact(store, run, "report.html")
    _, page = await seen(store, run)
    for heading in (
        "The record: how it was decided",
        "Runners-up",
        "All ideas",
        "Concept map",
        "The journey",
    ):
        ours, theirs = (
            document.split(f"<h2>{heading}</h2>")[1].split("</section>")[0] for document in (own, page)
        )
        assert ours == theirs
    assert "11 calls" in own


async def test_what_the_log_shows_is_what_the_run_returned(store: Store) -> None:
    run = await hold(store, Team(SCRIPT), preset="full", rounds=1, passes=1, min_ideas=3)
    shown, _ = await seen(store, run)
    assert isinstance(shown, CouncilPresentation)
    discussion = shown.fold.discussion
    rows = ranking(discussion)
    assert {row["id"]: row["score"] for row in rows} == {
        idea["id"]: idea["score"] for idea in run.output["ideas"]
    }
    assert [message.id for message in discussion.messages] == [m["id"] for m in run.output["messages"]]
    assert discussion.final_idea is not None
    assert discussion.final_idea.id == run.output["final_idea"]["id"]


async def test_a_council_that_ran_out_of_budget_is_shown_as_it_stands(store: Store) -> None:
    run = await hold(store, Team(), preset="extended", budget=Budget(calls=10))
    shown, page = await seen(store, run)
    assert "Idea 1" in page
    assert "partial" in page
    assert shown.summary() == "10 ideas · 1 round"


@pytest.mark.parametrize("calls", [10, 14, 15])
async def test_the_report_of_a_council_that_went_on_is_that_of_one_that_never_stopped(
    store: Store, calls: int
) -> None:
    """Stopped in a round, before the selection, before the page: what the log tells is what was returned."""
    team = Team()
    first = await hold(store, team, preset="extended", budget=Budget(calls=calls))
    assert first.status == "partial"
    handle = await podium.resume(first.run_id, model=team, store=store, budget=Budget(calls=90))
    run = await handle.result()
    shown, _ = await seen(store, run)
    assert isinstance(shown, CouncilPresentation)
    discussion = shown.fold.discussion
    assert run.status == "completed"
    assert plain(discussion.ideas) == run.output["ideas"]
    assert plain(discussion.messages) == run.output["messages"]
    assert plain(discussion.final_idea) == run.output["final_idea"]


async def test_the_report_of_a_council_that_ran_out_again_and_again_is_what_it_returned(store: Store) -> None:
    """Endings with the same scores as before, with and without contributions in between."""
    team = Team()
    run = await hold(store, team, preset="extended", budget=Budget(calls=8))
    for calls in (9, 10, 12, 12):
        handle = await podium.resume(run.run_id, model=team, store=store, budget=Budget(calls=calls))
        run = await handle.result()
        assert run.status == "partial"
        shown, _ = await seen(store, run)
        assert isinstance(shown, CouncilPresentation)
        discussion = shown.fold.discussion
        assert plain(discussion.ideas) == run.output["ideas"], calls
        assert plain(discussion.final_idea) == run.output["final_idea"], calls
        assert shown.deliverable(run.output) == run.output["deliverable"], calls


async def test_the_runs_own_report_says_what_is_missing(store: Store) -> None:
    run = await hold(store, Team(), budget=Budget(calls=4))
    own = await artifact(store, run, "report.html")
    assert "partial" in own.split("</header>")[0]
    assert "<li>Missing: the leader&#39;s selection</li>" in own
    assert run.status == "partial"


async def test_markdown_and_json_show_it_too(store: Store) -> None:
    run = await hold(store, Team(SCRIPT), preset="full", rounds=1, min_ideas=3)
    shown = presentation_of("council")
    events = [row.to_event(run.run_id) for row in await store.read(run.run_id)]
    for event in events:
        shown.apply(event)
    sections = shown.sections(alive=False)
    text = to_markdown(facts_of(events, output=run.output, shown=shown), sections)
    assert "| 1 | I3 | Wider lanes (refines I1) | streets | 1 | 8 | 8 | 8 | 8 | 8 | 8.00 |" in text
    assert "## Next steps\n\n1. Measure the road (I3, Wider lanes), a day" in text
    assert "- **high** (I1, Bike lanes): Shops complain. What helps: talk to them." in text
    assert [section.name for section in sections] == [
        "recommended",
        "runners_up",
        "next_steps",
        "doubts",
        "ideas",
        "comparison",
        "concept_map",
        "evidence",
        "journey",
    ]


async def test_ideas_without_scores_are_shown_without_charts(store: Store) -> None:
    run = await hold(store, Team({"ideate": ideas("a", "b", "c")}), roles="leader,ideation")
    _, page = await seen(store, run)
    assert "The ideas were not scored" in page
    assert 'class="radar' not in page
    assert "Comparison</h2>" not in page


# ── the parts ──


def test_a_table_is_sorted_by_every_column_without_a_script() -> None:
    made = [
        Idea(
            id=f"I{nth}",
            title=title,
            description="",
            criteria=dict.fromkeys(CRITERIA, score),
            score=score,
            round=nth,
        )
        for nth, (title, score) in enumerate((("b", 5.0), ("a", 9.0), ("c", 7.0)), 1)
    ]
    made[0].criteria = {**dict.fromkeys(CRITERIA, 5.0), "impact": 10.0}
    discussion = Discussion(topic="x", ideas=made)
    by = {order["by"]: [row["id"] for row in order["rows"]] for order in orders(ranking(discussion))}
    assert by["score"] == ["I2", "I3", "I1"]
    assert by["impact"] == ["I1", "I2", "I3"]
    assert by["title"] == ["I2", "I1", "I3"]
    assert by["round"] == ["I1", "I2", "I3"]
    assert set(by) == {"score", *CRITERIA, "title", "category", "round"}


def test_the_radar_draws_each_score_on_its_axis() -> None:
    drawn = radar(
        Idea(id="I1", title="x", description="", criteria=dict.fromkeys(CRITERIA, 10.0), score=10.0)
    )
    assert drawn is not None
    assert drawn["shape"] == drawn["rings"][-1]
    none = radar(Idea(id="I1", title="x", description="", criteria=dict.fromkeys(CRITERIA, 0.0), score=0.0))
    assert none is not None
    assert set(none["shape"].split()) == {"110,92"}
    assert radar(Idea(id="I1", title="x", description="")) is None


def test_the_map_holds_every_idea_once_and_its_refinements() -> None:
    made = [
        Idea(id=f"I{nth}", title=f"t{nth}", description="", category=f"c{nth % 3}") for nth in range(1, 8)
    ]
    made.append(Idea(id="I8", title="t8", description="", refines=["I2"]))
    drawn = concept_map(Discussion(topic="A topic " * 30, ideas=made))
    assert drawn is not None
    assert len(drawn["ideas"]) == 8
    assert len({idea["y"] for idea in drawn["ideas"]}) == 8, "none lies on another"
    assert [refinement["said"] for refinement in drawn["refinements"]] == ["I8 refines I2"]
    assert len(drawn["topic"]) <= 5


def test_what_an_idea_refines_belongs_to_it_even_in_a_circle() -> None:
    made = [
        Idea(id="I1", title="a", description="", refines=["I3"]),
        Idea(id="I2", title="b", description="", refines=["I1"]),
        Idea(id="I3", title="c", description="", refines=["I2", "I4"]),
        Idea(id="I4", title="d", description=""),
    ]
    assert lineage(Discussion(topic="x", ideas=made), "I3") == ["I3", "I2", "I4", "I1"]


def test_the_comparison_says_how_many_ideas_it_leaves_out() -> None:
    made = [
        Idea(id=f"I{nth}", title=f"t{nth}", description="", criteria=dict.fromkeys(CRITERIA, 8.0), score=8.1)
        for nth in range(1, 9)
    ]
    table = comparison(ranking(Discussion(topic="x", ideas=made)))
    assert table is not None
    assert (len(table["ideas"]), table["of"], table["left_out"]) == (6, 8, 2)
    assert "The best 6 of 8 scored ideas." in markdown.comparison(table)
    assert [cell["text"] for cell in table["lines"][-1]["cells"]] == ["8.10"] * 6
