"""Every error case of the seed, budgets, and odd answers."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import podium
from podium.engine.budget import Budget
from podium.engine.log import Store
from tests.workflows.studio.crew import (
    WORKED,
    Crew,
    RunEvents,
    artifact,
    brief,
    department,
    graded,
    make,
    specialist,
)

LOST = RuntimeError("the model is gone")


def always(task: str, department_key: str = "", most: int = 9) -> dict[str, Any]:
    """A script in which a head's task fails however often it is asked."""
    names = [task, *(f"{task}#{number}" for number in range(2, most))]
    prefix = f"{department_key}/" if department_key else ""
    return {f"{prefix}{name}": LOST for name in names}


# ── 1. Master Orchestrator failure ──


async def test_error_case_1_the_master_fails_to_route_without_a_retry(store: Store) -> None:
    crew = Crew({"route": LOST})
    result = await make(store, crew, WORKED, router="model")
    assert result.status == "failed"
    assert result.error.startswith("Unable to generate content: routing failed")
    assert "the model is gone" in result.error
    assert crew.paths == ["route"]


async def test_error_case_1_the_master_fails_to_aggregate_and_the_reports_stay(store: Store) -> None:
    crew = Crew({"aggregate": LOST})
    result = await make(store, crew)
    assert result.status == "failed"
    assert result.error.startswith("Unable to generate content: aggregation failed")
    assert len(crew.asked_to("aggregate")) == 1, "no retry"
    assert [report["status"] for report in result.output["departments"]] == ["completed"] * 4
    assert "## Visual Department" in result.output["deliverable"]
    crew.script["aggregate"] = "All in all."
    again = await (await podium.resume(result.run_id, model=crew, store=store)).result()
    assert (again.status, len(crew.asked_to("aggregate")), len(crew.asked_to("brief"))) == ("completed", 2, 4)


async def test_error_case_1_every_department_failed(store: Store) -> None:
    crew = Crew({**always("head_execute", "character")})
    result = await make(store, crew, "Create character Aladdin")
    assert result.status == "failed"
    assert result.error.startswith("Unable to generate content: every department failed")
    assert result.output["departments"][0]["status"] == "failed"
    assert crew.asked_to("aggregate") == []
    healthy = Crew()
    again = await (await podium.resume(result.run_id, model=healthy, store=store)).result()
    assert again.status == "completed", "what failed last is asked once more"
    assert healthy.paths == ["character/head_execute#4"]


# ── 2. Department head failure ──


async def test_error_case_2_a_head_fails_4_times_while_others_finish(store: Store) -> None:
    crew = Crew(always("brief", "character"))
    result = await make(store, crew)
    assert (result.status, result.stop_reason) == ("partial", "department failed")
    assert len([call for call in crew.asked_to("brief") if call.path.startswith("character/")]) == 4
    statuses = {report["departmentId"]: report["status"] for report in result.output["departments"]}
    assert statuses == {
        "dept-story": "completed",
        "dept-character": "failed",
        "dept-visual": "completed",
        "dept-audio": "completed",
    }
    (error,) = result.output["errors"]
    assert (error["department"], error["where"]) == ("character", "head")
    assert "the head failed 4 times" in error["error"]
    record = await artifact(store, result, "record.md")
    assert "Character Department (failed)" in record.partition("## What is missing")[2]
    assert "Character Department: the head failed 4 times" in crew.asked("aggregate")[0].prompt
    assert result.output["overall_quality"] == 68.72, "a failed department counts 0 with its relevance"


async def test_error_case_2_each_retry_of_a_head_reads_what_went_wrong(store: Store) -> None:
    crew = Crew({"character/head_execute": LOST, "character/head_execute#2": " "})
    result = await make(store, crew, "Create character Aladdin")
    assert result.status == "completed"
    prompt = crew.asked("character/head_execute#3")[0].prompt
    assert "- Attempt 1: RuntimeError: the model is gone" in prompt
    assert "- Attempt 2: the answer was empty" in prompt


async def test_error_case_2_dependents_are_reported_what_is_missing(store: Store) -> None:
    crew = Crew(always("brief", "character"))
    result = await make(store, crew)
    prompt = crew.asked("visual/brief")[0].prompt
    assert "# What is missing" in prompt
    assert "Character Department: the head failed 4 times" in prompt
    (missing,) = department(result, "visual")["missing"]
    assert missing.startswith("Character Department")
    log = await RunEvents.of(store, result.run_id)
    (started,) = log.of_type("department_started", department="visual")
    assert started["missing"] == [missing]


# ── 3. All specialists fail ──


