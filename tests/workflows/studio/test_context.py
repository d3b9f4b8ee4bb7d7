"""What each agent sees: its own part, the parts of others, and the work it depends on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podium.engine.log import Store
from podium.errors import UsageError
from podium.workflows.studio.context import find_specialist, for_chosen, in_waves
from podium.workflows.studio.contracts import Assignment
from podium.workflows.studio.routing import dependencies, route_by_keywords, route_fixed
from podium.workflows.studio.team import load_team
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

FILM = load_team("film")
ALWAYS = {"departments": "story", "specialists": "always"}
PARTS: dict[str, Any] = {
    "story/brief": brief(
        approach="Two rivals on a night train.",
        plot="Find the turn of the scene.",
        dialogue=("Write twelve lines.", "plot"),
    ),
    "story/plot/attempt/execute": "THE TURN",
    "story/dialogue/attempt/execute": "THE LINES",
}
"""A brief in which the dialogue depends on the plot."""


async def test_a_specialist_sees_its_part_the_parts_of_others_and_the_work_it_needs(store: Store) -> None:
    crew = Crew(PARTS)
    result = await make(store, crew, "a scene", **ALWAYS)
    lines = crew.asked("story/dialogue/attempt/execute")[0].prompt
    plot = crew.asked("story/plot/attempt/execute")[0].prompt
    assert "Dialogue Specialist (dialogue): Write twelve lines." in lines
    assert "- Plot Specialist: Find the turn of the scene." in lines
    assert '<material from="Plot Specialist">\nTHE TURN\n</material>' in lines
    assert "- Dialogue Specialist: Write twelve lines." in plot
    assert "THE LINES" not in plot
    for prompt in (lines, plot):
        assert "Two rivals on a night train." in prompt
        assert "Story Department: plot, dialogue, theme, pacing" in prompt
    report = specialist(result, "story", "story-dialogue-specialist")
    assert report["assignment"] == "Write twelve lines."


async def test_work_that_was_not_accepted_is_not_given_to_those_who_need_it(store: Store) -> None:
    crew = Crew(
        {**PARTS, **{f"story/plot/attempt{n}/grade": graded(30, "flat") for n in ("", "#2", "#3", "#4")}}
    )
    await make(store, crew, "a scene", **ALWAYS)
    assert "THE TURN" not in crew.asked("story/dialogue/attempt/execute")[0].prompt
    prompt = crew.asked("story/synthesize")[0].prompt
    assert "- Plot Specialist: Find the turn of the scene." in prompt, "the head knows which part is missing"


async def test_the_grade_sees_brief_part_threshold_siblings_and_earlier_feedback(store: Store) -> None:
    script = {
        **PARTS,
        "story/dialogue/attempt/grade": graded(70, "line 3 is flat"),
        "story/dialogue/attempt#2/grade": graded(90),
    }
    crew = Crew(script)
    await make(store, crew, "a scene", **ALWAYS)
    prompt = crew.asked("story/dialogue/attempt#2/grade")[0].prompt
    for known in (
        "Two rivals on a night train.",
        "Assignment: Write twelve lines.",
        "from a score of 80 of 100",
        "THE TURN",
        "Attempt 1: scored 70, the threshold is 80. line 3 is flat",
        "- Plot Specialist: Find the turn of the scene.",
        "does it do its assignment",
    ):
        assert known in prompt, known
    assert "earlier attempts" not in crew.asked("story/dialogue/attempt/grade")[0].prompt


async def test_a_batch_is_graded_with_the_same_knowledge_in_waves(store: Store) -> None:
    def one(key: str) -> dict[str, Any]:
        return {"grades": [{"specialist": key, **graded(90)}]}

    script = {
        "story/brief": PARTS["story/brief"],
        "story/round/plot/execute": "THE TURN",
        "story/round/grade": one("Plot Specialist"),
        "story/round#2/grade": one("dialogue"),
    }
    crew = Crew(script)
    result = await make(store, crew, "a scene", **ALWAYS, batch_grading=True)
    assert result.status == "completed"
    assert "THE TURN" in crew.asked("story/round#2/dialogue/execute")[0].prompt
    prompt = crew.asked("story/round#2/grade")[0].prompt
    assert "Assignment: Write twelve lines." in prompt
    assert "Threshold: 80 of 100" in prompt
    assert "THE TURN" in prompt


async def test_a_brief_that_names_somebody_unknown_is_sent_back(store: Store) -> None:
    crew = Crew({"story/brief": [brief(catering="Cook."), PARTS["story/brief"]]})
    await make(store, crew, "a scene", **ALWAYS)
    assert "there is no specialist catering; there are plot, dialogue" in crew.asked("story/brief")[1].prompt


def test_specialists_that_wait_for_each_other_start_all_the_same() -> None:
    story = FILM.departments["story"]
    wanted = {
        "plot": Assignment(specialist="plot", task="a", needs=["theme"]),
        "theme": Assignment(specialist="theme", task="b", needs=["plot", "pacing"]),
    }
    parts = for_chosen(story, ["plot", "theme", "dialogue"], wanted)
    assert in_waves(parts, at_once=True) in (
        [["plot", "dialogue"], ["theme"]],
        [["theme", "dialogue"], ["plot"]],
    )
    assert all(len(wave) == 1 for wave in in_waves(parts, at_once=False))
    assert parts["dialogue"].task.endswith("dialogue.")
    assert find_specialist(story, "the Plot Specialist") == find_specialist(story, "PLOT") == "plot"


async def test_a_head_knows_the_other_departments_and_what_they_do(store: Store) -> None:
    scores = [
        {"department": "Story Department", "relevance": 0.9, "part": "the scene itself"},
        {"department": "audio", "relevance": 0.7, "part": "a sound concept for the scene"},
    ]
    crew = Crew({"route": {"scores": scores}})
    await make(store, crew, "Eine Szene im Nachtzug, dazu ein Klangkonzept", router="model")
    for path in ("story/brief", "audio/brief", "audio/synthesize"):
        prompt = crew.asked(path)[0].prompt
        assert (
            "- Story Department: plot, dialogue, theme, pacing. In this request: the scene itself" in prompt
        )
        assert "In this request: a sound concept for the scene (works after Story Department)" in prompt
    assert "Its part of this request: a sound concept for the scene" in crew.asked("audio/brief")[0].prompt


# ── audio after story ──


@pytest.mark.parametrize(
    "text", ["a scene with a sound concept", "Score the wedding scene", "A story with music"]
)
def test_audio_waits_for_the_story_that_it_scores(text: str) -> None:
    assert "story" in dependencies(FILM, text)["audio"]
    assert "story" in route_fixed(FILM, ["audio", "story"]).needs["audio"]


def test_in_the_worked_example_audio_starts_at_once() -> None:
    assert route_by_keywords(FILM, WORKED).needs["audio"] == []


async def test_the_sound_department_reads_the_scene(store: Store) -> None:
    crew = Crew({"story/synthesize": "A kettle, no glass."})
    result = await make(store, crew, "Write a scene in a night train with a sound concept")
    log = await RunEvents.of(store, result.run_id)
    assert log.index("department_completed", department="story") < log.index(
        "department_started", department="audio"
    )
    assert '<material from="Story Department">\nA kettle, no glass.' in crew.asked("audio/brief")[0].prompt


# ── characters after story ──


@pytest.mark.parametrize(
    "text",
    [
        "Write a short story with three characters",
        "A scene at a bakery and the characters in it",
        "Write the dialogue in which Mara leaves her brother",
    ],
)
def test_the_character_department_waits_for_the_story_that_names_the_people(text: str) -> None:
    assert dependencies(FILM, text)["character"] == ["story"]
    assert "story" in route_fixed(FILM, ["character", "story"]).needs["character"]


def test_in_the_worked_example_the_person_is_named_and_characters_start_at_once() -> None:
    assert route_by_keywords(FILM, WORKED).needs["character"] == []


def test_a_person_that_the_project_knows_is_a_name() -> None:
    text = "a scene with omar at the stall"
    assert route_by_keywords(FILM, text).needs["character"] == ["story"]
    assert route_by_keywords(FILM, text, ["Omar"]).needs["character"] == []


async def test_the_character_department_reads_the_story(store: Store) -> None:
    crew = Crew({"story/synthesize": "Mara bakes; Tom steals."})
    result = await make(store, crew, "Write a story with a hero and a villain")
    log = await RunEvents.of(store, result.run_id)
    assert log.index("department_completed", department="story") < log.index(
        "department_started", department="character"
    )
    material = '<material from="Story Department">\nMara bakes; Tom steals.'
    assert material in crew.asked("character/brief")[0].prompt
    assert material in crew.asked_to("execute")[-1].prompt, "specialists read it, too"


# ── heads ──


async def test_a_head_that_writes_after_all_failed_reads_what_they_wrote_and_why_it_failed(
    store: Store,
) -> None:
    crew = Crew({**PARTS, "*/grade": graded(38, "the turn comes too late")})
    await make(store, crew, "a scene", **ALWAYS)
    prompt = crew.asked("story/head_execute")[0].prompt
    for known in ("THE TURN", "Find the turn of the scene.", "the turn comes too late", "Score 38"):
        assert known in prompt, known


def team_with(folder: Path, head: str) -> str:
    file = folder / "mine.yaml"
    file.write_text(f"extends: film\ndepartments:\n  story:\n    head: {{{head}}}\n")
    return str(file)


@pytest.mark.parametrize(
    ("head", "message"),
    [("active: false", "a head is always active"), ("passing_threshold: 70", "a head is not graded")],
)
def test_settings_that_mean_nothing_for_a_head_are_refused(tmp_path: Path, head: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load_team(team_with(tmp_path, head))


async def test_max_retries_of_a_head_count(store: Store, tmp_path: Path) -> None:
    gone = RuntimeError("gone")
    script = {"story/synthesize": gone, "story/synthesize#2": gone}
    crew = Crew(script)
    result = await make(store, crew, "x", **ALWAYS, team=team_with(tmp_path, "max_retries: 1"))
    assert len(crew.asked_to("synthesize")) == 2
    assert (result.status, department(result, "story")["flags"]) == ("partial", ["partial_synthesis_failure"])


# ── the master ──


async def test_the_master_integrates_everything_that_was_delivered(store: Store) -> None:
    crew = Crew(
        {"story/synthesize": "THE SCENE", "audio/synthesize": "Proposal to Story: let a glass break."}
    )
    result = await make(store, crew, WORKED)
    prompt = crew.asked("aggregate")[0].prompt
    for known in ("THE SCENE", "let a glass break", "Adopt what departments proposed to each other"):
        assert known in prompt
    assert "score" not in prompt.partition("# Your task")[0].lower(), "the master is not told scores"
    assert result.output["deliverable"] == f"# {WORKED}\n\nAll in all.\n"


async def test_the_text_of_a_single_department_is_handed_over_without_a_call_of_the_master(
    store: Store,
) -> None:
    crew = Crew({"story/head_execute": "# Bread\n\nTHE SCENE"})
    result = await make(store, crew, "x", departments="story", editor=True)
    assert crew.paths == ["story/head_execute", "delivery/edit_result"]
    assert result.output["deliverable"] == "# Bread\n\nTHE SCENE\n"
    assert (result.status, result.quality, result.warnings) == ("completed", 85.0, [])
    log = await RunEvents.of(store, result.run_id)
    assert len(log.of_type("aggregated")) == 1
    assert "Proposal to" not in crew.calls[0].prompt, "nobody would read a proposal"


async def test_the_master_is_asked_where_one_of_two_departments_failed(store: Store) -> None:
    crew = Crew({f"audio/brief{nth}": RuntimeError("down") for nth in ("", "#2", "#3", "#4")})
    await make(store, crew, "x", departments="story,audio")
    assert len(crew.asked_to("aggregate")) == 1


async def test_the_master_is_asked_where_a_specialists_work_stands_in_for_the_synthesis(store: Store) -> None:
    crew = Crew({"*/synthesize": RuntimeError("gone")})
    await make(store, crew, "x", **ALWAYS)
    assert len(crew.asked_to("aggregate")) == 1


async def test_a_master_that_writes_nothing_leaves_the_departments_texts(store: Store) -> None:
    crew = Crew({"aggregate": " ", "story/synthesize": "THE SCENE"})
    result = await make(store, crew, "x", departments="story,audio")
    assert "THE SCENE" in result.output["deliverable"]
    assert any("master's text was empty" in warning for warning in result.warnings)
    assert "THE SCENE" in await artifact(store, result, "record.md")
