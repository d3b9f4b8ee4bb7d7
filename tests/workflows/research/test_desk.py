"""The direct draft as checklist and measure, and the editor who may state only what a passage says."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import podium
from podium.engine.log import Store
from podium.engine.result import RunResult
from podium.models.model import Call
from podium.report.data import facts_of
from podium.report.html import to_html
from podium.report.markdown import to_markdown
from podium.workflows import presentation_of
from podium.workflows.research.contracts import PointCheck
from podium.workflows.research.measures.support import find_support
from podium.workflows.research.measures.text import without_doubles
from podium.workflows.research.quality import uncovered
from tests.workflows.research.crew import (
    SCORES,
    Crew,
    ResearchRun,
    Shelves,
    checks_of,
    research_run_of,
    study,
    workflow_of,
)

COUNTED, PRICE = "how many cases the reports counted", "what a vaccine costs in Norway"
DRAFT = {"points": [COUNTED, PRICE], "document": "# Direct\n\nA vaccine costs 90 crowns."}
BOTH: dict[str, Any] = {"floor": True, "editor": True, "sources_only": True}
FREE: dict[str, Any] = {**BOTH, "sources_only": False}
_SOURCE = re.compile(r"from source (s\d+)\n.*?\n\n(.*?)\nEND UNTRUSTED", re.DOTALL)


def checking(call: Call) -> dict[str, Any]:
    """A fact checker who finds the first point and not the second."""
    sources = _SOURCE.findall(call.prompt)
    first, text = sources[0]
    points = [{"point_id": "p1", "source_id": first, "quote": text}, {"point_id": "p2"}]
    return {"checks": checks_of(call.prompt, sources), "points": points}


def editing(*changes: tuple[str, str], **fields: Any) -> Callable[[Call], dict[str, Any]]:
    """An editor who replaces passages; `{web}` stands for the id of the first web report."""

    def answer(call: Call) -> dict[str, Any]:
        web = next(one for one, text in _SOURCE.findall(call.prompt) if "The web report 1 " in text)
        made = [{"find": find, "replace": new.replace("{web}", web)} for find, new in changes]
        return {"changes": made, **fields}

    return answer


def preferring(text: str) -> Callable[[Call], dict[str, Any]]:
    """Judges who prefer the team's text or the draft, wherever it stands."""

    def answer(call: Call) -> dict[str, Any]:
        first = "team" if "team-first" in call.path else "draft"
        return {"better": "A" if text == first else "B", "why": f"It answers more: {text}.", "a": SCORES}

    return answer


def crew(**script: Any) -> Crew:
    return Crew({"draft": DRAFT, "fact_check": checking, **script})


async def files(store: Store, run: RunResult) -> dict[str, str]:
    kept = {one.name: one for one in run.artifacts}
    return {name: (await store.get_blob(one.blob)).decode() for name, one in kept.items()}


# ── the draft ──


async def test_the_draft_comes_first_and_its_points_are_looked_for(store: Store) -> None:
    model, shelves = crew(), Shelves()
    logged = await study(store, model, "Measles in Norway", shelves=shelves, **BOTH)
    assert logged.result.status == "completed", logged.result.error
    assert [call.task for call in model.calls] == [
        "draft",
        "assess",
        "synthesize",
        "write_article",
        "edit",
        "fact_check",
        "judge",
        "edit_result",
        "compare",
        "compare",
    ]
    assert "An article of about 1500 words. Tone: neutral." in model.calls[0].prompt
    asked = [query for _, query in shelves.asked]
    assert asked.count(COUNTED) == asked.count(PRICE) == 1, "each point is looked for once"
    written, edited = model.tasks("write_article")[0].prompt, model.tasks("edit_result")[0].prompt
    for prompt in (written, edited):
        assert f"- {COUNTED}" in prompt
        assert "90 crowns" not in prompt, "the draft's text is no evidence"
    assert "as far as the passages of sources support it" in written


