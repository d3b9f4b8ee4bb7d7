"""Every rule and number of the studio, at its edges; each test names the section of the seed it is from."""

from __future__ import annotations

import pytest

from podium.workflows.studio.policy import (
    AUTO_APPROVED,
    complexity_of,
    contradictions_among,
    decision_of,
    department_score,
    feedback_line,
    formula_score,
    grade_of_department,
    may_retry,
    mode_of,
    overall_quality,
    review_of,
    score_of,
    specialists_wanted,
    split_decisions,
    success_rate,
    suggested_threshold,
    threshold_of,
)

# ── Threshold Decision Matrix ──


@pytest.mark.parametrize(
    ("agent", "department", "counts"), [(70, 80, 70), (0, 80, 0), (None, 80, 80), (None, None, 60)]
)
def test_threshold_matrix(agent: float | None, department: float | None, counts: float) -> None:
    assert threshold_of(agent, department) == counts


# ── 4. Grading & Threshold Logic ──


@pytest.mark.parametrize(
    ("grade", "score"),
    [
        ((1, 1, 1), 100),
        ((0, 0, 0), 0),
        ((1, 0, 0), 40),
        ((0, 1, 0), 30),
        ((0, 0, 1), 30),
        ((0.9, 0.8, 0.7), 81),
    ],
)
def test_section_4_a_score_weighs_quality_relevance_and_consistency(
    grade: tuple[float, float, float], score: float
) -> None:
    assert score_of(*grade) == score


def test_section_4_a_score_is_rounded_before_it_is_compared() -> None:
    assert (0.29 * 0.4 + 0.29 * 0.3 + 0.29 * 0.3) * 100 < 29, "what floating point makes of it"
    assert score_of(0.29, 0.29, 0.29) == 29.0
    assert decision_of(score_of(0.29, 0.29, 0.29), 29) == "accept"


@pytest.mark.parametrize(
    ("score", "decision"),
    [(60, "accept"), (59.99, "revise"), (40, "revise"), (39.99, "discard"), (0, "discard"), (100, "accept")],
)
def test_section_4_accept_revise_discard(score: float, decision: str) -> None:
    assert decision_of(score, 60) == decision


# ── 5. Retry Mechanism with Feedback ──


def test_section_5_three_retries_after_the_first_attempt() -> None:
    assert [may_retry(attempts, 3, 50, 60) for attempts in (1, 2, 3, 4)] == [True, True, True, False]
    assert not may_retry(1, 3, 60, 60)
    assert not may_retry(1, 0, 0, 60)


def test_section_5_without_a_threshold_nothing_is_retried() -> None:
    assert not may_retry(1, 3, 0, 0)


def test_section_5_a_feedback_line_shows_score_threshold_and_what_was_said() -> None:
    line = feedback_line(2, 58.0, 65.0, "too\nvague")
    assert line == "Attempt 2: scored 58, the threshold is 65. too vague"
    assert feedback_line(1, 58.25, 65.0, "") == "Attempt 1: scored 58.25, the threshold is 65."


# ── 6. Department Head Review Logic ──


@pytest.mark.parametrize(
    ("score", "status"),
    [
        (59.99, "rejected"),
        (60, "revision-needed"),
        (69.99, "revision-needed"),
        (70, "approved"),
        (0, "rejected"),
    ],
)
def test_section_6_review_at_its_edges(score: float, status: str) -> None:
    assert review_of(score, 60)[0] == status


def test_section_6_a_missing_grade_counts_75_and_a_real_0_is_0() -> None:
    assert review_of(None, 60)[0] == "approved"
    assert review_of(None, 70)[0] == "revision-needed"
    assert review_of(None, 76)[0] == "rejected"
    assert review_of(0, 60)[0] == "rejected"


def test_a_note_on_work_without_a_grade_says_so() -> None:
    for threshold in (60, 70, 80):
        assert "grade" in review_of(None, threshold)[1]
        assert not review_of(None, threshold)[1].startswith("Score"), threshold


@pytest.mark.parametrize("score", [0, 50, None])
def test_error_case_5_threshold_0_approves_everything(score: float | None) -> None:
    assert review_of(score, 0) == ("approved", AUTO_APPROVED)
    assert AUTO_APPROVED == "Auto-approved (no threshold set)"