async def test_error_case_3_all_specialists_fail_and_the_head_writes(store: Store) -> None:
    crew = Crew({"*/grade": graded(38, "no"), "character/head_execute": "MINE"})
    result = await make(store, crew, "a hero", departments="character", specialists="always")
    report = department(result, "character")
    assert (report["output"], report["qualityScore"], report["formulaScore"]) == ("MINE", 85, 15.2)
    assert report["metadata"]["failedSpecialists"] == 2
    assert crew.asked_to("synthesize") == []
    prompt = crew.asked("character/head_execute")[0].prompt
    assert "Score 38 is below the threshold" in prompt


async def test_error_case_3_all_specialists_error_at_once(store: Store) -> None:
    crew = Crew({"*/execute": LOST, "character/head_execute": "MINE"})
    result = await make(store, crew, "a hero", departments="character", specialists="always")
    assert result.status == "completed"
    report = department(result, "character")
    assert (report["output"], report["formulaScore"], report["qualityScore"]) == ("MINE", 0, 85)
    assert [item["qualityScore"] for item in report["specialistResults"]] == [0, 0]
    assert [error["where"] for error in result.output["errors"]] == [
        "character-profile-specialist",
        "character-personality-specialist",
    ]


# ── 4. Synthesis failure ──


async def test_error_case_4_synthesis_fails_4_times_and_the_best_output_stands_in(store: Store) -> None:
    crew = Crew(
        {
            **always("synthesize", "character"),
            "character/brief": brief("appearance", "personality"),
            "character/appearance/attempt/execute": "GOOD",
            "character/appearance/attempt/grade": graded(80),
            "character/personality/attempt/execute": "BEST",
            "character/personality/attempt/grade": graded(90),
        }
    )
    result = await make(store, crew, "a hero", departments="character", specialists="always")
    assert len(crew.asked_to("synthesize")) == 4
    report = department(result, "character")
    assert (report["output"], report["flags"]) == ("BEST", ["partial_synthesis_failure"])
    assert (result.status, result.stop_reason) == ("partial", "synthesis failed")
    assert (report["qualityScore"], report["formulaScore"]) == (48.0, 94.0), "one of two parts is in it"
    assert result.output["overall_quality"] == 45.0
    assert "only the work of the Personality Specialist is in it" in await artifact(
        store, result, "record.md"
    )
    assert any("partial_synthesis_failure" in error["error"] for error in result.output["errors"])
    log = await RunEvents.of(store, result.run_id)
    assert log.of_type("synthesized")[0]["fallback"] == "Personality Specialist"
    assert "Attempt 3: RuntimeError" in crew.asked("character/synthesize#4")[0].prompt


# ── a specialist that hangs, a grade that never comes ──


async def test_one_specialist_hangs_until_its_time_out_and_counts_0(store: Store, tmp_path: Path) -> None:
    team = tmp_path / "hasty.yaml"
    team.write_text(
        "extends: film\ndepartments:\n  character:\n    specialists:\n      appearance: {timeout: 0.05}\n"
    )

    async def hang(call: podium.Call) -> str:
        await asyncio.Event().wait()
        return "never"

    crew = Crew(
        {
            "character/brief": brief("appearance", "personality"),
            "character/appearance/attempt/execute": hang,
            "character/personality/attempt/grade": graded(90),
        }
    )
    result = await make(store, crew, "a hero", departments="character", specialists="always", team=str(team))
    assert result.status == "completed"
    appearance = specialist(result, "character", "character-appearance-specialist")
    assert (appearance["qualityScore"], appearance["reviewStatus"], appearance["attempts"]) == (
        0,
        "rejected",
        0,
    )
    assert "0.05" in appearance["error"]
    assert department(result, "character")["qualityScore"] == 48.0, "it counts in both means"


async def test_an_output_that_nobody_could_grade_counts_75(store: Store) -> None:
    crew = Crew({"character/brief": brief("personality"), "character/personality/attempt/grade": LOST})
    result = await make(store, crew, "a hero", departments="character", specialists="always")
    personality = specialist(result, "character", "character-personality-specialist")
    assert (personality["qualityScore"], personality["reviewStatus"], personality["attempts"]) == (
        75,
        "approved",
        1,
    )
    assert any("could not be graded" in warning for warning in result.warnings)


@pytest.mark.parametrize("bad", [{"quality": 1.5}, {"quality": -0.1}, {"quality": "high"}, {}])
async def test_a_grade_outside_0_to_1_is_sent_back(store: Store, bad: dict[str, Any]) -> None:
    wrong = {"relevance": 1, "consistency": 1, **bad}
    crew = Crew(
        {"character/brief": brief("personality"), "character/personality/attempt/grade": [wrong, graded(90)]}
    )
    result = await make(store, crew, "a hero", departments="character", specialists="always")
    assert len(crew.asked("character/personality/attempt/grade")) == 2
    assert specialist(result, "character", "character-personality-specialist")["qualityScore"] == 90


# ── budgets ──


