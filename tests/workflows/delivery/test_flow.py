"""A tree with its floor: the draft before, the editor and the comparison after."""

from __future__ import annotations

from typing import Any

import podium
from podium.engine.log import Store
from podium.engine.result import RunResult
from tests.workflows.scripted import RunEvents, events_of
from tests.workflows.tree.team import Team, aggregate, band, document, execute, leaf, plan, step

DRAFT: dict[str, Any] = {
    "points": ["three days", "a price"],
    "document": "# Direct\n\nThree days for 90 euros.",
}
TEXT = "# A trip\n\nThree days.\n"
SCORES = {"complete": 5, "correct": 5, "usable": 5, "fitting": 5}


def judgement(better: str, why: str = "it says more") -> dict[str, Any]:
    return {"why": why, "a": SCORES, "b": SCORES, "better": better}


def checked(*, met: bool = True, missing: str = "", **fields: Any) -> dict[str, Any]:
    parts = [{"part": "the price", "met": met}]
    return {"parts": parts, "still_missing": [missing] if missing else [], **fields}


def team(**script: Any) -> Team:
    written = leaf(document(text=TEXT))
    written["result"]["primaryArtifactLabel"] = "doc"
    return Team(
        {
            "plan": execute(),
            "execute": written,
            "floor/draft": DRAFT,
            "delivery/team-first/compare": judgement("A"),
            "delivery/draft-first/compare": judgement("B"),
            **script,
        }
    )


async def go(store: Store, model: Team, **given: Any) -> RunResult:
    return await podium.run("tree", "A trip of three days, with its price", model=model, store=store, **given)


async def files(store: Store, run: RunResult) -> dict[str, str]:
    return {artifact.name: (await store.get_blob(artifact.blob)).decode() for artifact in run.artifacts}


async def test_the_draft_is_the_checklist_and_a_version_for_the_root(store: Store) -> None:
    model = team()
    result = await go(store, model)
    assert result.status == "completed", result.error
    assert model.tasks == ["draft", "plan", "execute", "edit_result", "compare", "compare"]
    (plan,), (written,), (edit,) = (model.asked_to(task) for task in ("plan", "execute", "edit_result"))
    assert "- three days\n- a price" in plan.prompt
    assert all("Three days for 90 euros." in call.prompt for call in (plan, written, edit))
    assert result.output["document"] == TEXT
    assert result.output["comparison"]["preferred"] == "team"
    assert result.usage.calls == 6


async def test_the_judges_see_two_texts_in_both_orders_and_no_author(store: Store) -> None:
    model = team()
    await go(store, model)
    first, second = model.asked_to("compare")
    for call in (first, second):
        assert "draft" not in call.prompt.lower().replace("direct", "")
        assert "team" not in call.prompt
    a_first = first.prompt.index(TEXT.strip()) < first.prompt.index("Three days for 90")
    a_second = second.prompt.index(TEXT.strip()) < second.prompt.index("Three days for 90")
    assert (a_first, a_second) == (True, False)


async def test_what_the_editor_changes_is_the_result(store: Store) -> None:
    change = {
        "find": "Three days.",
        "replace": "Three days for 90 euros.",
    }
    result = await go(store, team(**{"delivery/edit_result": checked(changes=[change])}))
    assert result.output["document"] == "# A trip\n\nThree days for 90 euros.\n"
    assert (await files(store, result))["result.md"] == "# A trip\n\nThree days for 90 euros.\n"


async def test_a_change_that_quotes_nothing_is_asked_for_again(store: Store) -> None:
    wrong = checked(changes=[{"find": "Four days", "replace": "x"}])
    model = team(**{"delivery/edit_result": [wrong, checked()]})
    result = await go(store, model)
    assert result.output["document"] == TEXT
    assert "changes[1].find does not occur" in model.asked_to("edit_result")[1].prompt


async def test_the_editor_may_send_it_back_once(store: Store) -> None:
    changes = [{"find": "Three days.", "replace": "Three whole days."}]
    back = checked(met=False, send_back=["Say what it costs."], changes=changes)
    model = team(
        **{
            "delivery/edit_result": back,
            "delivery/edit_result#2": checked(),
            "delivery/rework": "# A trip\n\nThree days, 95 euros.",
        }
    )
    result = await go(store, model)
    (rework,) = model.asked_to("rework")
    assert "- Say what it costs." in rework.prompt
    assert "Three whole days." in rework.prompt, "what the editor changed is not lost"
    _, again = model.asked_to("edit_result")
    assert "cannot go back any more" in again.prompt
    assert result.output["document"] == "# A trip\n\nThree days, 95 euros.\n"
    assert (result.status, result.warnings) == ("completed", [])


async def test_a_part_that_stays_unanswered_makes_the_run_partial(store: Store) -> None:
    model = team(**{"delivery/edit_result": checked(met=False, missing="The price is not stated.")})
    result = await go(store, model)
    assert (result.status, result.stop_reason) == ("partial", "not met")
    assert result.warnings == ["Missing: The price is not stated."]
    assert result.output["gaps"] == ["The price is not stated."]


async def test_a_draft_that_is_judged_better_is_handed_over_and_said_so(store: Store) -> None:
    model = team(
        **{
            "delivery/team-first/compare": judgement("B", "B names the price."),
            "delivery/draft-first/compare": judgement("A", "A is complete."),
        }
    )
    result = await go(store, model)
    assert result.status == "completed"
    assert result.output["document"] == DRAFT["document"] + "\n"
    assert result.output["comparison"]["preferred"] == "draft"
    (warning,) = result.warnings
    assert "The direct draft was judged better" in warning
    assert "B names the price. (A: the team's text, B: the direct draft)" in warning
    kept = await files(store, result)
    assert (kept["team-version.md"], kept["direct-draft.md"]) == (TEXT, DRAFT["document"] + "\n")