async def test_points_without_evidence_are_dropped_and_reported(store: Store) -> None:
    model = crew()
    logged = await study(store, model, "Measles in Norway", **BOTH)
    assert logged.output["unsupported"] == [PRICE]
    assert f"Not covered by the sources: {PRICE}." in logged.output["warnings"]
    judge = model.tasks("judge")[0].prompt
    assert COUNTED in judge
    demanded, _, uncovered_points = judge.partition("The sources say nothing about these points.")
    assert PRICE not in demanded, "an article cannot be blamed for what no source says"
    assert PRICE in uncovered_points
    edited = model.tasks("edit_result")[0].prompt
    assert edited.index("Points that the sources do not cover") < edited.rindex(f"- {PRICE}")
    kept = await files(store, logged.result)
    assert PRICE in kept["record.html"]
    assert PRICE not in kept["article.html"]
    assert PRICE not in kept["article.md"]


NO_CITATION = "*What has no citation is general knowledge, or could not be confirmed in the sources.*"


async def test_general_knowledge_stands_in_the_article_without_a_citation(store: Store) -> None:
    new = "# What was counted\n\nA vaccine costs about 90 crowns.†\n\n"
    model = crew(edit_result=editing(("# What was counted\n\n", new)))
    logged = await study(store, model, "Measles in Norway", **FREE)
    edited = model.tasks("edit_result")[0].prompt
    assert "A vaccine costs 90 crowns." in edited, "the editor sees the draft"
    article = logged.output["article"]
    assert "A vaccine costs about 90 crowns.\n" in article["content"]
    assert NO_CITATION in article["content"]
    assert article["unsourced"] == ["A vaccine costs about 90 crowns."]
    assert all("crowns" not in claim["text"] for claim in logged.output["claims"]), (
        "it is no claim of a source"
    )
    kept = await files(store, logged.result)
    assert "90 crowns.</p>" in kept["article.html"]
    assert "†" not in kept["article.html"] + kept["article.md"]
    assert "A vaccine costs about 90 crowns." in kept["record.html"], "the record lists it"
    assert "1 sentence without a source" in kept["record.html"]


async def test_the_editor_says_in_the_articles_language_what_has_no_citation(store: Store) -> None:
    new = "# What was counted\n\nIt costs 90 crowns.†\n\n† Ohne Nachweis steht Allgemeinwissen.\n\n"
    model = crew(edit_result=editing(("# What was counted\n\n", new)))
    logged = await study(store, model, "Measles in Norway", **FREE)
    content = logged.output["article"]["content"]
    assert "\n\n*Ohne Nachweis steht Allgemeinwissen.*\n\n## References" in content
    assert NO_CITATION not in content
    assert logged.output["article"]["unsourced"] == ["It costs 90 crowns."]


async def test_a_citation_that_no_passage_supports_is_taken_out(store: Store) -> None:
    """The fact checker is asked once more, and its quotations are compared by a program."""
    new = "# What was counted\n\nA vaccine costs 77 crowns in Oslo [@{web}].\n\n"
    model = crew(edit_result=editing(("# What was counted\n\n", new)))
    logged = await study(store, model, "Measles in Norway", **FREE)
    assert [call.task for call in model.calls][-4:] == ["edit_result", "fact_check", "compare", "compare"]
    content = logged.output["article"]["content"]
    assert "A vaccine costs 77 crowns in Oslo.\n" in content
    assert logged.output["article"]["unsourced"] == ["A vaccine costs 77 crowns in Oslo."]
    assert all(claim["verdict"] == "verified" for claim in logged.output["claims"])


