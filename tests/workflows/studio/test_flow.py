"""The studio at work: the worked example, the order of things, retries, synthesis, options, gates."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

import podium
from podium.engine.log import Store
from podium.errors import UsageError
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

CHARACTER = {
    "character/brief": brief("appearance", "personality"),
    "character/appearance/attempt/grade": graded(58, "the face is missing", "describe the face"),
    "character/appearance/attempt#2/grade": graded(72, "better"),
    "character/personality/attempt/grade": graded(87, "lively"),
}
"""The character department of the worked example."""

ALONE = {"departments": "character"}


# ── the worked example ──


async def test_the_worked_example_end_to_end(store: Store) -> None:
    result = await make(store, Crew(CHARACTER))
    assert (result.status, result.error) == ("completed", "")
    output = result.output
    assert set(output) == {
        "routing",
        "departments",
        "conflicts",
        "overall_quality",
        "deliverable",
        "missing",
        "comparison",
        "errors",
    }
    routing = output["routing"]
    assert (routing["primary"], routing["mode"]) == ("story", "sequential")
    assert routing["supporting"] == ["character", "visual", "audio"]
    assert routing["scores"][0] == {
        "department": "story",
        "relevance": 0.85,
        "priority": 1,
        "reason": "keywords: dramatic, opening, scene",
    }
    assert [report["departmentId"] for report in output["departments"]] == [
        "dept-story",
        "dept-character",
        "dept-visual",
        "dept-audio",
    ]
    character = department(result, "character")
    assert (character["complexity"], character["status"]) == ("moderate", "completed")
    assert (character["qualityScore"], character["formulaScore"]) == (91.8, 91.8)
    appearance = specialist(result, "character", "character-appearance-specialist")
    assert (appearance["qualityScore"], appearance["reviewStatus"]) == (72, "revision-needed")
    assert (appearance["threshold"], appearance["attempts"]) == (65, 2)
    personality = specialist(result, "character", "character-personality-specialist")
    assert (personality["qualityScore"], personality["reviewStatus"]) == (87, "approved")
    others = (0.85, 95.0), (0.65, 79.5), (0.5, 95.0), (0.35, 95.0)
    expected = round(sum(a * b for a, b in others) / sum(a for a, _ in others), 2)
    assert output["overall_quality"] == result.quality == expected


async def test_section_9_a_department_report_has_the_shape_of_the_seed(store: Store) -> None:
    result = await make(store, Crew(CHARACTER), **ALONE, specialists="always")
    report = department(result, "character")
    wanted = {
        "departmentId",
        "departmentName",
        "headExecutionId",
        "output",
        "qualityScore",
        "specialistResults",
        "metadata",
        "complexity",
        "status",
    }
    assert wanted <= set(report)
    assert report["departmentName"] == "Character Department"
    assert report["headExecutionId"] == f"{result.run_id}:character/synthesize"
    assert report["metadata"]["specialistsUsed"] == 2
    assert set(report["metadata"]) == {
        "analysisTime",
        "specialistsUsed",
        "totalExecutionTime",
        "successfulSpecialists",
        "failedSpecialists",
    }
    for item in report["specialistResults"]:
        assert {
            "agentId",
            "agentName",
            "specialization",
            "output",
            "qualityScore",
            "executionTime",
            "reviewStatus",
            "reviewNotes",
        } <= set(item)
        assert isinstance(item["executionTime"], int)


async def test_the_worked_example_in_the_order_of_the_seed(store: Store) -> None:
    """Character, story and audio start at once; visual the moment that character and story are done."""
    crew = Crew(CHARACTER)
    log = await RunEvents.of(store, (await make(store, crew)).run_id)
    kinds = [name for name, _ in log.rows]
    assert kinds[0] == "routed"
    assert kinds[1:4] == ["department_started"] * 3
    assert {data["department"] for _, data in log.rows[1:4]} == {"story", "character", "audio"}
    visual = log.index("department_started", department="visual")
    for needed in ("story", "character"):
        assert log.index("department_completed", department=needed) < visual
    assert kinds[-2:] == ["validated", "aggregated"]
    of_appearance = [name for name, data in log.rows if data.get("specialist") == "appearance"]
    assert of_appearance == [
        "specialist_started",
        "specialist_graded",
        "specialist_retried",
        "specialist_graded",
        "specialist_reviewed",
    ]


async def test_a_department_does_not_wait_for_what_it_does_not_need(store: Store) -> None:
    """Visual needs story and character, not audio: it is done while audio still writes."""
    visual_done = asyncio.Event()

    async def slow(call: podium.Call) -> str:
        await visual_done.wait()
        return "at last"

    def note(call: podium.Call) -> str:
        visual_done.set()
        return "the pictures"

    crew = Crew({"audio/synthesize": slow, "visual/synthesize": note})
    result = await make(store, crew)
    assert result.status == "completed"
    log = await RunEvents.of(store, result.run_id)
    assert log.index("department_completed", department="visual") < log.index(
        "department_completed", department="audio"
    )


async def test_dependents_receive_the_outputs_that_they_depend_on(store: Store) -> None:
    crew = Crew(
        {"story/synthesize": "THE STORY", "character/synthesize": "THE PERSON", "audio/synthesize": "NOISE"}
    )
    await make(store, crew)
    for path in ("visual/brief", "visual/synthesize"):
        prompt = crew.asked(path)[0].prompt
        assert "THE STORY" in prompt
        assert "THE PERSON" in prompt
        assert "NOISE" not in prompt, "audio is none of visual's needs"
    assert "THE STORY" not in crew.asked("character/brief")[0].prompt


# ── 5. the retry prompt ──

REQUEST = "Describe a hero.\n\n  Keep *this* line as it is."


def failing(*grades: Any) -> Crew:
    script: dict[str, Any] = {"character/brief": brief("appearance")}
    for number, grade in enumerate(grades, 1):
        at = "attempt" if number == 1 else f"attempt#{number}"
        script[f"character/appearance/{at}/execute"] = f"TEXT {number}"
        script[f"character/appearance/{at}/grade"] = grade
    return Crew(script)


def retry(crew: Crew, number: int) -> str:
    return crew.asked(f"character/appearance/attempt#{number}/execute")[0].prompt


def section(prompt: str, title: str) -> str:
    match = re.search(rf"^# {re.escape(title)}\n(.*?)(?=^# |\Z)", prompt, re.DOTALL | re.MULTILINE)
    assert match, f"no section {title} in:\n{prompt}"
    return match[1].strip()


async def test_the_exact_retry_prompt_parts_after_1_2_and_3_failures(store: Store) -> None:
    first, third = graded(58, "no face", "show the face"), graded(64, "nearly", "polish")
    crew = failing(first, graded(60, "no hands"), third, graded(90))
    result = await make(store, crew, REQUEST, **ALONE, specialists="always")
    assert specialist(result, "character", "character-appearance-specialist")["attempts"] == 4
    lines = [
        "- Attempt 1: scored 58, the threshold is 65. no face",
        "- Attempt 2: scored 60, the threshold is 65. no hands",
        "- Attempt 3: scored 64, the threshold is 65. nearly",
    ]
    for failures in (1, 2, 3):
        prompt = retry(crew, failures + 1)
        assert prompt.startswith(f"# Request\n\n<request>\n{REQUEST}\n</request>\n"), "unchanged"
        assert "\nTEXT" in section(prompt, "Your last attempt, which did not pass")
        assert f"<attempt>\nTEXT {failures}\n</attempt>" in prompt
        assert section(prompt, "Feedback on your attempts so far").splitlines() == lines[:failures]
    assert section(retry(crew, 2), "What to improve").startswith("- show the face\n")
    improve = section(retry(crew, 3), "What to improve")
    assert all(word in improve for word in ("quality", "relevance", "consistency")), "nothing was suggested"
    assert section(retry(crew, 4), "What to improve").startswith("- polish\n")
    at_first = crew.asked("character/appearance/attempt/execute")[0].prompt
    assert "Feedback" not in at_first
    assert retry(crew, 2).startswith(at_first), "the same prefix, which providers cache"


async def test_after_discard_the_failed_output_is_one_to_leave_behind(store: Store) -> None:
    crew = failing(graded(44.99, "all wrong"), graded(45, "still not"), graded(90))
    await make(store, crew, REQUEST, **ALONE, specialists="always")
    text = section(retry(crew, 2), "Your last attempt: leave it behind")
    assert "start afresh" in text
    assert "TEXT 1" in text
    assert "TEXT 2" in section(retry(crew, 3), "Your last attempt, which did not pass"), "45 can be revised"


async def test_when_attempts_run_out_the_best_one_counts(store: Store) -> None:
    crew = failing(graded(50), graded(61, "the best"), graded(30), graded(55))
    result = await make(store, crew, REQUEST, **ALONE, specialists="always")
    appearance = specialist(result, "character", "character-appearance-specialist")
    assert (appearance["output"], appearance["qualityScore"], appearance["reviewStatus"]) == (
        "TEXT 2",
        61,
        "rejected",
    )
    assert appearance["attempts"] == 4
    assert len(crew.asked("character/appearance/attempt#5/execute")) == 0


async def test_threshold_0_is_graded_once_and_never_retried(store: Store, tmp_path: Path) -> None:
    team = tmp_path / "draft.yaml"
    team.write_text(
        "extends: film\ndepartments:\n  character:\n    specialists:\n"
        "      appearance: {passing_threshold: 0}\n"
    )
    crew = failing(graded(0, "nothing"))
    result = await make(store, crew, REQUEST, **ALONE, specialists="always", team=str(team))
    appearance = specialist(result, "character", "character-appearance-specialist")
    assert (appearance["reviewStatus"], appearance["reviewNotes"]) == (
        "approved",
        "Auto-approved (no threshold set)",
    )
    assert (appearance["qualityScore"], appearance["attempts"]) == (0, 1)


async def test_an_empty_answer_is_a_failed_attempt_that_nobody_grades(store: Store) -> None:
    crew = Crew({"character/brief": brief("appearance"), "character/appearance/attempt/execute": "  \n"})
    result = await make(store, crew, REQUEST, **ALONE, specialists="always")
    assert crew.asked("character/appearance/attempt/grade") == []
    appearance = specialist(result, "character", "character-appearance-specialist")
    assert (appearance["attempts"], appearance["reviewStatus"]) == (2, "approved")
    assert "leave it behind" in retry(crew, 2)


# ── 2 and 3. who works ──


async def test_section_2_a_simple_request_is_done_by_the_head_alone(store: Store) -> None:
    crew = Crew({"character/head_execute": "I did it."})
    result = await make(store, crew, "Create character Aladdin")
    assert crew.paths == ["character/head_execute"], "no brief, no validation, nothing to bring together"
    report = department(result, "character")
    assert (report["output"], report["qualityScore"], report["formulaScore"]) == ("I did it.", 85, None)
    assert report["headExecutionId"].endswith(":character/head_execute")


@pytest.mark.parametrize(("policy", "number"), [("never", 0), ("auto", 0), ("always", 2)])
async def test_specialists_never_auto_always(store: Store, policy: str, number: int) -> None:
    crew = Crew()
    await make(store, crew, "Create character Aladdin", specialists=policy)
    assert len(crew.asked_to("execute")) == number


async def test_a_complex_request_gets_four_specialists(store: Store) -> None:
    crew = Crew()
    await make(store, crew, "Create a detailed character", **ALONE)
    assert len({call.agent for call in crew.asked_to("execute")}) == 4
    assert "4 of them can work on it" in crew.asked_to("brief")[0].prompt


async def test_specialists_work_at_once_and_in_production_one_after_the_other(store: Store) -> None:
    at_work = most = 0

    async def count(call: podium.Call) -> str:
        nonlocal at_work, most
        at_work += 1
        most = max(most, at_work)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        at_work -= 1
        return "done"

    for key, expected in (("production", 1), ("story", 2)):
        most = 0
        await make(store, Crew({"*/execute": count}), "Plan it", departments=key, specialists="always")
        assert most == expected


# ── 7. synthesis ──


async def test_section_7_synthesis_reads_everything_accepted_with_its_note_and_nothing_rejected(
    store: Store,
) -> None:
    crew = Crew(
        {
            "character/brief": brief("appearance", "personality", "arc", "voice"),
            "character/appearance/attempt/execute": "FACE",
            "character/appearance/attempt/grade": graded(70),
            "character/personality/attempt/execute": "TEMPER",
            "character/arc/attempt/execute": "ARC",
            "character/arc/attempt/grade": graded(10),
            "character/arc/attempt#2/grade": graded(10),
            "character/arc/attempt#3/grade": graded(10),
            "character/arc/attempt#4/grade": graded(10),
        }
    )
    result = await make(store, crew, "Create a detailed character", **ALONE)
    prompt = crew.asked("character/synthesize")[0].prompt
    assert "FACE" in prompt
    assert "Note: Score 70 is accepted, within 10 points of the threshold 65" in prompt
    assert "TEMPER" in prompt
    assert "ARC" not in prompt
    assert department(result, "character")["output"] == "synthesize by Character Head", "a new text"
    assert "Arc Specialist 10 in 4 attempts, rejected" in await artifact(store, result, "record.md")


async def test_contradictions_among_specialists_are_listed_and_the_heads_decision_is_shown(
    store: Store,
) -> None:
    crew = Crew(
        {
            "character/brief": brief("appearance", "personality"),
            "character/appearance/attempt/execute": "Eyes: green",
            "character/personality/attempt/execute": "Eyes: brown",
            "character/synthesize": (
                "He looks at you.\n\n## Decisions about contradictions\n- Eyes: green, as in the book"
            ),
        }
    )
    result = await make(store, crew, REQUEST, **ALONE, specialists="always")
    prompt = crew.asked("character/synthesize")[0].prompt
    assert "- eyes: Appearance Specialist says “green”; Personality Specialist says “brown”" in prompt
    report = department(result, "character")
    assert report["output"] == "He looks at you."
    assert report["decisions"] == ["Eyes: green, as in the book"]
    assert "Eyes: green, as in the book" in await artifact(store, result, "record.md")


PROSE = (
    "He looks at you.\n\n## Decisions about contradictions\n\n"
    "- **Where he sleeps**: Appearance Specialist says he wakes on a roof; Personality Specialist says he\n"
    "  has never slept outside. Decided: the roof, because the opening needs the height.\n"
    "- His age. Decided: seventeen.\n"
    "- Left open on purpose"
)


async def test_contradictions_in_prose_are_reported_by_the_head_and_stand_in_the_record_alone(
    store: Store,
) -> None:
    crew = Crew(
        {
            "character/brief": brief("appearance", "personality"),
            "character/appearance/attempt/execute": "He wakes on a roof.",
            "character/personality/attempt/execute": "He has never slept outside.",
            "character/synthesize": PROSE,
        }
    )
    result = await make(store, crew, REQUEST, **ALONE, specialists="always")
    prompt = crew.asked("character/synthesize")[0].prompt
    assert "WHAT: NAME says …; NAME says …. Decided: …, because …" in prompt
    report = department(result, "character")
    roof = "the roof, because the opening needs the height."
    statements = (
        "Appearance Specialist says he wakes on a roof; "
        "Personality Specialist says he has never slept outside."
    )
    assert report["foundContradictions"] == [
        {"what": "Where he sleeps", "said": statements, "decision": roof},
        {"what": "His age.", "said": "", "decision": "seventeen."},
        {"what": "", "said": "", "decision": "Left open on purpose"},
    ]
    assert report["output"] == "He looks at you."
    assert "roof" not in result.output["deliverable"]
    record = await artifact(store, result, "record.md")
    assert f"- **Where he sleeps**: {statements} Decided: {roof}" in record
    assert "- Left open on purpose" in record
    page = await artifact(store, result, "record.html")
    assert f"<b>Where he sleeps</b>: {statements} Decided: {roof}" in page
    log = await RunEvents.of(store, result.run_id)
    (event,) = log.of_type("synthesized")
    assert (event["contradictions"], len(event["decisions"])) == ([], 3)


async def test_synthesis_rounds_show_the_head_its_last_draft(store: Store) -> None:
    crew = Crew(
        {"character/synthesize": "ONE", "character/synthesize#2": "TWO", "character/synthesize#3": "THREE"}
    )
    result = await make(store, crew, REQUEST, **ALONE, specialists="always", synthesis_rounds=3)
    assert department(result, "character")["output"] == "THREE"
    assert section(crew.asked("character/synthesize#3")[0].prompt, "Your last draft").startswith(
        "<draft>\nTWO"
    )
    assert "draft" not in crew.asked("character/synthesize")[0].prompt


async def test_a_later_round_that_fails_leaves_the_draft_before_it(store: Store) -> None:
    crew = Crew({"character/synthesize": "ONE", "character/synthesize#2": RuntimeError("tired")})
    result = await make(store, crew, REQUEST, **ALONE, specialists="always", synthesis_rounds=3)
    report = department(result, "character")
    assert (report["output"], report["flags"]) == ("ONE", [])
    assert len(crew.asked_to("synthesize")) == 2


# ── batch grading ──


async def test_batch_grading_grades_those_who_finish_together_in_one_call(store: Store) -> None:
    def both(first: float, second: float) -> dict[str, Any]:
        return {
            "grades": [
                {"specialist": "appearance", **graded(first, "no face")},
                {"specialist": "personality", **graded(second)},
            ]
        }

    crew = Crew(
        {
            "character/brief": brief("appearance", "personality"),
            "character/round/grade": both(58, 87),
            "character/round#2/grade": {"grades": [{"specialist": "appearance", **graded(72)}]},
        }
    )
    result = await make(store, crew, REQUEST, **ALONE, specialists="always", batch_grading=True)
    assert len(crew.asked_to("execute")) == 3
    assert len(crew.asked_to("grade")) == 2
    assert department(result, "character")["qualityScore"] == 91.8
    again = crew.asked("character/round#2/appearance/execute")[0].prompt
    assert "Attempt 1: scored 58, the threshold is 65. no face" in again


async def test_a_batch_grade_that_forgets_somebody_is_sent_back(store: Store) -> None:
    incomplete = {"grades": [{"specialist": "appearance", **graded(90)}]}
    both = {"grades": [*incomplete["grades"], {"specialist": "personality", **graded(90)}]}
    crew = Crew(
        {"character/brief": brief("appearance", "personality"), "character/round/grade": [incomplete, both]}
    )
    result = await make(store, crew, REQUEST, **ALONE, specialists="always", batch_grading=True)
    assert "there is no grade for personality" in crew.asked("character/round/grade")[1].prompt
    assert result.status == "completed"


async def test_a_batch_that_nobody_could_grade_counts_75(store: Store) -> None:
    crew = Crew({"character/brief": brief("appearance", "personality"), "*/grade": RuntimeError("down")})
    result = await make(store, crew, REQUEST, **ALONE, specialists="always", batch_grading=True)
    assert [item["qualityScore"] for item in department(result, "character")["specialistResults"]] == [75, 75]
    assert any("could not be graded" in warning for warning in result.warnings)


async def test_in_a_batch_one_that_fails_does_not_disturb_the_others(store: Store) -> None:
    crew = Crew(
        {
            "character/brief": brief("appearance", "personality"),
            "character/round/appearance/execute": RuntimeError("down"),
            "character/round/grade": {"grades": [{"specialist": "personality", **graded(90)}]},
        }
    )
    result = await make(store, crew, REQUEST, **ALONE, specialists="always", batch_grading=True)
    appearance = specialist(result, "character", "character-appearance-specialist")
    assert (appearance["qualityScore"], appearance["error"]) == (0, "RuntimeError: down")
    assert department(result, "character")["qualityScore"] == 48.0


# ── routing options ──


async def test_the_model_may_route_instead(store: Store) -> None:
    scores = [
        {"department": "audio", "relevance": 0.9, "reason": "it is a song"},
        {"department": "story", "relevance": 0.31},
        {"department": "visual", "relevance": 0.3},
    ]
    crew = Crew({"route": {"scores": scores}})
    result = await make(store, crew, WORKED, router="model")
    routing = result.output["routing"]
    assert (routing["primary"], routing["supporting"], routing["mode"]) == ("audio", ["story"], "sequential")
    assert routing["scores"][0]["reason"] == "it is a song"
    assert {score["department"] for score in routing["scores"]} == {
        "story",
        "character",
        "visual",
        "video",
        "audio",
        "image_quality",
        "production",
    }


async def test_a_model_that_routes_to_nobody_we_know_is_sent_back(store: Store) -> None:
    wrong = {"scores": [{"department": "catering", "relevance": 1}]}
    crew = Crew({"route": [wrong, {"scores": [{"department": "audio", "relevance": 1}]}]})
    result = await make(store, crew, WORKED, router="model")
    assert "there is no department catering" in crew.asked("route")[1].prompt
    assert result.output["routing"]["primary"] == "audio"


async def test_departments_fixes_them_and_the_first_is_the_primary(store: Store) -> None:
    result = await make(store, Crew(), WORKED, departments=" audio, story ,audio")
    routing = result.output["routing"]
    assert (routing["primary"], routing["supporting"]) == ("audio", ["story"])


async def test_a_request_that_names_nobody_is_warned_about(store: Store) -> None:
    result = await make(store, Crew(), "Make something beautiful")
    assert result.output["routing"]["primary"] == "story"
    assert any("first by priority" in warning for warning in result.warnings)


@pytest.mark.parametrize(
    ("request_text", "options", "message"),
    [
        ("x", {"departments": "stroy"}, "no department stroy"),
        ("x", {"departments": " , "}, "names no department"),
        ("x", {"team": "nowhere.yaml"}, "no team nowhere.yaml"),
        ("x", {"specialists": "sometimes"}, "specialists cannot be"),
        ("x", {"synthesis_rounds": 0}, "synthesis_rounds cannot be"),
        ("x", {"router": "coin"}, "router cannot be"),
        ("   ", {}, "request is empty"),
    ],
)
async def test_wrong_input_is_refused_before_anything_starts(
    store: Store, request_text: str, options: dict[str, Any], message: str
) -> None:
    crew = Crew()
    with pytest.raises(UsageError, match=message):
        await make(store, crew, request_text, **options)
    assert (crew.calls, await store.list_runs()) == ([], [])


async def test_the_software_team_works_with_its_own_departments(store: Store) -> None:
    crew = Crew()
    result = await make(store, crew, "Design the interface and implement the front end", team="software")
    assert [report["departmentId"] for report in result.output["departments"]] == [
        "dept-design",
        "dept-engineering",
    ]
    assert {call.agent for call in crew.calls if call.role == "head"} == {
        "Head of Design",
        "Head of Engineering",
    }


# ── gates ──


async def test_a_person_may_approve_or_reject_route_and_result(store: Store) -> None:
    for gate, details in (("route", "story"), ("result", "# Create")):
        for answer, status in (("approve", "completed"), ("reject", "partial")):
            crew = Crew()
            handle = await podium.start("studio", WORKED, model=crew, store=store, approve=[gate])
            waiting = await handle.result()
            (question,) = waiting.questions.values()
            assert details in str(question.details)
            if gate == "route":
                assert crew.calls == [], "nobody works before the route is approved"
            await podium.answer(handle.run_id, answer, store=store)
            ended = await (await podium.resume(handle.run_id, model=crew, store=store)).result()
            assert ended.status == status, ended.error
            if status == "partial":
                assert ended.stop_reason == f"{gate} rejected"


# ── asks ──


async def test_temperature_and_role_come_from_the_team_and_a_grade_is_strict(store: Store) -> None:
    crew = Crew()
    await make(store, crew, REQUEST, departments="character,story", specialists="always")
    assert {call.role for call in crew.asked_to("execute")} == {"specialist"}
    assert {call.temperature for call in crew.asked_to("execute")} == {0.7}
    assert {(call.role, call.temperature) for call in crew.asked_to("grade")} == {("head", 0.2)}
    assert {call.role for call in crew.asked_to("aggregate")} == {"master"}
    assert all(
        call.schema is None for call in crew.calls if call.task in ("execute", "synthesize", "aggregate")
    )


async def test_the_deliverable_is_what_the_master_wrote_and_the_record_is_apart(store: Store) -> None:
    whole = "# Bread\n\nMorning. A stall.\n\n## Sound\n\nA cart."
    result = await make(store, Crew({**CHARACTER, "aggregate": whole}))
    files = {artifact.name: artifact.media_type for artifact in result.artifacts}
    assert files == {
        "deliverable.md": "text/markdown",
        "deliverable.html": "text/html",
        "record.md": "text/markdown",
        "record.html": "text/html",
    }
    assert result.output["deliverable"] == f"{whole}\n"
    page = await artifact(store, result, "deliverable.html")
    assert "<h1>Bread</h1>" in page
    for word in ("Specialist", "Department", "score", "quality", "attempt", "72"):
        assert word not in result.output["deliverable"] + page.partition("<body")[2], word
    record = await artifact(store, result, "record.md")
    assert "Appearance Specialist 72 in 2 attempts, revision-needed" in record
