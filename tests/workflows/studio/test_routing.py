"""The router: the seed's examples, sixty requests judged by hand, and what may not fool it."""

from __future__ import annotations

import pytest

import podium
from podium.engine.log import Store
from podium.workflows.studio.routing import (
    checked_departments,
    find_department,
    keywords_in,
    names_in,
    relevance,
    route_by_keywords,
    route_fixed,
)
from podium.workflows.studio.team import load_team
from tests.workflows.studio.crew import WORKED, Crew, artifact, make
from tests.workflows.studio.routing_table import ROUTES

FILM = load_team("film")
TEAMS = {"film": FILM, "software": load_team("software")}


# ── section 1 and the worked example ──


@pytest.mark.parametrize(("team", "text", "primary", "supporting"), ROUTES[:4])
def test_the_seeds_routing_examples(team: str, text: str, primary: str, supporting: set[str]) -> None:
    route = route_by_keywords(TEAMS[team], text)
    assert (route.primary, set(route.supporting)) == (primary, supporting)


def test_worked_example_step_1_scores_order_and_mode() -> None:
    route = route_by_keywords(FILM, WORKED)
    assert (route.chosen, route.mode) == (("story", "character", "visual", "audio"), "sequential")
    strength = {score.department: score.relevance for score in route.scores}
    assert [strength[key] for key in route.chosen] == [0.85, 0.65, 0.5, 0.35]
    assert max(strength[key] for key in ("image_quality", "production", "video")) < 0.3
    assert "Aladdin" in next(score.reason for score in route.scores if score.department == "character")


def test_a_table_of_sixty_requests_judged_by_hand() -> None:
    assert len(ROUTES) == len({text for _, text, _, _ in ROUTES}) == 60
    assert {team for team, *_ in ROUTES} == {"film", "software"}
    wrong = [
        (text, route.chosen)
        for team, text, primary, supporting in ROUTES
        for route in [route_by_keywords(TEAMS[team], text)]
        if route.primary != primary or set(route.supporting) != supporting
    ]
    assert len(ROUTES) - len(wrong) >= 54, wrong


def test_every_department_can_be_the_primary_one() -> None:
    for name, team in TEAMS.items():
        primaries = {route_by_keywords(team, text).primary for which, text, *_ in ROUTES if which == name}
        assert primaries == set(team.departments)


# ── how relevance comes about ──


def test_relevance_never_passes_1_and_grows_with_every_sign() -> None:
    assert relevance([]) == 0
    assert relevance([0.5, 0.4, 0.5]) == 0.85
    assert relevance([0.9] * 20) == 1.0
    assert relevance([1.0, 0.1]) == 1.0


def test_one_word_speaks_for_several_departments() -> None:
    departments = {
        score.department for score in route_by_keywords(FILM, "dialogue").scores if score.relevance > 0
    }
    assert {"story", "character", "visual", "audio"} <= departments
    for word in ("story", "episode"):
        assert route_by_keywords(FILM, word).relevance("character") > 0


def test_a_word_counts_once_however_often_and_in_whatever_form_it_stands_there() -> None:
    once = route_by_keywords(FILM, "scene").relevance("story")
    assert route_by_keywords(FILM, "scene scenes Scene SCENES").relevance("story") == once


def test_a_longer_phrase_hides_the_words_in_it() -> None:
    assert keywords_in(FILM, "sound design") == ["sound design"]
    assert "visual" not in keywords_in(FILM, "visual effects")
    assert set(keywords_in(FILM, "the sound of a design")) == {"sound", "design"}


def test_without_a_keyword_the_first_department_takes_it_and_a_warning_says_so() -> None:
    for text in ("Make something beautiful", "Изобрази что-нибудь", "!!!", "1234"):
        route = route_by_keywords(FILM, text)
        assert (route.primary, route.supporting, route.mode) == ("story", (), "single")
        assert len(route.warnings) == 1
        assert "story" in route.warnings[0]


