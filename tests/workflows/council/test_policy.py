"""The tables and rules of the council, one by one."""

from __future__ import annotations

import pytest

from podium.errors import UsageError
from podium.workflows.council.discussion import CRITERIA, Idea
from podium.workflows.council.policy import (
    PRESETS,
    ROLES,
    add_ideas,
    calls,
    decide,
    evaluation_problem,
    few_ideas,
    focused,
    mean,
    missing_ideas,
    named_in,
    ranked,
    resolve,
    revise_ideas,
    score_ideas,
    score_text,
    team_of,
    terms_of,
    valid_score,
)
from tests.workflows.council.team import evaluation


def made(*scored: float | None) -> list[Idea]:
    return [
        Idea(id=f"I{nth}", title=f"Title {nth}", description="", score=score)
        for nth, score in enumerate(scored, 1)
    ]


# ── the seed's table of decision rules ──


@pytest.mark.parametrize(
    ("preset", "rounds", "min_ideas", "deep_dive", "min_score"),
    [("standard", 1, 3, False, 6.0), ("extended", 2, 4, True, 7.0), ("full", 3, 5, True, 7.5)],
)
def test_the_numbers_of_a_preset(
    preset: str, rounds: int, min_ideas: int, deep_dive: bool, min_score: float
) -> None:
    terms = PRESETS[preset]
    assert (terms.rounds, terms.min_ideas, terms.deep_dive, terms.min_score) == (
        rounds,
        min_ideas,
        deep_dive,
        min_score,
    )


def test_the_teams_of_the_presets() -> None:
    standard = {"team_leader", "ideation", "moderator", "ui_creator"}
    assert set(PRESETS["standard"].team) == standard
    assert set(PRESETS["extended"].team) == standard | {"researcher", "critic"}
    assert set(PRESETS["full"].team) == standard | {"researcher", "critic", "implementer"} == set(ROLES)


@pytest.mark.parametrize("preset", PRESETS)
def test_the_number_of_calls_follows_from_the_seeds_flow(preset: str) -> None:
    """Kickoff, rounds, validation, selection and visualization, as the seed's diagram counts them."""
    terms = PRESETS[preset]
    in_a_round = ["ideation", "leader synthesis"]
    in_a_round += [role for role in ("researcher", "critic", "implementer") if role in terms.team]
    in_a_round += ["rebut", "critic's reply"] if terms.deep_dive else []
    derived = 1 + terms.rounds * len(in_a_round) + 3
    assert calls(terms) == derived == {"standard": 6, "extended": 16, "full": 25}[preset]


def test_what_is_given_replaces_the_presets_part() -> None:
    terms = terms_of("extended", rounds=5, passes=3, min_ideas=9, min_score=2.5, deep_dive=False)
    assert (terms.rounds, terms.passes, terms.min_ideas, terms.min_score, terms.deep_dive) == (
        5,
        3,
        9,
        2.5,
        False,
    )
    assert terms.team == PRESETS["extended"].team
    own = terms_of("full", roles="ui, leader ideation")
    assert own.team == ("team_leader", "ideation", "ui_creator")
    assert (own.rounds, own.min_ideas) == (3, 5)


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        ("ideation,critic", "needs the role team_leader"),
        ("team_leader,critic", "needs the role ideation"),
        ("leader,ideation,critik", "no role critik"),
        ("leader,ideation,critic,critic", "repeated: critic"),
    ],
)
def test_a_team_that_cannot_work_is_refused(roles: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        team_of(roles)


def test_only_members_who_speak_in_the_rounds_need_a_focus() -> None:
    assert focused(PRESETS["extended"].team) == ["Researcher", "Ideation Specialist", "Critic"]
    assert focused(PRESETS["standard"].team) == ["Ideation Specialist"]


# ── ideas ──


def test_all_ideas_so_far_count_for_the_minimum() -> None:
    terms = PRESETS["full"]
    assert [missing_ideas(have, terms) for have in (0, 3, 5, 9)] == [5, 2, 0, 0]


def test_at_most_twenty_ideas_of_one_ask_are_taken() -> None:
    drafts = [{"title": f"Number {nth}", "description": "x"} for nth in range(200)]
    added, dropped = add_ideas([], drafts, 1)
    assert (len(added), dropped) == (20, 180)
    assert [idea.id for idea in added[:3]] == ["I1", "I2", "I3"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("I2", "I2"),
        ("i2", "I2"),
        ("Title 2", "I2"),
        ("“title 2”", "I2"),
        ("2", "I2"),
        ("#2", "I2"),
        ("idea 2", "I2"),
        ("I2: Title 2", "I2"),
        ("[I2] Title 2", "I2"),
        ("I22", None),
        (2, "I2"),
        ("I9", None),
        ("Title", None),
        ("", None),
        (None, None),
    ],
)
def test_an_idea_may_be_named_by_id_number_or_title(given: object, expected: str | None) -> None:
    assert resolve(given, made(None, None, None)) == expected


