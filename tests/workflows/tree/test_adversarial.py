"""Planners, executors and aggregators that misbehave: each is repaired or guarded, none crashes the run, and
the number of calls is exactly what the caps allow."""

from __future__ import annotations

from typing import Any

import pytest

from podium.engine.log import Store
from tests.workflows.tree.team import (
    RunEvents,
    Team,
    aggregate,
    band,
    document,
    execute,
    grow,
    leaf,
    plan,
    step,
    tool_call,
)

FIFTY_BANDS = plan(*(band(n, f"s{n}") for n in range(50)))
WIDE = plan(band(0, *(f"s{n}" for n in range(9))))
WITHOUT_MODE = {**plan(band(0, "a")), "mode": "execute"}


@pytest.mark.parametrize(
    ("wild", "guard"), [(FIFTY_BANDS, "guard:maxBandsPerPlan"), (WIDE, "guard:maxStepsPerBand")]
)
async def test_a_plan_over_a_cap_gets_one_repair_and_is_then_forced_to_execute(
    store: Store, wild: dict[str, Any], guard: str
) -> None:
    team = Team({"plan": wild})
    result = await grow(store, team)
    assert result.status == "completed"
    assert team.paths == ["plan", "plan", "execute"], "the plan, one repair, the forced execution"
    assert guard.removeprefix("guard:") in team.calls[1].prompt
    logged = await RunEvents.of(store, result.run_id)
    assert logged.messages("root") == [guard]
    assert logged.of_type("plan_created") == []
    (executing,) = logged.of_type("node_status", status="executing")
    assert executing["role"] == "executor"


async def test_a_plan_that_fits_after_its_repair_is_carried_out(store: Store) -> None:
    team = Team({"plan": [FIFTY_BANDS, plan(band(0, "a"))]})
    result = await grow(store, team)
    assert team.paths == ["plan", "plan", "a/plan", "a/execute", "aggregate"]
    assert (await RunEvents.of(store, result.run_id)).messages("root") == ["band:0"]


async def test_a_plan_over_a_cap_after_another_repair_still_gets_only_one_for_the_cap(store: Store) -> None:
    team = Team({"plan": ["let me think", FIFTY_BANDS, FIFTY_BANDS]})
    result = await grow(store, team)
    assert team.paths == ["plan", "plan", "plan", "execute"]
    assert result.status == "completed"


async def test_execute_that_comes_with_a_plan_is_asked_about_once_and_then_executed(store: Store) -> None:
    team = Team({"plan": WITHOUT_MODE})
    result = await grow(store, team)
    assert result.status == "completed"
    assert team.paths == ["plan", "plan", "execute"]
    assert "mode is execute, so leave out plan" in team.calls[1].prompt


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (plan(), "plan.bands must be present"),
        (plan(band(0, "a"), band(2, "b")), "bands must be indexed from 0..n-1"),
        (plan(band(0, "a", "a")), "step ids must be unique within a plan; repeated: a"),
        ("First we look around, then we build.", "The reply holds no JSON"),
        ({"mode": "plan", "modeReason": "x"}, "`scratchpad` is missing"),
        (plan({**band(0, "a"), "steps": []}), "plan.bands.0.steps"),
    ],
)
async def test_a_broken_plan_is_repaired_with_the_rule_named(store: Store, broken: Any, message: str) -> None:
    team = Team({"plan": [broken, plan(band(0, "a"))]})
    result = await grow(store, team)
    assert result.status == "completed"
    assert message in team.calls[1].prompt
    stubborn = Team({"plan": plan(band(0, "a", "b")), "a/plan": broken})
    result = await grow(store, stubborn)
    assert result.status == "completed", "a child that cannot be planned is a gap"
    assert stubborn.paths.count("a/plan") == 3
    logged = await RunEvents.of(store, result.run_id)
    assert [event["nodeId"] for event in logged.of_type("node_failed")] == ["root/a"]
    assert len(stubborn.calls) == 1 + 3 + 2 + 1


async def test_endless_delegation_ends_at_the_deepest_level_with_exactly_so_many_calls(store: Store) -> None:
    """2 bands of 2 steps, at most 2 levels: 1 + 4 planners and aggregators, 16 leaves."""
    team = Team({"*/plan": plan(band(0, "a", "b"), band(1, "c", "d"))})
    result = await grow(store, team, max_depth=2, max_bands=2, max_steps=2, concurrency=8)
    assert result.status == "completed"
    tasks = [call.task for call in team.calls]
    assert (tasks.count("plan"), tasks.count("aggregate"), tasks.count("execute")) == (5, 5, 16)
    assert len(result.output["nodes"]) == 21


