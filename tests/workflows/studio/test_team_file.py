"""Team files: what is shipped, what a file may leave out, and every mistake with its line and reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.errors import UsageError
from podium.workflows.studio.history import Learnt, choose_specialists
from podium.workflows.studio.similarity import Meanings, stem
from podium.workflows.studio.team import TeamError, circle_in, load_team

LEAST = """\
name: small
departments:
  story:
    name: Story
    head: {name: Head}
"""


def write(folder: Path, text: str, name: str = "team.yaml") -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


def flaws(folder: Path, text: str) -> list[str]:
    with pytest.raises(TeamError) as caught:
        load_team(write(folder, text))
    return [str(flaw) for flaw in caught.value.flaws]


# ── what is shipped ──


def test_the_film_team_has_the_departments_and_specialists_of_the_spec() -> None:
    team = load_team()
    assert {key: set(department.specialists) for key, department in team.departments.items()} == {
        "story": {"plot", "dialogue", "theme", "pacing"},
        "character": {
            "profile",
            "personality",
            "appearance",
            "arc",
            "relationship",
            "psychology",
            "costume",
            "makeup",
            "hairstyle",
            "voice",
        },
        "visual": {"art-direction", "cinematography", "colour", "composition"},
        "video": {"editing", "vfx", "transitions", "post-production"},
        "audio": {"sound-design", "music", "dialogue-mix", "foley"},
        "image_quality": {
            "master-reference",
            "profile-360",
            "image-descriptor",
            "shot-composer",
            "consistency-verifier",
        },
        "production": {"scheduling", "budget", "resources", "coordination"},
    }
    assert {
        key: set(department.depends_on)
        for key, department in team.departments.items()
        if department.depends_on
    } == {"visual": {"character", "story"}, "image_quality": {"visual"}, "video": {"visual", "audio"}}
    assert [team.departments[key].may_need for key in ("audio", "character")] == [["story"], ["story"]]
    character = team.departments["character"].specialists
    assert (character["personality"].passing_threshold, character["appearance"].passing_threshold) == (60, 65)
    assert [
        key for key, department in team.departments.items() if not department.allow_parallel_execution
    ] == ["production"]


def test_the_software_team_is_another_field_with_nothing_of_film_in_it() -> None:
    team = load_team("software")
    assert set(team.departments) == {"product", "design", "engineering", "marketing", "support"}
    words = {word for department in team.departments.values() for word in department.keywords}
    assert not words & {"scene", "plot", "costume"}


# ── defaults ──


def test_what_is_absent_has_the_documented_default(tmp_path: Path) -> None:
    story = load_team(write(tmp_path, LEAST)).departments["story"]
    assert (story.min_quality_threshold, story.max_retries, story.allow_parallel_execution) == (80, 3, True)
    head = story.head
    assert (head.timeout, head.temperature, head.max_retries, head.active) == (300, 0.7, 3, True)
    assert head.passing_threshold is None, "an absent threshold stays absent"


def test_who_has_no_name_is_called_after_its_key(tmp_path: Path) -> None:
    text = "departments:\n  fine_art:\n    head: {}\n    specialists:\n      oil-paint: {}\n"
    team = load_team(write(tmp_path, text, "gallery.yaml"))
    department = team.departments["fine_art"]
    assert (team.name, department.name, department.head.name) == (
        "gallery",
        "Fine Art Department",
        "Fine Art Head",
    )
    specialist = department.specialists["oil-paint"]
    assert (specialist.name, specialist.specialization) == ("Oil Paint Specialist", "oil paint")


def test_a_file_that_extends_a_team_is_another_team(tmp_path: Path) -> None:
    assert load_team(write(tmp_path, "extends: film\n", "noir.yaml")).name == "noir"


def test_a_department_may_have_no_threshold_at_all(tmp_path: Path) -> None:
    text = LEAST.replace("    head:", "    min_quality_threshold: null\n    head:")
    assert load_team(write(tmp_path, text)).departments["story"].min_quality_threshold is None


# ── mistakes ──


def test_every_mistake_is_reported_with_its_line_and_reason(tmp_path: Path) -> None:
    text = """\