def test_a_refinement_is_a_new_idea_that_names_what_it_refines() -> None:
    known, _ = add_ideas([], [{"title": "Bikes", "description": "many"}], 1)
    drafts = [
        {"title": "More bikes", "description": "", "refines": "bikes"},
        {"title": "Buses", "description": "", "refines": "I77"},
        {"title": "BIKES", "description": "again"},
    ]
    more, _ = add_ideas(known, drafts, 2)
    assert [(idea.id, idea.refines, idea.round) for idea in more] == [
        ("I2", ["I1"], 2),
        ("I3", [], 2),
        ("I4", ["I1"], 2),
    ]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["I1", "I3"], ["I1", "I3"]),
        ("I2", ["I2"]),
        ("I1, I3", ["I1", "I3"]),
        ("I1 and I2", ["I1", "I2"]),
        (["Title 3", "I9"], ["I3"]),
        (None, []),
        ([], []),
        ("I2: Title 2", ["I2"]),
        (["I1", "I1"], ["I1"]),
    ],
)
def test_an_idea_may_refine_several_others(given: object, expected: list[str]) -> None:
    known = made(None, None, None)
    more, _ = add_ideas(known, [{"title": "New", "refines": given}], 2)
    assert more[0].refines == expected


def test_a_revision_replaces_the_text_and_keeps_the_history() -> None:
    known, _ = add_ideas([], [{"title": "Bikes", "description": "500 bikes for 200,000"}], 1)
    note = {"idea": "i1", "description": "50 bikes for 20,000", "given_up": "450 bikes", "why": "the budget"}
    (second,), unknown = revise_ideas(known, [note, {"idea": "I7", "description": "x"}], 1)
    assert (second.title, second.description, second.version) == ("Bikes", "50 bikes for 20,000", 2)
    assert unknown == ["I7"]
    (third,), _ = revise_ideas([second], [{"idea": "I1", "title": "Cargo bikes"}], 2)
    assert [
        (version.version, version.title, version.description, version.round) for version in third.history
    ] == [
        (1, "Bikes", "500 bikes for 200,000", 1),
        (2, "Bikes", "50 bikes for 20,000", 1),
        (3, "Cargo bikes", "50 bikes for 20,000", 2),
    ]
    assert (third.history[1].given_up, third.history[1].why) == ("450 bikes", "the budget")
    assert revise_ideas([third], [{"idea": "I1", "description": "50 bikes for 20,000"}], 2) == ([], [])


def test_too_few_ideas_are_a_warning() -> None:
    terms = PRESETS["extended"]
    assert few_ideas(4, terms) == ""
    assert few_ideas(1, terms) == "Only 1 of at least 4 ideas came up; 3 are missing (--min-ideas)."


@pytest.mark.parametrize(
    ("given", "written"), [(8.1, "8.10"), (8, "8.00"), (7.56, "7.56"), (None, "not scored")]
)
def test_a_score_is_written_with_two_decimals(given: float | None, written: str) -> None:
    assert score_text(given) == written