def test_section_9_a_note_shows_how_many_retries_it_took() -> None:
    assert review_of(90, 60, 1)[1].endswith("after 1 retry")
    assert review_of(90, 60, 2)[1].endswith("after 2 retries")


# ── 8. Final Quality Assessment, Quality Calculation Examples ──

APPROVED, REVISION, REJECTED = "approved", "revision-needed", "rejected"


def test_example_1_high_quality_gives_96_67() -> None:
    assert department_score([APPROVED] * 3, [95, 88, 92]) == 96.67


def test_example_2_mixed_quality_gives_67_33() -> None:
    assert department_score([REJECTED, APPROVED, APPROVED], [45, 78, 82]) == 67.33


def test_example_3_all_failed_gives_15_33_and_the_head_85() -> None:
    assert formula_score([REJECTED] * 3, [35, 42, 38]) == 15.33
    assert department_score([REJECTED] * 3, [35, 42, 38]) == 85


def test_worked_example_the_character_department_gives_91_8() -> None:
    assert department_score([REVISION, APPROVED], [72, 87]) == 91.8


def test_section_8_without_specialists_the_score_is_85() -> None:
    assert department_score([], []) == 85


def test_an_errored_specialist_counts_in_both_means() -> None:
    assert department_score([APPROVED, REJECTED], [90, 0]) == 48.0


def test_step_4_overall_quality_is_weighted_by_relevance() -> None:
    worked = [(0.65, 91.8), (0.85, 88.5), (0.5, 82.0), (0.35, 76.5)]
    assert overall_quality(worked) == 86.24
    assert overall_quality([]) is None
    assert overall_quality([(0.0, 80.0), (0.0, 90.0)]) == 85.0


def test_overall_quality_is_of_the_grades_less_open_conflicts_and_gaps() -> None:
    assert grade_of_department([88, 84], [True, True]) == 86.0, "the score of the formula would be 94.4"
    assert grade_of_department([88, 84], [True, False]) == 44.0, "work that is lost counts 0"
    assert grade_of_department([], []) == grade_of_department([30, 40], [False, False]) == 85.0
    assert overall_quality([(1.0, 86.0)], ["high", "low"]) == 74.0
    assert overall_quality([(1.0, 90.0), (1.0, 0.0)]) == 45.0
    assert overall_quality([(1.0, 30.0)], ["critical", "critical"]) == 0.0


# ── 1 and 2: mode, complexity, how many ──


def test_section_1_modes() -> None:
    needs = {"visual": ["character", "story"], "audio": []}
    assert mode_of(["visual"], needs) == "single"
    assert mode_of(["visual", "audio"], needs) == "parallel"
    assert mode_of(["audio", "visual", "story"], needs) == "sequential"


def words(number: int) -> str:
    return " ".join(["word"] * number)


@pytest.mark.parametrize(
    ("request_text", "departments", "complexity"),
    [
        (words(49), 1, "simple"),
        (words(50), 1, "moderate"),
        (words(100), 1, "moderate"),
        (words(101), 1, "complex"),
        ("a hat", 2, "moderate"),
        ("a hat and a coat", 1, "moderate"),
        ("a hat and a coat and shoes", 1, "complex"),
        ("a hat, also a coat, additionally shoes", 1, "complex"),
        ("sand and candy", 1, "moderate"),
        ("sand, candy", 1, "simple"),
        ("A DETAILED hat", 1, "complex"),
        ("an elaborate hat", 1, "complex"),
        ("the complexion of a hat", 1, "simple"),
    ],
)
def test_section_2_complexity_of_a_request(request_text: str, departments: int, complexity: str) -> None:
    assert complexity_of(request_text, departments) == complexity


def test_section_2_how_many_specialists() -> None:
    assert [specialists_wanted(complexity, "auto") for complexity in ("simple", "moderate", "complex")] == [
        0,
        2,
        4,
    ]
    assert [specialists_wanted(complexity, "never") for complexity in ("simple", "moderate", "complex")] == [
        0,
        0,
        0,
    ]
    assert [specialists_wanted(complexity, "always") for complexity in ("simple", "moderate", "complex")] == [
        2,
        2,
        4,
    ]


# ── 7. Synthesis: what the specialists disagree on ──


def test_contradictions_among_specialists_are_the_same_label_with_another_value() -> None:
    contradictions = contradictions_among(
        {
            "A": "**Eyes**: green\n- Age: 17\nNote: one",
            "B": "eyes: brown\n* Age: 17.\nNote: two",
            "C": "no labels",
        }
    )
    assert contradictions == ["eyes: A says “green”; B says “brown”"]