async def test_what_the_fact_checker_does_not_confirm_a_program_does_not_confirm(store: Store) -> None:
    """The sentence repeats words of its source, so that a program finds it there."""
    said = "In one year of it the web report 1 counted 10 cases"

    def doubting(call: Call) -> dict[str, Any]:
        answer = checking(call)
        claims = dict(re.findall(r"^- (c\d+) \(cites[^)]*\): (.*)$", call.prompt, re.MULTILINE))
        for check in answer["checks"]:
            if said in claims[check["claim_id"]]:
                check |= {"verdict": "unverified", "source_id": "", "quote": ""}
        return answer

    new = f"# What was counted\n\n{said} [@{{web}}]. Nobody in Oslo counted 4711 of them [@{{web}}].\n\n"
    model = crew(edit_result=editing(("# What was counted\n\n", new)), fact_check=doubting)
    logged = await study(store, model, "Measles in Norway", **FREE)
    assert logged.output["article"]["unsourced"] == [f"{said}.", "Nobody in Oslo counted 4711 of them."]


async def test_an_edit_that_loses_the_evidence_is_not_used(store: Store) -> None:
    whole = {"parts": [{"part": "all", "met": True}], "document": "# Short\n\nNothing is left.†"}
    logged = await study(store, crew(edit_result=whole), "Measles in Norway", **FREE)
    assert logged.output["article"]["title"] == "What was counted"
    assert any("lost too much of its evidence" in one for one in logged.output["warnings"])


def test_a_point_needs_words_that_stand_in_a_source() -> None:
    points, texts = ["a", "b", "c", "d"], {"s1": "The price is ninety crowns in all."}
    checks = [
        PointCheck(point_id="p1", source_id="s1", quote="The price is ninety crowns"),
        PointCheck(point_id="p2", source_id="s1", quote="The price is fifty crowns"),
        PointCheck(point_id="p3"),
    ]
    assert uncovered(points, checks, texts) == ["b", "c"], "of the last one nothing is known"


def test_points_join_the_aspects_without_doubles_up_to_a_limit() -> None:
    known = ["how a package is uploaded"]
    points = ["how the package is uploaded", "which key signs it", "the key that signs", "who pays", "when"]
    assert without_doubles(points, known, 12) == ["which key signs it", "who pays", "when"]
    assert without_doubles(points, known, 1) == ["which key signs it"]


async def test_a_small_budget_gets_no_draft_and_says_so(store: Store) -> None:
    model = crew()
    logged = await study(store, model, budget=podium.Budget(calls=7), **BOTH)
    assert logged.result.status == "completed"
    assert model.counted["draft"] == 0
    assert logged.output["comparison"] is None
    (skipped,) = [data for _, name, data in logged.rows if name == "floor.skipped"]
    assert skipped["reason"] == "it would take too much of this budget"


async def test_without_floor_and_editor_the_run_is_the_workers_own(store: Store) -> None:
    model = crew()
    logged = await study(store, model, floor=False, editor=False)
    assert [call.task for call in model.calls] == [
        "assess",
        "synthesize",
        "write_article",
        "edit",
        "fact_check",
        "judge",
    ]
    assert "complete answer contains" not in model.tasks("write_article")[0].prompt
    checklist = model.tasks("fact_check")[0].prompt.partition("# Points of a complete answer")[2]
    assert "- p1: causes" in checklist, "the planner's aspects"
    assert COUNTED not in checklist
    assert "direct-draft.md" not in await files(store, logged.result)
    assert logged.output["comparison"] is None


# ── the editor ──


async def test_what_a_passage_supports_is_taken_over_with_its_citation(store: Store) -> None:
    change = ("## First look", "## First look\n\nThe first web report counted 10 cases in one year [@{web}].")
    logged = await study(store, crew(edit_result=editing(change)), **BOTH)
    assert "The first web report counted 10 cases in one year [" in logged.output["article"]["content"]
    claim = next(one for one in logged.output["claims"] if one["text"].startswith("The first web report"))
    assert (claim["verdict"], claim["quote"]) == (
        "verified",
        "The web report 1 counted 10 cases of it in one year.",
    )
    assert not [one for one in logged.output["warnings"] if "not applied" in one]
    assert any(one.startswith("Final editor: 1 part of the request") for one in logged.output["system_notes"])