name: broken
departments:
  story:
    name: Story
    keywords: {plot: 2}
    colour: red
    head:
      name: Head
      temperature: 9
      passing_threshold: many
"""
    flaws_found = flaws(tmp_path, text)
    assert flaws_found == [
        "team.yaml, line 5: departments.story.keywords: the weight of 'plot' must be above 0 and at most 1, "
        "not 2",
        "team.yaml, line 6: departments.story.colour: there is no such field",
        "team.yaml, line 9: departments.story.head.temperature: input should be less than or equal to 2 "
        "(got 9)",
        "team.yaml, line 10: departments.story.head.passing_threshold: input should be a valid number, "
        "unable to parse string as a number (got 'many')",
    ]


@pytest.mark.parametrize(
    ("change", "line", "reason"),
    [
        (("head: {name: Head}", "depends_on: [story]\n    head: {name: Head}"), 5, "wait for each other"),
        (
            ("head: {name: Head}", "depends_on: [plot]\n    head: {name: Head}"),
            5,
            "there is no department 'plot'",
        ),
        (("  story:", "  Story Dept:"), 3, "must be lower-case letters"),
        (("    head: {name: Head}\n", ""), 3, "field required"),
        (("  story:", "  canon:"), 3, "stands for what is settled in a project; choose another"),
        (("  story:", "  floor:"), 3, "stands for the direct draft of a run; choose another"),
        (("name: small", "name: !!python/name:os.system x"), 1, "cannot be read"),
        (("name: small", "name: small\nname: other"), 2, "duplicate key"),
        (("head: {name: Head}", "head: {name: Head"), 6, "this is not YAML"),
        (("departments:", "departments:\n\t- x"), 3, "this is not YAML"),
        (("departments:", "extends: nowhere\ndepartments:"), 2, "There is no team nowhere"),
    ],
)
def test_mistakes_between_parts_have_a_line_too(
    tmp_path: Path, change: tuple[str, str], line: int, reason: str
) -> None:
    (flaw, *_) = flaws(tmp_path, LEAST.replace(*change))
    assert f"line {line}:" in flaw
    assert reason in flaw


@pytest.mark.parametrize("text", ["", "- a\n- b\n", "just text", "[]"])
def test_a_file_that_holds_no_team_at_all(tmp_path: Path, text: str) -> None:
    (flaw,) = flaws(tmp_path, text)
    assert "a team is a mapping" in flaw


def test_a_file_that_explodes_is_refused(tmp_path: Path) -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{new}: &{new} [{','.join([f'*{old}'] * 9)}]\n"
        for old, new in zip("abcdefg", "bcdefgh", strict=True)
    )
    (flaw,) = flaws(tmp_path, bomb)
    assert "too large or too deeply nested" in flaw


def test_a_file_that_is_nested_without_end_is_refused(tmp_path: Path) -> None:
    (flaw,) = flaws(tmp_path, "[" * 400_000)
    assert "this is not YAML" in flaw
    (flaw,) = flaws(tmp_path, "".join(f"{' ' * depth}a:\n" for depth in range(60)))
    assert "too large or too deeply nested" in flaw


def test_a_name_that_nobody_knows_is_answered_with_what_was_meant() -> None:
    with pytest.raises(UsageError) as caught:
        load_team("sofware")
    assert "Did you mean software?" in caught.value.hint


def test_departments_in_a_circle_are_found() -> None:
    assert circle_in({"a": ["b"], "b": ["c"], "c": ["a"], "d": ["a"]}) in (["a", "b", "c"], ["b", "c", "a"])
    assert circle_in({"a": ["b", "c"], "b": ["c"], "c": []}) == []
    layers = {
        f"n{layer}-{number}": [f"n{layer - 1}-{below}" for below in range(4)]
        for layer in range(40)
        for number in range(4)
    }
    assert circle_in(layers) == [], "a dense graph is looked through at once"


# ── extending ──


def test_a_file_extends_another_team_and_holds_only_what_differs(tmp_path: Path) -> None:
    text = """\