# ── names ──


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Create character Aladdin", ["Aladdin"]),
        ("Aladdin runs", []),  # the first word of a sentence tells nothing
        ("He runs. Aladdin sleeps", []),
        ("We shoot in October on a Monday", []),
        ("Use the VFX and the API", []),
        ("A Scene with a Twist", []),  # keywords are no names
        ("Create A Dramatic Opening With Big Bang", []),  # a headline
        ("What does Yasmin fear? Does Omar know?", ["Yasmin", "Omar"]),
        ("I think I am late", []),
    ],
)
def test_names_are_capitalised_words_in_mid_sentence(text: str, names: list[str]) -> None:
    assert names_in(FILM, text) == names


def test_names_that_the_project_knows_speak_for_character_wherever_they_stand() -> None:
    text = "omar the baker returns"
    assert route_by_keywords(FILM, text).relevance("character") == 0
    route = route_by_keywords(FILM, text, ["Omar", "Nobody Else"])
    assert (route.primary, route.relevance("character")) == ("character", 0.5)
    assert names_in(FILM, "a romance", ["Oma", "Roman"]) == [], "whole words only"


def test_a_name_alone_is_a_weak_sign_and_a_warning_says_so() -> None:
    route = route_by_keywords(FILM, "Plan a weekend in Lisbon for three friends")
    assert route.primary == "character"
    assert route.warnings == (
        "Only Lisbon, taken for a name, speaks for character; --departments chooses others.",
    )
    assert route_by_keywords(FILM, "ask Yasmin", {"Yasmin"}).warnings == (), "the project knows who that is"
    assert route_by_keywords(FILM, "a character called Yasmin").warnings == (), "a keyword was said as well"


def test_what_is_written_like_a_product_is_nobodys_name() -> None:
    assert names_in(FILM, "Migrate our billing from MySQL to PostgreSQL without McAllister") == ["McAllister"]


def test_nouns_of_a_german_request_are_nobodys_name() -> None:
    wish = "Schreibe eine Szene, in der sich zwei Rivalen in einem Nachtzug treffen"
    assert names_in(FILM, wish) == []
    assert names_in(FILM, f"{wish}, mit Aladdin", ["Aladdin"]) == ["Aladdin"], "the project knows him"


def test_a_team_without_a_place_for_names_ignores_them() -> None:
    assert route_by_keywords(TEAMS["software"], "please ask Yasmin").warnings


# ── fixed by hand ──


def test_departments_that_were_chosen_by_hand_are_taken_as_they_are() -> None:
    route = route_fixed(FILM, ["audio", "visual"])
    assert (route.primary, route.supporting, route.mode) == ("audio", ("visual",), "parallel")
    assert [score.relevance for score in route.scores if score.department in route.chosen] == [1.0, 1.0]
    assert route_fixed(FILM, ["visual", "story"]).mode == "sequential"


def test_a_very_long_request_is_routed_at_once() -> None:
    route = route_by_keywords(FILM, "The scene goes on. " * 20_000)
    assert route.primary == "story"


# ── when keywords are in doubt ──


@pytest.mark.parametrize(("team", "text", "primary", "supporting"), ROUTES[:4])
def test_the_seeds_examples_are_beyond_doubt(
    team: str, text: str, primary: str, supporting: set[str]
) -> None:
    assert route_by_keywords(TEAMS[team], text).doubt == ""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Make something beautiful", "no keyword"),
        ("Schreibe eine Szene mit Dialog für zwei Rivalen", "no keyword"),
        ("Escribe un drama audio sobre dos rivales", "another language"),
        ("Plan a weekend in Lisbon for three friends", "perhaps a name"),
        ("Sum up the conflict between the two suppliers", "weakly"),
        ("Write a screenplay without any music", "may be excluded"),
        ("A storyboard, but don’t do the lighting", "may be excluded"),
        ("The plot of a film whose hero gets a strange effect of light", "only “effect” speaks for video"),
        (
            "Tell the story of how our team of five moved the archive of the town in one long and rainy week",
            "only “story” speaks for character",
        ),
    ],
)
def test_what_keywords_cannot_decide_is_in_doubt(text: str, why: str) -> None:
    assert why in route_by_keywords(FILM, text).doubt


