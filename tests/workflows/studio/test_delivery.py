"""The direct draft, the editor's pass and the blind comparison of a studio."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

import podium
from podium.engine.budget import Budget
from podium.engine.log import Store
from podium.engine.result import RunResult
from podium.report.data import facts_of
from podium.report.html import to_html
from podium.report.markdown import to_markdown
from podium.workflows import presentation_of
from podium.workflows.studio.context import NewFact
from podium.workflows.studio.flow import studio_with
from tests.workflows import scripted
from tests.workflows.studio.crew import Crew, artifact, conflict, edit, judged, make
from tests.workflows.studio.test_memory import Memory, fact_data

SCENE = "# Bread\n\nDawn. A stall.\n\nMARA: Stay.\nTOM: No."
DUSK = edit(changes=[{"find": "Dawn. A stall.", "replace": "Dusk. A stall."}])
BOTH: dict[str, Any] = {"floor": True, "editor": True}
STAYS = {"yields": False, "reason": "the light", "output": ""}
POINT = "- who steals what"


async def from_log(store: Store, run_id: str) -> tuple[str, str, str]:
    """Return what a reader of the log alone gets: the deliverable, the Markdown report, the HTML report."""
    shown = presentation_of("studio")
    events = [row.to_event(run_id) for row in await store.read(run_id)]
    for event in events:
        shown.apply(event)
    output = (await podium.replay(run_id, store=store)).output
    facts, sections = facts_of(events, output=output, shown=shown), shown.sections(alive=False)
    return (
        shown.deliverable(output) or "",
        to_markdown(facts, sections),
        to_html(facts, sections, shown.answer(output)),
    )


# ── the checklist ──


async def test_heads_and_master_see_the_points_and_the_draft(store: Store) -> None:
    crew = Crew()
    result = await make(store, crew, **BOTH)
    assert result.status == "completed", result.error
    assert crew.tasks[0] == "draft"
    for task in ("brief", "synthesize", "aggregate"):
        assert all(POINT in call.prompt for call in crew.asked_to(task)), task
    for call in crew.asked_to("brief"):
        assert "<first_version>\n# A draft\n\nAll in one go.\n</first_version>" in call.prompt
        assert "Build on it" in call.prompt, "all departments begin with one idea"
    for task in ("execute", "grade", "synthesize"):
        assert not any("All in one go." in call.prompt for call in crew.asked_to(task)), task
    (master,) = crew.asked_to("aggregate")
    assert "<draft>\n# A draft\n\nAll in one go.\n</draft>" in master.prompt
    assert "must be clearly better" in master.prompt


async def test_a_head_that_writes_alone_sees_the_points_and_the_draft(store: Store) -> None:
    crew = Crew()
    await make(store, crew, "Create character Aladdin", **BOTH)
    prompt = crew.asked("character/head_execute")[0].prompt
    assert POINT in prompt
    assert "All in one go." in prompt


async def test_without_floor_and_editor_nothing_is_asked_or_shown_beyond_the_team(store: Store) -> None:
    crew = Crew()
    result = await make(store, crew)
    assert not {"draft", "edit_result", "compare"} & set(crew.tasks)
    assert not any("complete result contains" in call.prompt for call in crew.calls)
    assert result.output["comparison"] is None
    assert "How the result was checked" not in await artifact(store, result, "record.md")
    assert {artifact.name for artifact in result.artifacts} == {
        "deliverable.md",
        "deliverable.html",
        "record.md",
        "record.html",
    }


async def test_a_small_budget_gets_no_draft(store: Store) -> None:
    crew = Crew()
    result = await make(
        store, crew, "Create character Aladdin", specialists="never", budget=Budget(calls=6), **BOTH
    )
    assert crew.tasks == ["head_execute", "edit_result"]
    assert result.status == "completed", result.error
    skipped = await scripted.events_of(store, result.run_id, "floor")
    assert ("skipped", {"reason": "it would take too much of this budget"}) in skipped


# ── the editor ──


async def test_the_editors_changes_reach_files_report_and_show(store: Store) -> None:
    crew = Crew({"aggregate": SCENE, "delivery/edit_result": DUSK})
    result = await make(store, crew, departments="story,audio", **BOTH)
    whole = "# Bread\n\nDusk. A stall.\n\nMARA: Stay.  \nTOM: No.\n"
    assert result.output["deliverable"] == whole
    assert await artifact(store, result, "deliverable.md") == whole
    page = await artifact(store, result, "deliverable.html")
    shown, markdown, html = await from_log(store, result.run_id)
    assert shown == whole
    for text in (page, markdown, html, *(call.prompt for call in crew.asked_to("compare"))):
        assert "Dusk. A stall." in text
        assert "Dawn. A stall." not in text
    (edit_call,) = crew.asked_to("edit_result")
    assert "MARA: Stay.\nTOM: No." in edit_call.prompt, "as the editor would quote it"
    assert '<material title="Audio Department">' in edit_call.prompt
    assert result.output["comparison"]["preferred"] == "team"
    for text in (markdown, html, await artifact(store, result, "record.md")):
        assert "Editor: 1 part of the request checked, 1 passage changed." in text
        assert "the team's text is better than the direct draft" in text.replace("&#39;", "'")


async def test_a_part_that_the_editor_finds_unanswered_makes_the_run_partial(store: Store) -> None:
    whole = await make(store, Crew(), departments="story")
    crew = Crew({"delivery/edit_result": edit("the length in minutes")})
    result = await make(store, crew, departments="story", **BOTH)
    assert (result.status, result.stop_reason, result.output["missing"]) == (
        "partial",
        "not met",
        ["the length in minutes"],
    )
    assert result.output["overall_quality"] == whole.output["overall_quality"]
    assert "Missing: the length in minutes" in result.warnings
    assert "- the length in minutes" in await artifact(store, result, "record.md")
    assert "the length in minutes" not in result.output["deliverable"]
    _, markdown, html = await from_log(store, result.run_id)
    assert markdown.count("the length in minutes") == html.count("the length in minutes") == 1


async def test_open_conflicts_and_gaps_are_reported_to_the_editor_and_kept_in_the_record(
    store: Store,
) -> None:
    crew = Crew(
        {
            "validate": {"conflicts": [conflict("story", "audio", what="dawn or dusk")]},
            "validate#2": {"conflicts": [conflict("story", "audio", what="dawn or dusk")]},
            "*/resolve": STAYS,
        }
    )
    result = await make(store, crew, departments="story,audio", **BOTH)
    assert result.status == "completed", result.error
    (call,) = crew.asked_to("edit_result")
    assert (
        "- Story Department and Audio Department contradict each other: dawn or dusk (high)." in call.prompt
    )
    (open_conflict,) = result.output["conflicts"]
    note = "The editor, who knew of it, finished the text."
    assert (open_conflict["status"], open_conflict["in_result"]) == ("unresolved", note)
    assert f"Unresolved conflict (high): dawn or dusk. {note}" in result.warnings
    _, markdown, html = await from_log(store, result.run_id)
    for text in (
        markdown,
        html,
        await artifact(store, result, "record.md"),
        await artifact(store, result, "record.html"),
    ):
        assert note in text
    assert "dusk" not in result.output["deliverable"]
    assert result.output["overall_quality"] == 85.0, "what the departments left open still costs 10 points"


async def test_an_editor_that_fails_changes_nothing(store: Store) -> None:
    crew = Crew({"story/head_execute": SCENE, "delivery/edit_result": RuntimeError("down")})
    result = await make(store, crew, departments="story", **BOTH)
    assert (result.status, "Dawn." in result.output["deliverable"]) == ("completed", True)
    assert any(warning.startswith("The editor did not check the result") for warning in result.warnings)


async def test_a_failed_department_stays_a_reason_whatever_the_editor_says(store: Store) -> None:
    crew = Crew({f"audio/brief{nth}": RuntimeError("down") for nth in ("", "#2", "#3", "#4")})
    result = await make(store, crew, departments="story,audio", **BOTH)
    assert (result.status, result.stop_reason, result.output["missing"]) == (
        "partial",
        "department failed",
        ["Audio Department"],
    )
    assert "- Audio Department: the head failed 4 times" in crew.asked_to("edit_result")[0].prompt


# ── the comparison ──


async def test_a_draft_that_is_judged_better_is_handed_over_with_a_warning(store: Store) -> None:
    crew = Crew({"story/head_execute": SCENE, "*/compare": judged("draft", "B ends the scene.")})
    result = await make(store, crew, departments="story", **BOTH)
    draft = "# A draft\n\nAll in one go.\n"
    assert (result.status, result.quality, result.output["overall_quality"]) == ("completed", None, None)
    assert result.output["deliverable"] == draft
    assert await artifact(store, result, "deliverable.md") == draft
    assert "MARA: Stay." in await artifact(store, result, "team-version.md")
    assert result.output["comparison"]["preferred"] == "draft"
    assert "B ends the scene." in result.output["comparison"]["why"][0]
    assert any("judged better than the team's text" in warning for warning in result.warnings)
    shown, markdown, html = await from_log(store, result.run_id)
    assert shown == draft
    notice = "The direct draft was judged better and is the result."
    for text in (markdown, html, await artifact(store, result, "record.md")):
        assert f"{notice} The team's text is in team-version.md" in text.replace("&#39;", "'")
    record = await artifact(store, result, "record.md")
    assert "The direct draft is the result; quality of the team's text 85" in record
    assert "Overall quality" not in record + await artifact(store, result, "record.html")


async def test_where_every_department_fails_the_draft_is_left(store: Store) -> None:
    crew = Crew({f"story/head_execute{nth}": RuntimeError("down") for nth in ("", "#2", "#3", "#4")})
    result = await make(store, crew, "x", departments="story", specialists="never", **BOTH)
    assert result.status == "failed"
    assert "The direct draft is in direct-draft.md." in result.warnings
    assert await artifact(store, result, "direct-draft.md") == "# A draft\n\nAll in one go.\n"


# ── durability ──


@pytest.mark.parametrize("calls", [10, 20, 26])
async def test_a_raised_budget_pays_nothing_twice_and_ends_in_the_same_text(store: Store, calls: int) -> None:
    script = {"aggregate": SCENE, "aggregate#2": SCENE, "*/edit_result": DUSK}
    whole = await make(store, Crew(script), concurrency=1, **BOTH)
    assert (whole.status, whole.usage.calls) == ("completed", 30)
    crew = Crew(script)
    stopped = await make(store, crew, concurrency=1, budget=Budget(calls=calls), **BOTH)
    assert stopped.usage.calls <= calls
    resumed = await podium.resume(stopped.run_id, model=crew, store=store, budget=Budget(calls=200))
    result = await resumed.result()
    assert result.status == "completed", result.error
    assert result.output["deliverable"] == whole.output["deliverable"]
    assert result.output["comparison"] == whole.output["comparison"]
    call_counts = Counter((call.path, call.prompt) for call in crew.calls)
    assert [path for (path, _), times in call_counts.items() if times > 1] == []
    assert len(crew.asked_to("draft")) == 1


async def test_a_draft_that_failed_is_not_asked_for_again_when_a_failed_run_goes_on(store: Store) -> None:
    crew = Crew({"floor/draft": RuntimeError("down"), "aggregate": RuntimeError("down")})
    failed = await make(store, crew, departments="story,audio", **BOTH)
    assert failed.status == "failed"
    assert any(warning.startswith("There is no direct draft") for warning in failed.warnings)
    healthy = Crew()
    result = await (await podium.resume(failed.run_id, model=healthy, store=store)).result()
    assert (result.status, healthy.tasks) == ("completed", ["aggregate", "edit_result"])
    assert result.output["comparison"] is None


async def test_a_result_that_could_not_be_compared_is_a_result_with_a_warning(store: Store) -> None:
    result = await make(store, Crew(), concurrency=1, budget=Budget(calls=29), **BOTH)
    assert (result.status, result.usage.calls, result.output["comparison"]) == ("completed", 28, None)
    assert any("was not compared with the direct draft" in warning for warning in result.warnings)


async def test_out_of_time_during_the_editors_pass_the_teams_text_is_handed_over(store: Store) -> None:
    async def never(call: podium.Call) -> None:
        await asyncio.Event().wait()

    crew = Crew({"story/head_execute": SCENE, "delivery/edit_result": never})
    result = await make(store, crew, departments="story", budget=Budget(seconds=1), **BOTH)
    assert (result.status, result.stop_reason) == ("partial", "time")
    assert "Dawn. A stall." in result.output["deliverable"]
    assert any("was not checked to the end" in warning for warning in result.warnings)


# ── a project ──


class Remembers(Memory):
    """A project that contradicts nothing but green eyes."""

    async def contradictions(self, facts: Any) -> list[Any]:
        return await super().contradictions([fact for fact in facts if fact.value == "green"])


async def looks_up(store: Store, memory: Memory, crew: Crew) -> RunResult:
    return await make(
        store, crew, "omar looks up", workflow=studio_with(memory.open), project="bread", **BOTH
    )


async def test_a_project_is_reported_the_facts_of_the_text_that_is_handed_over(store: Store) -> None:
    before, after = fact_data("Omar", "age", "12"), fact_data("Omar", "age", "13")
    memory = Remembers()
    crew = Crew(
        {
            "character/head_execute": SCENE,
            "delivery/edit_result": DUSK,
            "facts/character/extract_facts": {"facts": [before]},
            "delivery#2/extract_facts": {"facts": [after]},
        }
    )
    result = await looks_up(store, memory, crew)
    assert memory.proposed == [(result.run_id, [NewFact.model_validate(after)])]
    assert "Dusk. A stall." in crew.asked("delivery#2/extract_facts")[0].prompt
    for task in ("draft", "edit_result"):
        assert "- Omar, eye colour: brown" in crew.asked_to(task)[0].prompt


async def test_a_text_that_contradicts_the_project_after_all_is_warned_about(store: Store) -> None:
    crew = Crew(
        {
            "character/head_execute": SCENE,
            "delivery/edit_result": DUSK,
            "delivery#2/extract_facts": {"facts": [fact_data("Omar", "eye colour", "green")]},
        }
    )
    result = await looks_up(store, Remembers(), crew)
    assert any(
        warning.startswith("The result contradicts a settled fact (high)") for warning in result.warnings
    )


async def test_an_unchanged_text_keeps_the_facts_of_the_departments(store: Store) -> None:
    memory = Remembers()
    crew = Crew({"facts/character/extract_facts": {"facts": [fact_data("Omar", "age", "12")]}})
    await looks_up(store, memory, crew)
    ((_, facts),) = memory.proposed
    assert [fact.value for fact in facts] == ["12"]
    assert len(crew.asked_to("extract_facts")) == 1


async def test_a_low_conflict_is_no_warning_once_the_editor_has_finished_the_text(store: Store) -> None:
    found_low = {"conflicts": [conflict("story", "audio", what="dusk or evening", severity="low")]}
    crew = Crew({"*/validate": found_low})
    edited = await make(store, crew, departments="story,audio", **BOTH)
    assert not any("Unresolved conflict" in line for line in edited.warnings)
    assert edited.output["conflicts"][0]["status"] == "unresolved", "the record lists it"
    alone = await make(store, Crew({"*/validate": found_low}), departments="story,audio")
    assert any("Unresolved conflict (low): dusk or evening" in line for line in alone.warnings)