@pytest.mark.parametrize(
    ("new", "why"),
    [
        ("The first web report counted 70 cases in one year [@{web}].", "No passage of s"),
        ("Sales rose to 70 percent in one year.", "It has no citation"),
        ("Vaccines are free for all children who go to school in the north of Norway.", "It has no citation"),
        ("The first web report counted 10 cases (Smith, 2019).", "not a source of this run"),
    ],
)
async def test_what_no_passage_supports_is_not_taken_over(store: Store, new: str, why: str) -> None:
    good = ("## Second look", "## Another look")
    change = ("## First look", f"## First look\n\n{new}")
    logged = await study(store, crew(edit_result=editing(good, change)), **BOTH)
    content = logged.output["article"]["content"]
    assert "## Another look" in content, "the other change is"
    assert new.partition(" [@")[0] not in content
    (warning,) = [one for one in logged.output["warnings"] if "not applied" in one]
    assert warning.startswith("1 of the editor's 2 changes was not applied: ")
    assert why in warning
    assert warning in logged.result.warnings


async def test_a_citation_cannot_be_edited_away(store: Store) -> None:
    def cut(call: Call) -> dict[str, Any]:
        web = next(one for one, text in _SOURCE.findall(call.prompt) if "The web report 1 " in text)
        sentence = "The web report 1 counted 10 cases of it in one year."
        return {"changes": [{"find": f"{sentence} [@{web}]", "replace": sentence}]}

    logged = await study(store, crew(edit_result=cut), **BOTH)
    assert any("It has no citation" in one for one in logged.output["warnings"])
    assert "The web report 1 counted 10 cases of it in one year. [" in logged.output["article"]["content"]


async def test_a_sentence_may_say_what_the_sources_do_not(store: Store) -> None:
    line = "The sources do not say what a vaccine costs in Norway, and nothing is known about it."
    logged = await study(
        store, crew(edit_result=editing(("## First look", f"## First look\n\n{line}"))), **BOTH
    )
    assert line in logged.output["article"]["content"], logged.output["warnings"]


async def test_parts_that_the_editor_misses_are_in_the_result(store: Store) -> None:
    edit = {"parts": [{"part": "prices", "met": False}], "still_missing": ["No price is named."]}
    logged = await study(store, crew(edit_result=edit), **BOTH)
    assert logged.result.status == "completed"
    assert logged.output["missing"] == ["No price is named."]
    assert logged.output["warnings"].count("Missing: No price is named.") == 1


async def test_coverage_is_judged_again_after_an_edit_that_fills_a_gap(store: Store) -> None:
    thin = {"coverage": 0.6, "tone": 0.9, "missing": ["prices"]}
    new = "# What was counted\n\nA vaccine costs about 90 crowns.†\n\n"
    edit = editing(("# What was counted\n\n", new))
    model = crew(judge=[thin, thin, {"coverage": 0.95, "tone": 0.9}], edit_result=edit)
    logged = await study(store, model, **FREE)
    assert model.counted["judge"] == 3, "once in each iteration, and once after the edit"
    assert "90 crowns" in model.tasks("judge")[-1].prompt
    assert logged.output["coverage"] == logged.output["quality"]["coverage"] == 0.95
    assert logged.result.status == "completed"


async def test_an_edit_of_an_article_that_covers_the_brief_is_not_judged_again(store: Store) -> None:
    new = "# What was counted\n\nA vaccine costs about 90 crowns.†\n\n"
    model = crew(edit_result=editing(("# What was counted\n\n", new)))
    assert (await study(store, model, **FREE)).output["coverage"] == 0.9
    assert model.counted["judge"] == 1