async def test_judges_who_only_prefer_a_position_decide_nothing(store: Store) -> None:
    result = await go(
        store, team(**{"*/compare": judgement("A"), "delivery/draft-first/compare": judgement("A")})
    )
    assert result.output["comparison"]["preferred"] == "equal"
    assert result.output["document"] == TEXT


async def test_without_floor_and_editor_only_the_tree_is_asked(store: Store) -> None:
    model = team()
    result = await go(store, model, options={"floor": False, "editor": False})
    assert model.tasks == ["plan", "execute"]
    assert result.output["comparison"] is None
    alone = team()
    await go(store, alone, options={"floor": False})
    assert alone.tasks == ["plan", "execute", "edit_result"]


async def test_a_small_budget_has_no_floor_and_says_so(store: Store) -> None:
    model = team()
    result = await go(store, model, budget=podium.Budget(calls=7))
    assert model.tasks == ["plan", "execute", "edit_result"]
    skipped = RunEvents(await events_of(store, result.run_id, "floor")).of_type("skipped")
    assert [data["reason"] for data in skipped] == ["it would take too much of this budget"]
    assert result.status == "completed"


async def test_a_result_that_cannot_be_checked_is_still_the_result(store: Store) -> None:
    model = team()
    result = await go(store, model, budget=podium.Budget(tokens=22_000), options={"max_depth": 0})
    assert model.tasks == ["execute"]
    assert (result.status, result.output["document"]) == ("completed", TEXT)
    assert "The editor did not check the result: the budget does not allow it." in result.warnings


async def test_drafter_editor_and_judges_who_fail_leave_the_tree_as_it_is(store: Store) -> None:
    no = RuntimeError("no answer")
    failing = {"floor/draft": DRAFT, "delivery/edit_result": no, "delivery/team-first/compare": no}
    result = await go(store, team(**failing, **{"delivery/draft-first/compare": no}))
    assert (result.status, result.output["document"]) == ("completed", TEXT)
    assert len([warning for warning in result.warnings if "editor did not check" in warning]) == 1
    assert (
        len([warning for warning in result.warnings if "comparison with the direct draft failed" in warning])
        == 2
    )
    drafted = await go(store, team(**{"floor/draft": no}))
    assert drafted.status == "completed"
    assert any("There is no direct draft to compare with" in warning for warning in drafted.warnings)


async def test_a_resume_pays_for_no_call_of_the_floor_twice(store: Store) -> None:
    script = {"execute": RuntimeError("the line is down")}
    stopped = await go(store, team(**script))
    assert stopped.status == "failed"
    model = team()
    resumed = await podium.resume(stopped.run_id, model=model, store=store)
    result = await resumed.result()
    assert (result.status, model.tasks) == ("completed", ["execute", "edit_result", "compare", "compare"])
    assert (await podium.replay(stopped.run_id, store=store)).output == result.output


async def test_the_log_shows_draft_editor_and_comparison(store: Store) -> None:
    result = await go(store, team())
    rows = RunEvents(await events_of(store, result.run_id, "floor"))
    assert [name for name, _ in rows.rows] == ["drafted", "edited", "compared"]
    assert rows.rows[0][1]["points"] == DRAFT["points"]
    assert rows.rows[2][1]["preferred"] == "team"


async def test_everyone_below_the_root_sees_the_draft_but_only_the_root_its_points(store: Store) -> None:
    model = team(plan=plan(band(0, {**step("a"), "oneReply": True}, step("b"))), aggregate=aggregate())
    result = await go(store, model)
    assert result.status == "completed", result.error
    assert [call.path for call in model.asked_to("plan")] == ["plan", "b/plan"], "a is done without a plan"
    for path in ("a/execute", "b/execute", "aggregate"):
        (call,) = model.asked(path)
        assert "Three days for 90 euros." in call.prompt
        assert ("- a price" in call.prompt) is (path == "aggregate")
    assert "The part above is done when" not in model.asked("b/plan")[0].prompt


async def test_the_edited_document_is_the_primary_one(store: Store) -> None:
    change = {"find": "Three days.", "replace": "Three days for 90 euros."}
    result = await go(store, team(**{"delivery/edit_result": checked(changes=[change])}))
    kept = {artifact.name: artifact.id for artifact in result.artifacts}
    assert result.output["result"]["primaryArtifactId"] == kept["result.md"]


async def test_the_editor_is_not_shown_what_stands_in_the_document_anyway(store: Store) -> None:
    included = aggregate(document("synthesis", "All", "# All\n\n{{include a/doc}}\n"))
    leaves = {"a/execute": leaf(document(text="Taken over.")), "b/execute": leaf(document(text="Left out."))}
    model = team(plan=plan(band(0, "a", "b")), aggregate=included, **leaves)
    await go(store, model)
    (edit,) = model.asked_to("edit_result")
    assert edit.prompt.count("Taken over.") == 1
    assert "Left out." in edit.prompt


async def test_an_unmet_part_that_nothing_is_done_about_is_asked_for_again(store: Store) -> None:
    model = team(**{"delivery/edit_result": [checked(met=False), checked()]})
    await go(store, model)
    assert "name it in still_missing" in model.asked_to("edit_result")[1].prompt
