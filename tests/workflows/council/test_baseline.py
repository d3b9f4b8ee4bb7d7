"""The baseline: as many tokens spent on one agent, the best of several drafts, judged beside the council."""

from __future__ import annotations

from typing import Any

import pytest

import podium
from podium.engine.budget import Budget
from podium.engine.log import Store
from podium.workflows.delivery.policy import best_of, draft_tokens
from tests.workflows.council.pages import artifact, seen
from tests.workflows.council.team import Team
from tests.workflows.council.test_floor import DOCUMENT, go, judgement, team


def drafts(call: podium.Call) -> dict[str, Any]:
    """Every draft of the baseline is another one."""
    return {"points": ["x"], "document": f"# Text of {call.path.split('/')[1]}\n\nAlone."}


def beside(first: str, second: str, **script: Any) -> Team:
    """What the judges say of the council's document, first and second, and the best draft."""
    return team(
        **{
            "draft": drafts,
            "pick": {"why": "it is complete", "best": 2},
            "baseline/team-first/compare": judgement(first, "the first"),
            "baseline/draft-first/compare": judgement(second, "the second"),
            **script,
        }
    )


@pytest.mark.parametrize(
    ("tokens", "draft", "number"), [(0, 1_000, 2), (4_500, 1_000, 4), (100_000, 1_000, 8), (10, 0, 8)]
)
def test_as_many_drafts_as_took_the_same_tokens(tokens: int, draft: int, number: int) -> None:
    assert best_of(tokens, draft) == number


def test_a_draft_is_asked_for_written_and_read() -> None:
    assert draft_tokens("p" * 300, "d" * 600) == 500


async def test_a_baseline_that_is_judged_better_is_said_and_kept_but_not_handed_over(store: Store) -> None:
    model = beside("B", "A")
    result = await go(store, model, baseline=True)
    baseline = result.output["baseline"]
    assert set(baseline) == {"n", "preferred", "why", "tokens"}
    assert (baseline["preferred"], 2 <= baseline["n"] <= 8, baseline["tokens"] > 0) == (
        "baseline",
        True,
        True,
    )
    assert baseline["why"][0] == "the first (A: the result, B: the baseline)"
    assert len(model.asked_to("draft")) == baseline["n"] + 1
    assert result.output["deliverable"] == DOCUMENT
    assert result.status == "completed"
    (warning,) = result.warnings
    assert f"the best of {baseline['n']} direct drafts" in warning
    assert "baseline.md" in warning
    assert await artifact(store, result, "baseline.md") == "# Text of draft-2\n\nAlone.\n"
    shown, page = await seen(store, result)
    assert shown.summary() == f"4 ideas · 1 round · best of {baseline['n']} drafts: the baseline is better"
    assert f"Baseline, the best of {baseline['n']} direct drafts: the baseline is better." in page


async def test_the_council_may_win(store: Store) -> None:
    result = await go(store, beside("A", "B"), baseline=True)
    assert (result.output["baseline"]["preferred"], result.warnings) == ("result", [])
    torn = await go(store, beside("A", "A"), baseline=True)
    assert torn.output["baseline"]["preferred"] == "equal"


async def test_drafters_and_judges_see_neither_each_other_nor_the_council(store: Store) -> None:
    model = beside("A", "B")
    result = await go(store, model, baseline=True)
    for call in model.asked_to("draft")[1:]:
        assert "Moss" not in call.prompt
        assert "Text of" not in call.prompt
    (pick,) = model.asked_to("pick")
    number = result.output["baseline"]["n"]
    assert [pick.prompt.count(f"Text of draft-{nth}\n") for nth in range(1, number + 1)] == [1] * number
    assert "Moss" not in pick.prompt


async def test_without_a_floor_there_is_still_a_baseline(store: Store) -> None:
    model = beside("A", "B")
    result = await go(store, model, floor=False, editor=False, baseline=True)
    assert result.output["baseline"]["preferred"] == "result"
    assert "floor/draft" not in model.paths


async def test_a_baseline_that_the_budget_does_not_allow_is_left_out_and_says_so(store: Store) -> None:
    result = await go(store, beside("A", "B"), baseline=True, budget=Budget(calls=12))
    assert (result.status, result.output["baseline"]) == ("completed", None)
    assert "No baseline was made: the budget does not allow it." in result.warnings
    model = beside("A", "B")
    fewer = await go(store, model, baseline=True, budget=Budget(calls=15))
    assert (fewer.status, fewer.output["baseline"]["n"], len(model.calls)) == ("completed", 2, 15)


async def test_a_draft_that_fails_leaves_the_others_and_a_failed_pick_leaves_none(store: Store) -> None:
    failing = beside("A", "B", **{"baseline/draft-1/draft": RuntimeError("no line")})
    result = await go(store, failing, baseline=True)
    assert result.status == "completed"
    assert any("drafts of the baseline failed" in warning for warning in result.warnings)
    unpicked = await go(store, beside("A", "B", pick=RuntimeError("no line")), baseline=True)
    assert (unpicked.status, unpicked.output["baseline"]) == ("completed", None)
    assert any("could not be picked" in warning for warning in unpicked.warnings)


async def test_a_finished_baseline_replays_without_a_call(store: Store) -> None:
    model = beside("B", "A")
    result = await go(store, model, baseline=True)
    calls = len(model.calls)
    again = await podium.replay(result.run_id, store=store)
    assert again.output == result.output
    assert len(model.calls) == calls