async def test_the_editor_sends_back_once_for_one_more_search_and_writing(store: Store) -> None:
    remark = "Say what the academic report 2 counted"
    rewritten = "The academic report 2 counted 20 cases of it in one year."

    def write(call: Call) -> Any:
        return None if remark not in call.prompt else again(call)

    def again(call: Call) -> str:
        logged = [
            f"{text.split(' The whole')[0].strip()} [@{one}]" for one, text in _SOURCE.findall(call.prompt)
        ]
        return "# Anew\n\n## Part\n\n" + "\n\n".join(logged)

    model = crew(write_article=write, edit_result=[{"send_back": [remark]}, None])
    shelves = Shelves()
    logged = await study(store, model, shelves=shelves, min_quality=0.1, **BOTH)
    assert logged.result.status == "completed", logged.result.error
    assert model.counted == {
        "draft": 1,
        "assess": 1,
        "synthesize": 1,
        "write_article": 2,
        "edit": 1,
        "fact_check": 2,
        "judge": 1,
        "edit_result": 2,
        "compare": 2,
    }
    assert ("web_search", remark) in shelves.asked
    prompt = model.tasks("write_article")[1].prompt
    assert "# The last version" in prompt
    assert f"- It left out: {remark}" in prompt
    assert "# What you sent back" in model.tasks("edit_result")[1].prompt
    assert logged.output["article"]["title"] == "Anew"
    assert rewritten in logged.output["article"]["content"]
    assert {one["verdict"] for one in logged.output["claims"]} == {"verified"}


async def test_a_revision_that_lost_its_evidence_is_not_used(store: Store) -> None:
    def write(call: Call) -> Any:
        return "# Anew\n\nNothing is known." if "Say more" in call.prompt else None

    model = crew(write_article=write, edit_result=[{"send_back": ["Say more"]}, None])
    logged = await study(store, model, **BOTH)
    assert logged.output["article"]["title"] == "What was counted"
    assert any("lost too much of its evidence" in one for one in logged.output["warnings"])


async def test_material_and_document_stand_between_lines_that_authors_cannot_write(store: Store) -> None:
    model = crew()
    await study(store, model, **BOTH)
    edited, judged = model.tasks("edit_result")[0].prompt, model.tasks("compare")[0].prompt
    for prompt, names in ((edited, ["the document", "source s1"]), (judged, ["answer A", "answer B"])):
        for name in names:
            number = re.search(rf"BEGIN UNTRUSTED (\w+) from {name}\n", prompt)
            assert number
            assert prompt.count(f"END UNTRUSTED {number[1]}") == 1
    assert "document` must be left out" not in edited
    assert "use `changes` only" in edited


def test_support_is_found_without_a_model() -> None:
    text = "Salt is white. The fee is 40 euros for each of the two licences. Nobody else pays it."
    place = find_support("Each of the two licences has a fee of 40 euros.", text)
    assert place is not None
    assert text[slice(*place)] == "The fee is 40 euros for each of the two licences."
    assert find_support("Each of the two licences has a fee of 50 euros.", text) is None
    assert find_support("The harbour opens in the spring.", text) is None


# ── the comparison ──


async def test_judges_see_the_article_as_the_reader_does(store: Store) -> None:
    model = crew(compare=preferring("team"))
    logged = await study(store, model, **BOTH)
    first = model.tasks("compare")[0].prompt
    assert "[@s" not in first
    assert "## References" in first
    assert "Sources that can be followed count" in first
    assert logged.output["comparison"]["preferred"] == "team"


async def test_a_better_draft_is_reported_first_and_never_becomes_the_article(store: Store) -> None:
    logged = await study(
        store, crew(compare=preferring("draft")), shelves=Shelves(failing={"news_search": 99}), **BOTH
    )
    assert logged.result.status == "completed"
    assert logged.output["article"]["title"] == "What was counted"
    comparison = logged.output["comparison"]
    assert comparison["preferred"] == "draft"
    first = logged.result.warnings[0]
    assert first.startswith("A direct draft without the team's work was judged better than this text.")
    assert "direct-draft.md" in first
    assert "It answers more: draft." in first
    assert logged.output["warnings"][0] == first
    assert any(one.startswith("News search unavailable") for one in logged.result.warnings[1:])
    kept = await files(store, logged.result)
    assert "90 crowns" in kept["direct-draft.md"]
    assert "team-version.md" not in kept
    assert "one direct draft without sources is better" in kept["record.html"]
    shown = presentation_of("research")
    events = [row.to_event(logged.result.run_id) for row in await store.read(logged.result.run_id)]
    for event in events:
        shown.apply(event)
    facts = facts_of(events, output=logged.output, shown=shown)
    assert facts.notices == [first]
    for page in (to_markdown(facts, []), to_html(facts, [])):
        assert 0 < page.index("Before you read") < page.index("The matter has more than one side")