def test_a_text_names_an_idea_only_if_it_names_just_one() -> None:
    known = made(None, None)
    assert named_in("We should take **Title 2**, clearly.", known) == "I2"
    assert named_in("I1 is nice, but I2 wins", known) is None
    assert named_in("neither", known) is None


# ── scores ──


def test_a_score_is_the_mean_of_the_five_criteria_with_two_decimals() -> None:
    assert CRITERIA == ("feasibility", "innovation", "impact", "clarity", "completeness")
    assert mean(dict(zip(CRITERIA, (8, 7, 9, 6, 7), strict=True))) == 7.4
    assert mean(dict(zip(CRITERIA, (8.33, 7.1, 9, 6.25, 7), strict=True))) == 7.54
    assert mean(dict.fromkeys(CRITERIA, 10)) == 10


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        (0, 0),
        (10, 10),
        ("7", 7),
        (7.25, 7.25),
        (11, None),
        (-1, None),
        ("seven", None),
        (True, None),
        (float("nan"), None),
        (None, None),
        ([7], None),
    ],
)
def test_a_score_is_a_number_from_0_to_10(given: object, taken: float | None) -> None:
    assert valid_score(given) == taken


def test_what_is_invalid_stays_unscored_and_the_rest_is_taken() -> None:
    known = made(None, None, None, None)
    evaluations = [
        evaluation("I1", 7),
        evaluation("Title 2", 8),
        evaluation("I3", 11),
        evaluation("nobody", 5),
    ]
    assert [(idea.id, idea.score, idea.validated) for idea in score_ideas(known, evaluations)] == [
        ("I1", 7.0, True),
        ("I2", 8.0, True),
    ]


def test_an_evaluation_has_to_name_every_idea_once() -> None:
    known = made(None, None)
    assert evaluation_problem(["I1", "title 2"], known) == ""
    assert "there is no idea I9; ideas: I1, I2" in evaluation_problem(["I1", "I2", "I9"], known)
    assert "missing: I2" in evaluation_problem(["I1"], known)
    assert "repeated: I1" in evaluation_problem(["I1", "I1", "I2"], known)


# ── the winner ──


def test_the_highest_score_wins_whatever_the_leader_says() -> None:
    verdict = decide(made(6.0, 9.0, 8.0), "I1", 6.0)
    assert (verdict.idea, verdict.leader_choice, verdict.scored, verdict.below_threshold) == (
        "I2",
        "I1",
        True,
        False,
    )


@pytest.mark.parametrize(("choice", "winner"), [("I3", "I3"), ("I1", "I2"), (None, "I2")])
def test_a_tie_is_the_leaders_choice_among_the_tied_else_the_earlier(choice: str | None, winner: str) -> None:
    verdict = decide(made(5.0, 9.0, 9.0), choice, 6.0)
    assert verdict.idea == winner
    assert sorted([verdict.idea, *verdict.tied]) == ["I2", "I3"]


@pytest.mark.parametrize(("choice", "winner"), [("I2", "I2"), (None, "I1")])
def test_without_scores_it_is_the_leaders_choice_else_the_first(choice: str | None, winner: str) -> None:
    verdict = decide(made(None, None), choice, 6.0)
    assert (verdict.idea, verdict.scored, verdict.below_threshold) == (winner, False, False)
    assert verdict.chosen is (choice is not None), "the first idea of all is nobody's choice"


@pytest.mark.parametrize(("best", "below"), [(5.99, True), (6.0, False)])
def test_a_winner_below_the_threshold_is_still_named(best: float, below: bool) -> None:
    verdict = decide(made(1.0, best), None, 6.0)
    assert (verdict.idea, verdict.below_threshold) == ("I2", below)


def test_unscored_ideas_rank_below_every_scored_one() -> None:
    assert [idea.id for idea in ranked(made(None, 0.0, 5.0, 5.0))] == ["I3", "I4", "I2", "I1"]
    assert decide(made(None, 0.0), "I1", 6.0).idea == "I2"