def test_a_name_that_the_project_knows_is_beyond_doubt() -> None:
    assert route_by_keywords(FILM, "ask Yasmin", {"Yasmin"}).doubt == ""


def test_departments_are_found_by_key_and_by_name() -> None:
    for text in (
        "image_quality",
        "Image Quality Department",
        "image-quality",
        "the image quality department",
    ):
        assert find_department(FILM, text) == "image_quality"
    assert find_department(FILM, "catering") == find_department(FILM, "") == ""
    assert checked_departments("Story Department, audio", FILM) == ["story", "audio"]


SPANISH = "Escribe una escena en un tren nocturno, sin música"


async def test_a_model_decides_where_keywords_are_in_doubt(store: Store) -> None:
    scores = [
        {"department": "Story Department", "relevance": 0.9, "reason": "una escena"},
        {"department": "audio", "relevance": 0.0, "reason": "sin música"},
        {"department": "visual", "relevance": 0.3},
    ]
    crew = Crew({"route": {"scores": scores}})
    result = await make(store, crew, SPANISH)
    routing = result.output["routing"]
    assert (routing["primary"], routing["supporting"], routing["router"]) == ("story", [], "model")
    assert routing["doubt"] == "no keyword names a department"
    reasons = {score["department"]: score["reason"] for score in routing["scores"]}
    assert (reasons["story"], reasons["audio"]) == ("una escena", "sin música")
    assert reasons["character"] == "not scored by the model"
    assert "This is in doubt" not in crew.asked("route")[0].prompt, "there are no signs to show"
    assert result.warnings == []
    record = await artifact(store, result, "record.md")
    assert "Decided by a model. Keywords alone were in doubt: no keyword names a department." in record


async def test_the_seeds_examples_are_routed_without_a_call(store: Store) -> None:
    for _, text, primary, _ in ROUTES[:4]:
        crew = Crew()
        result = await make(store, crew, text)
        assert (result.output["routing"]["primary"], crew.asked_to("route")) == (primary, [])


async def test_keywords_decide_where_the_model_fails_or_finds_nothing(store: Store) -> None:
    for answer, message in (
        (RuntimeError("down"), "Routing by a model failed"),
        ({"scores": [{"department": "audio", "relevance": 0}]}, "no department relevant"),
    ):
        result = await make(store, Crew({"route": answer}), "Make something beautiful")
        assert (result.status, result.output["routing"]["primary"]) == ("completed", "story")
        assert any(message in warning for warning in result.warnings)
    everywhere = {"scores": [{"department": key, "relevance": 0} for key in FILM.departments]}
    result = await make(store, Crew({"route": everywhere}), WORKED, router="model")
    assert result.output["routing"]["supporting"] == ["character", "visual", "audio"]
    assert not any("names a department" in warning for warning in result.warnings), "they do"


async def test_a_department_that_is_scored_twice_is_sent_back(store: Store) -> None:
    twice = [{"department": "audio", "relevance": 1}, {"department": "Audio Department", "relevance": 0}]
    crew = Crew({"route": [{"scores": twice}, {"scores": twice[:1]}]})
    result = await make(store, crew, "Make something beautiful")
    assert "scored more than once: audio" in crew.asked("route")[1].prompt
    assert result.output["routing"]["primary"] == "audio"


async def test_keywords_alone_and_rehearsals_ask_no_model(store: Store) -> None:
    crew = Crew()
    await make(store, crew, "Make something beautiful", router="keywords")
    assert crew.asked_to("route") == []
    result = await podium.run("studio", SPANISH, model="rehearsal", store=store)
    assert (result.status, result.output["routing"]["router"]) == ("completed", "keywords")