extends: default
name: mine
departments:
  production: null
  character:
    min_quality_threshold: 70
    specialists:
      voice: null
      scars: {name: Scar Specialist, skills: [scars]}
  music_video:
    name: Music Video
    depends_on: [audio]
    head: {name: Clip Head}
"""
    team = load_team(write(tmp_path, text))
    assert team.name == "mine"
    assert "production" not in team.departments
    character = team.departments["character"]
    assert (character.min_quality_threshold, character.head.name) == (70, "Character Head")
    assert "voice" not in character.specialists
    assert character.specialists["scars"].name == "Scar Specialist"
    assert character.specialists["appearance"].passing_threshold == 65
    assert team.departments["music_video"].depends_on == ["audio"]


def test_mistakes_in_an_extending_file_are_reported_in_that_file(tmp_path: Path) -> None:
    (flaw,) = flaws(tmp_path, "extends: film\ndepartments:\n  audio: null\n")
    assert "film.yaml" in flaw, "video needs audio, and that stands in the base"
    (flaw,) = flaws(tmp_path, "extends: film\ndepartments:\n  story:\n    priority: first\n")
    assert flaw.startswith("team.yaml, line 4: departments.story.priority")


def test_files_that_extend_each_other_are_refused(tmp_path: Path) -> None:
    write(tmp_path, "extends: b.yaml\n", "a.yaml")
    write(tmp_path, "extends: a.yaml\n", "b.yaml")
    with pytest.raises(TeamError, match="in a circle"):
        load_team(str(tmp_path / "a.yaml"))


# ── choosing specialists ──

FILM = load_team()
MEANINGS = Meanings(FILM.meanings)


def chosen(
    request: str, *required: str, count: int = 2, learnt: dict[str, Learnt] | None = None
) -> list[str]:
    department = FILM.departments["character"]
    return choose_specialists("character", department, request, required, count, MEANINGS, learnt or {})


def test_specialists_are_chosen_by_what_the_head_asks_for() -> None:
    assert chosen("x", "appearance", "personality") == ["appearance", "personality"]
    assert chosen("x", "personality", "appearance") == ["personality", "appearance"]


def test_skills_match_by_meaning_and_not_only_by_spelling() -> None:
    assert chosen("What does she wear? Her outfit", count=1) == ["costume"]
    assert chosen("x", "beards", count=1) == ["hairstyle"]
    assert chosen("x", "how she speaks", count=1) == ["voice"]


def test_where_skills_do_not_decide_success_does_and_then_the_file() -> None:
    def past(key: str, success: float) -> Learnt:
        return Learnt(
            agent_id=f"character-{key}-specialist",
            results=9,
            mean=80,
            acceptance=success,
            success=success,
            similar=3,
            configured=80,
            suggested=None,
        )

    assert chosen("x") == ["profile", "personality"]
    learnt = {specialist.agent_id: specialist for specialist in (past("makeup", 0.9), past("profile", 0.1))}
    assert chosen("x", learnt=learnt) == ["makeup", "personality"], "a newcomer goes before a failure"


def test_inactive_specialists_are_never_chosen(tmp_path: Path) -> None:
    text = "extends: film\ndepartments:\n  character:\n    specialists:\n      appearance: {active: false}\n"
    department = load_team(write(tmp_path, text)).departments["character"]
    chosen = choose_specialists("character", department, "x", ["appearance"], 10, MEANINGS, {})
    assert "appearance" not in chosen
    assert len(chosen) == 9


@pytest.mark.parametrize(
    ("first", "other"),
    [
        ("stealing", "steal"),
        ("stories", "story"),
        ("images", "image"),
        ("Aladdin's", "aladdin"),
        ("mixed", "mix"),
        ("cutting", "cut"),
        ("dresses", "dress"),
    ],
)
def test_forms_of_a_word_have_one_stem(first: str, other: str) -> None:
    assert stem(first) == stem(other)