async def test_out_of_budget_the_master_sums_up_what_there_is(store: Store) -> None:
    crew = Crew()
    result = await make(store, crew, WORKED, budget=Budget(calls=20), concurrency=1)
    assert (result.status, result.stop_reason) == ("partial", "budget")
    assert len(crew.calls) <= 20
    assert crew.paths[-1] == "aggregate", "from the closing reserve"
    statuses = {
        department["departmentId"]: department["status"] for department in result.output["departments"]
    }
    assert "unfinished" in statuses.values()
    assert result.output["deliverable"].startswith(f"# {WORKED}\n\nAll in all.")
    before = len(crew.calls)
    whole = await (
        await podium.resume(result.run_id, model=crew, store=store, budget=Budget(calls=200))
    ).result()
    assert whole.status == "completed", whole.error
    assert {department["status"] for department in whole.output["departments"]} == {"completed"}
    fresh = Crew()
    assert (await make(store, fresh)).status == "completed"
    assert len(crew.calls) - before == len(fresh.calls) - before + 1, "only the summing up is done once more"
    replayed = await podium.replay(result.run_id, store=store)
    assert replayed.output == whole.output
    log = await RunEvents.of(store, result.run_id)
    assert len(log.of_type("department_completed")) == 4
    reviewed = log.of_type("specialist_reviewed")
    assert [review["status"] for review in reviewed] == ["approved"] * 8, (
        "an empty budget is nobody's failure"
    )


async def test_a_batch_that_a_budget_cuts_short_goes_on_later(store: Store) -> None:
    options = {"departments": "story", "specialists": "always", "batch_grading": True}
    both = {"grades": [{"specialist": key, **graded(90)} for key in ("plot", "pacing")]}
    crew = Crew({"story/brief": brief("plot", "pacing"), "story/round/grade": both})
    result = await make(store, crew, WORKED, budget=Budget(calls=4), concurrency=1, **options)
    assert (result.status, department(result, "story")["status"]) == ("partial", "unfinished")
    whole = await (
        await podium.resume(result.run_id, model=crew, store=store, budget=Budget(calls=50))
    ).result()
    assert (whole.status, department(whole, "story")["qualityScore"]) == ("completed", 96.0)
    assert len(crew.asked_to("execute")) == 2, "nothing is paid twice"


async def test_out_of_time_there_is_an_answer_too(store: Store) -> None:
    async def slow(call: podium.Call) -> str:
        await asyncio.sleep(0.2)
        return "late"

    result = await make(store, Crew({"*/execute": slow}), WORKED, budget=Budget(seconds=0.3))
    assert (result.status, result.stop_reason) == ("partial", "time")
    assert result.output["deliverable"].startswith(f"# {WORKED}")
    again = await podium.resume(result.run_id, model=Crew(), store=store, budget=Budget(seconds=60))
    assert (await again.result()).status == "completed"


async def test_with_no_budget_at_all_there_is_still_an_answer(store: Store) -> None:
    result = await make(store, Crew(), WORKED, budget=Budget(calls=0))
    assert (result.status, result.stop_reason) == ("partial", "budget")
    assert "Missing: the work of Story Department" in result.output["deliverable"]
    assert any("were not brought together" in warning for warning in result.warnings)
    assert result.output["overall_quality"] is None


async def test_the_best_accepted_work_of_an_unfinished_department_is_not_lost(store: Store) -> None:
    crew = Crew({"story/brief": brief("plot", "pacing"), "story/plot/attempt/execute": "THE PLOT"})
    result = await make(
        store, crew, WORKED, departments="story", specialists="always", budget=Budget(calls=6), concurrency=1
    )
    report = department(result, "story")
    assert (report["status"], report["output"]) == ("unfinished", "THE PLOT")
    assert "THE PLOT" in crew.asked("aggregate")[0].prompt
    assert "THE PLOT" in await artifact(store, result, "record.md")


# ── hostile and odd answers ──


async def test_text_of_models_cannot_break_the_page_or_the_prompts(store: Store) -> None:
    nasty = "<script>alert(1)</script> {{ request }} {% raw %} \x1b[31mred ![x](http://evil/x.png)"
    crew = Crew({"*/synthesize": nasty, "aggregate": nasty, "*/execute": nasty})
    result = await make(store, crew, f"a scene {nasty}")
    assert result.status == "completed"
    page = next(artifact for artifact in result.artifacts if artifact.name == "deliverable.html")
    text = (await store.get_blob(page.blob)).decode()
    assert "<script" not in text
    assert "<img" not in text
    assert "\x1b" not in text
    assert "{{ request }}" in crew.asked_to("grade")[0].prompt, "a model's text is never a template"


async def test_a_very_long_request_and_very_long_texts(store: Store) -> None:
    crew = Crew({"*/synthesize": "word " * 40_000})
    result = await make(store, crew, "A scene. " * 5_000)
    assert result.status == "completed"
    assert len(result.output["departments"][0]["output"]) > 100_000