# ── budgets and resumes ──


async def resumed(store: Store, logged: ResearchRun, model: Crew, **budget: Any) -> ResearchRun:
    handle = await podium.resume(
        logged.result.run_id,
        workflow=workflow_of(clock=logged.clock),
        model=model,
        store=store,
        budget=podium.Budget(**budget),
    )
    return await research_run_of(store, await handle.result(), model)


async def test_with_more_calls_it_goes_on_and_pays_nothing_twice(store: Store) -> None:
    low = {"coverage": 0.4, "tone": 0.9, "missing": ["prices"]}
    model = crew(judge=[low, {"coverage": 0.9, "tone": 0.9}])
    logged = await study(store, model, budget=podium.Budget(calls=9), **BOTH)
    assert (logged.result.status, logged.result.stop_reason) == ("partial", "budget")
    assert model.counted["draft"] == 1
    again = await resumed(store, logged, model, calls=40)
    assert again.result.status == "completed", again.result.error
    paths = [call.path for call in model.calls]
    assert len(paths) == len(set(paths)), "no step was asked twice"
    assert (model.counted["draft"], model.counted["edit_result"], model.counted["compare"]) == (1, 1, 2)
    replayed = await podium.replay(logged.result.run_id, workflow=workflow_of(), store=store)
    assert replayed.output == again.output


@pytest.mark.parametrize("calls", [7, 8, 9, 10])
async def test_a_result_is_complete_also_where_nothing_is_left_to_check_it(store: Store, calls: int) -> None:
    model = Crew({"draft": DRAFT, "fact_check": checking}, complexity=0.1)
    logged = await study(store, model, budget=podium.Budget(calls=calls), **BOTH)
    assert logged.result.status == "completed", logged.result.stop_reason
    assert logged.result.usage.calls <= calls


# ── what those who rewrite are given ──


async def test_everybody_who_rewrites_sees_the_last_version_and_its_failed_claims(store: Store) -> None:
    thin = {"coverage": 0.4, "tone": 0.9, "missing": ["prices"]}
    model = Crew({"judge": [thin, {"coverage": 0.9, "tone": 0.9}], "fact_check": half}, complexity=1.0)
    logged = await study(store, model, depth="deep", max_usd=20.0, time_limit=7200.0, min_quality=0.5)
    assert logged.output["metrics"]["iteration_count"] == 2
    for task in ("write_article", "write_introduction", "write_conclusion", "edit"):
        first, second = (call.prompt for call in model.tasks(task)[:2])
        for heading in ("# The last version", "# Claims of the last version that no passage confirmed"):
            assert heading not in first, task
            assert heading in second, task


def half(call: Call) -> dict[str, Any]:
    return {"checks": checks_of(call.prompt, _SOURCE.findall(call.prompt), 0.5)}


async def test_points_about_length_and_tone_are_not_looked_for_in_sources(store: Store) -> None:
    points = [COUNTED, "An article of about 1,500 words", "a neutral tone throughout"]
    model, shelves = crew(draft={**DRAFT, "points": points}), Shelves()
    await study(store, model, "Measles in Norway", shelves=shelves, **BOTH)
    asked = [query for _, query in shelves.asked]
    assert asked.count(COUNTED) == 1
    assert not [query for query in asked if "words" in query or "tone" in query]
