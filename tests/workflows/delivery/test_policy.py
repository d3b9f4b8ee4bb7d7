"""The rules of the floor: when there is one, what an editor may change, and what two judgements decide."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from podium.engine.budget import Budget
from podium.engine.events import Charge
from podium.workflows.delivery.contracts import Edit, Judgement
from podium.workflows.delivery.policy import (
    accepted,
    affords,
    affords_floor,
    decided,
    edit_problem,
    edited,
    may_rewrite,
    within,
)

TEXT = "# Plan\n\nMonday: arrive.\n\nTuesday: meet.\n\nTuesday: rest.\n"
DRAFT = Charge(usd=0.1, input_tokens=1_000, output_tokens=16_000, calls=1)


def edit(*changes: tuple[str, str], document: str | None = None, send_back: list[str] | None = None) -> Edit:
    return Edit.model_validate(
        {
            "parts": [{"part": "a week", "met": True}],
            "changes": [{"find": find, "replace": new} for find, new in changes],
            "document": document,
            "send_back": send_back or [],
        }
    )


def problem(made: Edit, *, may_rewrite: bool = True, may_send_back: bool = True) -> str:
    return edit_problem(made, TEXT, may_rewrite=may_rewrite, may_send_back=may_send_back)


@pytest.mark.parametrize(
    ("budget", "affordable"),
    [
        (Budget(), True),
        (Budget(calls=8), True),
        (Budget(calls=7), False),
        (Budget(tokens=68_000), True),
        (Budget(tokens=67_999), False),
        (Budget(usd=0.4), True),
        (Budget(usd=0.39), False),
        (Budget(seconds=1.0), True),
    ],
)
def test_a_floor_takes_at_most_half_of_the_calls_and_a_quarter_with_its_draft(
    budget: Budget, affordable: bool
) -> None:
    assert affords_floor(budget, DRAFT) is affordable


def test_a_budget_affords_what_no_ceiling_forbids() -> None:
    assert affords(Budget(usd=0.1, tokens=17_000, calls=1), DRAFT)
    assert not affords(Budget(calls=0), DRAFT)


def test_changes_are_made_where_they_were_quoted_even_if_one_writes_what_another_quotes() -> None:
    made = edit(("Monday: arrive.", "Monday: Tuesday: meet."), ("Tuesday: meet.", "Tuesday: greet."))
    assert problem(made) == ""
    assert edited(made, TEXT) == "# Plan\n\nMonday: Tuesday: meet.\n\nTuesday: greet.\n\nTuesday: rest.\n"


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (edit(("Wednesday", "x")), "changes[1].find does not occur"),
        (edit(("Plan", "Week"), ("Tuesday", "x")), "changes[2].find occurs 2 times"),
        (edit(("Monday: arrive", "x"), ("arrive.", "y")), "same passage"),
        (edit(document="   "), "document is empty"),
    ],
)
def test_changes_that_cannot_be_made_are_reported_the_editor(made: Edit, message: str) -> None:
    assert message in problem(made)


def test_a_long_document_is_not_written_anew_and_none_goes_back_twice() -> None:
    assert "not written anew" in problem(edit(document="new"), may_rewrite=False)
    assert "cannot go back" in problem(edit(send_back=["more"]), may_send_back=False)
    assert "does not occur" in problem(edit(("nowhere", "x"), send_back=["more"])), "they are made as well"
    assert problem(edit(send_back=["more"])) == ""
    assert may_rewrite("x" * 30_000, 16_384)
    assert not may_rewrite("x" * 40_000, 16_384)


def test_a_deleted_paragraph_leaves_no_empty_lines() -> None:
    assert edited(edit(("Tuesday: meet.", "")), TEXT) == "# Plan\n\nMonday: arrive.\n\nTuesday: rest.\n"


def test_changes_that_are_not_accepted_are_left_out_one_by_one() -> None:
    def accept(before: str, after: str) -> str:
        return "It names a price." if "euro" in after else ""

    made = edit(("arrive", "land"), ("meet", "meet for 9 euros"), ("rest", "sleep"))
    text, refused = accepted(made, TEXT, accept)
    assert text == "# Plan\n\nMonday: land.\n\nTuesday: meet.\n\nTuesday: sleep.\n"
    assert refused == ["It names a price."]
    assert accepted(edit(document="9 euros"), TEXT, accept) == (TEXT, ["It names a price."])
    assert accepted(edit(document="9 euros"), TEXT, None) == ("9 euros\n", [])


def test_changes_that_are_only_right_together_are_accepted_together() -> None:
    def accept(before: str, after: str) -> str:
        return "" if after.count("arrive") == 1 else "Lost or twice."

    moved = edit(("Monday: arrive.\n\n", ""), ("rest.", "rest.\n\nMonday: arrive."))
    text, refused = accepted(moved, TEXT, accept)
    assert (text.count("arrive"), refused) == (1, [])


def test_material_can_be_sealed_after_it_was_cut() -> None:
    shown = within([("a", "x" * 3_000)], 2_000, lambda text, title: f"<{title} {len(text)}>")
    assert shown == [{"title": "a", "text": "<a 2000>", "note": "[2,000 of 3,000 characters shown]"}]


def test_spaces_of_a_passage_count() -> None:
    code = "```\nwhile True:\n    finally:\n        close()\n```\n"
    made = edit(("    finally:\n", "    finally:\n        log()\n"))
    assert edited(made, code) == "```\nwhile True:\n    finally:\n        log()\n        close()\n```\n"
    with pytest.raises(ValidationError):
        edit((" \n ", "x"))


def test_a_document_that_is_written_anew_replaces_the_old_one() -> None:
    assert edited(edit(("Plan", "Week"), document=" # New \n"), TEXT) == "# New\n"
    assert edited(edit(), TEXT) == TEXT


def judged(better: str) -> Judgement:
    scores = {"complete": 5, "correct": 5, "usable": 5, "fitting": 5}
    return Judgement.model_validate({"why": f"{better} it is", "a": scores, "b": scores, "better": better})


@pytest.mark.parametrize(
    ("team_first", "draft_first", "preferred"),
    [
        ("A", "B", "team"),
        ("B", "A", "draft"),
        ("A", "A", "equal"),
        ("B", "B", "equal"),
        ("A", "equal", "team"),
        ("equal", "A", "draft"),
        ("equal", "equal", "equal"),
        ("B", None, "equal"),
        (None, "B", "equal"),
    ],
)
def test_two_judgements_of_opposite_orders_decide_only_together(
    team_first: str | None, draft_first: str | None, preferred: str
) -> None:
    decision = decided(
        judged(team_first) if team_first else None, judged(draft_first) if draft_first else None
    )
    assert decision is not None
    assert decision.preferred == preferred


def test_no_judgement_decides_nothing() -> None:
    assert decided(None, None) is None


def test_reasons_say_which_text_was_which() -> None:
    decision = decided(judged("A"), judged("B"))
    assert decision is not None
    assert decision.why == [
        "A it is (A: the team's text, B: the direct draft)",
        "B it is (A: the direct draft, B: the team's text)",
    ]


def test_material_is_whole_as_far_as_there_is_room_and_a_cut_is_marked() -> None:
    shown: list[dict[str, Any]] = within([("a", "x" * 1_500), ("b", "y" * 5_000)], 2_000)
    assert [(text["title"], len(text["text"])) for text in shown] == [("a", 1_500), ("b", 1_000)]
    assert [text["note"] for text in shown] == ["", "[1,000 of 5,000 characters shown]"]