def test_a_heads_decisions_are_taken_from_the_end_of_its_text() -> None:
    heading = "## Decisions about contradictions"
    text, decided = split_decisions(f"The text.\n\n{heading}\n\n- eyes: green, as in the book\n- age: 17\n")
    assert (text, decided) == ("The text.", ["eyes: green, as in the book", "age: 17"])
    assert split_decisions("No decisions were needed.") == ("No decisions were needed.", [])
    text, decided = split_decisions(f"One.\n\n{heading}\n1. eyes: green\n\n## Cues\n\n- a glass breaks")
    assert (text, decided) == ("One.\n\n## Cues\n\n- a glass breaks", ["eyes: green"]), "the rest stays"


def test_a_decision_of_several_lines_is_one() -> None:
    heading = "## Decisions about contradictions"
    listed = "- Eyes:\n  A says green;\n  - B says brown.\n  Decided: green\n- Age. Decided: 17"
    assert split_decisions(f"The text.\n\n{heading}\n{listed}\n\nThe end.") == (
        "The text.\n\nThe end.",
        ["Eyes: A says green; B says brown. Decided: green", "Age. Decided: 17"],
    )
    speech = split_decisions(f"The text.\n\n{heading}\n- Age. Decided: 17\n\n    MARA\n    Stay.")
    assert speech == ("The text.\n\nMARA\n    Stay.", ["Age. Decided: 17"]), "after a gap the text goes on"


@pytest.mark.parametrize(
    "text",
    [
        "One.\n\n## Decisions\n\n- We take the night train.\n\n## Cues\n\nA glass breaks.",
        "## Decisions\n\nThe board decides in May.",
        "**Decisions:**\n\n- Budget: 5",
    ],
)
def test_a_section_called_decisions_is_part_of_the_text(text: str) -> None:
    assert split_decisions(text) == (text, [])


def test_what_speakers_of_a_script_say_is_no_contradiction() -> None:
    outputs = {"Plot": "BO: I rescue myself.\nEyes: green", "Dialogue": "BO: What if I lose?\nEyes: brown"}
    assert contradictions_among(outputs) == ["eyes: Plot says “green”; Dialogue says “brown”"]


def test_ages_of_two_characters_are_no_contradiction() -> None:
    mara, tom = "### Mara\n\nAge: 34\nEyes: green", "### Tom\n\nAge: 40"
    assert contradictions_among({"A": mara, "B": tom}) == []
    assert contradictions_among({"A": "Name: Mara\nAge: 34", "B": "Name: Tom\nAge: 40"}) == []
    (contradiction,) = contradictions_among({"A": f"{mara}\n\n{tom}", "B": "**Mara**\nAge: 35"})
    assert contradiction == "age of mara: A says “34”; B says “35”"
    fields = ["appearance", "personality", "temper"]
    (contradiction,) = contradictions_among(
        {"A": "## Appearance\nAge: 34", "B": "## Temper\nAge: 35"}, fields
    )
    assert contradiction.startswith("age: "), "headings of their own fields are no names"


# ── Future Enhancements 1 and 2 ──


def test_a_threshold_is_learnt_from_enough_evidence_only() -> None:
    assert suggested_threshold([90, 90, 90, 90], 80) is None
    assert suggested_threshold([90, 70, 85, 88, 92], 80) == 85.0
    assert suggested_threshold([99] * 8, 0) is None, "everything passes, and that was meant"


@pytest.mark.parametrize(("scores", "learnt"), [([99.0] * 5, 95.0), ([20.0] * 5, 65.0), ([81.4] * 5, 81.0)])
def test_a_learnt_threshold_stays_within_15_of_the_configured_one(scores: list[float], learnt: float) -> None:
    assert suggested_threshold(scores, 80) == learnt
    assert suggested_threshold([10.0] * 5, 10) == 10.0
    assert suggested_threshold([0.0] * 5, 10) == 1.0, "0 would mean that everything passes"


def test_success_is_weighted_and_a_newcomer_is_average() -> None:
    assert success_rate([]) == 0.5
    assert success_rate([(1.0, True), (1.0, False)]) == 0.5
    assert success_rate([(0.9, True), (0.1, False)]) == 0.9
