"""Answers as models really give them: what is meant is understood, what is not is sent back."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from podium.workflows.council.contracts import (
    Critique,
    Evaluations,
    Ideas,
    Implementation,
    LooseEvaluations,
    MoreIdeas,
    Rebuttal,
    Research,
    Selection,
)
from podium.workflows.council.discussion import CRITERIA

SCORES = dict.fromkeys(CRITERIA, 7)


@pytest.mark.parametrize(
    ("given", "titles"),
    [
        ({"ideas": [{"title": "a", "description": "b"}]}, ["a"]),
        ([{"title": "a"}], ["a"]),
        ({"ideas": ["a", {"name": "b"}]}, ["a", "b"]),
        ({"results": [{"title": " a "}], "note": "x"}, ["a"]),
        ({"ideas": []}, []),
    ],
)
def test_ideas_in_other_words(given: Any, titles: list[str]) -> None:
    assert [draft.title for draft in Ideas.model_validate(given).ideas] == titles


@pytest.mark.parametrize("given", ["prose", 7, {"ideas": "none"}, {"ideas": [{"title": ""}]}, {"ideas": [1]}])
def test_what_is_no_list_of_ideas_is_refused(given: Any) -> None:
    with pytest.raises(ValidationError):
        Ideas.model_validate(given)


@pytest.mark.parametrize(
    "given",
    [
        {"idea": "I1", **SCORES},
        {"idea_id": "I1", **SCORES},
        {"id": "I1", "criteria": SCORES},
        {"title": "I1", "scores": {name.capitalize(): value for name, value in SCORES.items()}},
        {"idea": "I1", **SCORES, "pros": "just one", "cons": ["a", "b"]},
    ],
)
def test_evaluations_in_other_words(given: dict[str, Any]) -> None:
    for whole in ({"evaluations": [given]}, [given], {"scores": [given]}):
        (evaluation,) = Evaluations.model_validate(whole).evaluations
        assert evaluation.idea == "I1"
        assert [getattr(evaluation, name) for name in CRITERIA] == [7.0] * 5


@pytest.mark.parametrize("wrong", [11, -1, "seven", None, [7], float("nan")])
def test_a_score_outside_of_0_to_10_is_refused_and_can_be_reported_apart_later(wrong: Any) -> None:
    entries = [{"idea": "I1", **SCORES}, {"idea": "I2", **SCORES, "impact": wrong}]
    with pytest.raises(ValidationError):
        Evaluations.model_validate(entries)
    assert len(LooseEvaluations.model_validate(entries).evaluations) == 2


def test_prose_is_the_text_of_a_contribution() -> None:
    for kind in [Research, Critique, Implementation]:
        for given in ["My words.", {"text": "My words."}, {"content": "My words."}]:
            assert kind.model_validate(given).model_dump()["text"] == "My words."


def test_a_critique_in_other_words() -> None:
    critique = Critique.model_validate(
        {
            "text": "x",
            "risks": ["it breaks", {"risk": "worse", "severity": "Critical"}],
            "open_questions": "Why?",
        }
    )
    assert [(risk.risk, risk.severity) for risk in critique.risks] == [
        ("it breaks", "medium"),
        ("worse", "high"),
    ]
    assert critique.open_questions == ["Why?"]


@pytest.mark.parametrize(
    ("given", "choice", "reasoning"),
    [
        ({"choice": "I2", "reasoning": "so"}, "I2", "so"),
        ({"winner": "I2", "explanation": "so"}, "I2", "so"),
        ({"idea_id": "I2"}, "I2", ""),
        ("I2", "I2", ""),
    ],
)
def test_a_selection_in_other_words(given: Any, choice: str, reasoning: str) -> None:
    selection = Selection.model_validate(given)
    assert (selection.choice, selection.reasoning) == (choice, reasoning)


def test_the_schemas_say_what_is_wanted() -> None:
    """What a model is told is stricter than what is understood."""
    evaluation = Evaluations.model_json_schema()["$defs"]["Evaluation"]
    assert evaluation["required"] == ["idea", *CRITERIA]
    assert (evaluation["properties"]["impact"]["minimum"], evaluation["properties"]["impact"]["maximum"]) == (
        0,
        10,
    )
    assert Ideas.model_json_schema()["$defs"]["Draft"]["required"] == ["title", "description"]
    assert Selection.model_json_schema()["required"] == ["choice", "reasoning", "recommendation"]


@pytest.mark.parametrize(("given", "expected"), [("I1", ["I1"]), (["I1", "I2"], ["I1", "I2"]), (None, [])])
def test_a_draft_may_refine_one_idea_or_several(given: Any, expected: list[str]) -> None:
    (draft,) = Ideas.model_validate([{"title": "a", "refines": given}]).ideas
    assert draft.refines == expected


def test_revisions_alone_are_an_answer_and_never_taken_for_new_ideas() -> None:
    note = {"idea_id": "I1", "description": "new", "given_up": ["this", "that"]}
    answer = MoreIdeas.model_validate({"revisions": [note]})
    assert (answer.ideas, answer.revisions[0].idea, answer.revisions[0].given_up) == ([], "I1", "this; that")
    assert Rebuttal.model_validate("My words.").revisions == []


@pytest.mark.parametrize("given", ["R2", {"point": "R2"}, {"id": "R2", "how": "paid"}])
def test_a_settled_point_in_other_words(given: Any) -> None:
    (note,) = Critique.model_validate({"text": "x", "settled": [given]}).settled
    assert note.point == "R2"