async def test_endless_replanning_ends_after_the_allowed_number(store: Store) -> None:
    plans = [plan(band(0, step("a", f"Try {n}"))) for n in range(9)]
    team = Team(
        {
            **{f"plan#{n}" if n > 1 else "plan": plans[n] for n in range(1, 9)},
            "*/aggregate": aggregate(replan="again"),
        }
    )
    result = await grow(store, team, replans=2)
    assert [call.task for call in team.calls].count("execute") == 3
    assert team.paths.count("plan") + team.paths.count("plan#2") + team.paths.count("plan#3") == 3
    assert (await RunEvents.of(store, result.run_id)).messages("root")[-1] == "guard:maxReplansPerNode"


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (
            {
                **leaf(),
                "result": {
                    **leaf()["result"],
                    "parentHint": {"hintType": "read_documents", "artifactLabels": ["nowhere"]},
                },
            },
            "nowhere is not among them",
        ),
        (leaf({"type": "document", "label": "doc", "title": "T"}), "doc has no documentMarkdown"),
        (
            leaf({"type": "document", "label": "doc", "title": "T", "documentMarkdown": "  "}),
            "doc has no documentMarkdown",
        ),
        ("Done!", "The reply holds no JSON"),
    ],
)
async def test_a_broken_execution_is_repaired_with_the_rule_named(
    store: Store, broken: Any, message: str
) -> None:
    team = Team({"execute": [broken, leaf()]})
    assert (await grow(store, team)).status == "completed"
    assert message in team.asked("execute")[1].prompt
    stubborn = Team({"plan": plan(band(0, "a")), "a/execute": broken})
    result = await grow(store, stubborn)
    assert (result.status, stubborn.paths.count("a/execute")) == ("completed", 3)


async def test_an_aggregator_may_only_hint_at_what_is_there(store: Store) -> None:
    wrong = aggregate(hints=["a/doc", "a/secret", "b/doc"])
    team = Team({"plan": plan(band(0, "a")), "aggregate": [wrong, aggregate(hints=["a/doc"])]})
    assert (await grow(store, team)).status == "completed"
    prompt = team.asked("aggregate")[1].prompt
    assert "a/secret, b/doc is not among them (defined: synthesis, a/doc)" in prompt


async def test_hostile_names_neither_break_paths_nor_each_other(store: Store) -> None:
    names = ["../../etc/passwd", "a/b", "a#2", "[x]", "é ü", "plan"]
    team = Team({"plan": plan(band(0, *names[:3]), band(1, *names[3:]))})
    result = await grow(store, team, max_steps=4)
    assert result.status == "completed"
    assert len({row["nodeId"] for row in result.output["nodes"]}) == 7
    labels = ["../up", "a/b", "a b", "CON"]
    odd = Team(
        {
            "execute": leaf(*(document(label) for label in labels))
            | {
                "result": {
                    "kind": "document",
                    "summary": "s",
                    "primaryArtifactLabel": "a/b",
                    "parentHint": {"hintType": "read_documents", "artifactLabels": labels},
                }
            }
        }
    )
    result = await grow(store, odd)
    assert result.status == "completed", result.error
    assert sorted(
        artifact.name for artifact in result.artifacts if artifact.name != "scratchpad.md"
    ) == sorted(f"{label}.md" for label in labels)


async def test_an_artifact_called_scratchpad_does_not_clash_with_the_notes(store: Store) -> None:
    result = await grow(store, Team({"execute": leaf(document("scratchpad"))}))
    assert result.status == "completed", result.error
    assert sorted(artifact.name for artifact in result.artifacts) == ["result-scratchpad.md", "scratchpad.md"]


async def test_labels_that_hold_keys_are_redacted_and_still_reported_apart(store: Store) -> None:
    labels = [f"sk-{'a' * 24}{n}" for n in range(2)]
    result = await grow(store, Team({"plan": plan(band(0, "a")), "a/execute": leaf(*map(document, labels))}))
    assert result.status == "completed", result.error
    assert all(label not in str(result.output) for label in labels)


async def test_a_huge_document_is_shown_in_part_and_can_be_read_on(store: Store) -> None:
    text = "x" * 300_000 + "the end"
    reading = {**aggregate(), "actions": [tool_call("read_document", label="a/doc", offset=290_000)]}
    team = Team(
        {
            "plan": plan(band(0, "a")),
            "a/execute": leaf(document(text=text)),
            "a/plan": execute(),
            "aggregate": reading,
            "aggregate#2": aggregate(document("all", text="{{include a/doc}}")),
        }
    )
    result = await grow(store, team)
    assert result.status == "completed"
    first, second = (call.prompt for call in team.asked_to("aggregate"))
    assert "[230,400 of 300,007 characters shown]" in first
    assert "the end" not in first
    assert "the end" in second
    assert result.output["document"] == text, "an include takes it over whole"
