"""The tree at work: the checklist, the order of events, bands, replans, failures, budgets, gates."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import podium
from podium.engine.budget import Budget
from podium.engine.log import Store
from podium.engine.state import RunState
from podium.engine.workflow import load_module
from tests.workflows.scripted import BARE
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
    result,
    step,
)

TWO_BANDS = plan(band(0, "a", "b"), band(1, "c"))


# ── the seed's checklist ──


async def test_checklist_1_the_roots_plan_is_reported_before_any_child_is_asked(store: Store) -> None:
    team = Team({"plan": TWO_BANDS})
    logged = await RunEvents.of(store, (await grow(store, team)).run_id)
    assert team.paths[0] == "plan"
    created = logged.index("plan_created")
    assert logged.rows[created][1] == {
        "nodeId": "root",
        "planId": "root/plan-1",
        "version": 1,
        "summary": "a plan",
    }
    after = [name for name, _ in logged.rows[created : created + 6]]
    assert after == ["plan_created", *2 * ["plan_band_created"], *3 * ["step_created"]]
    assert created < logged.index("node_created", nodeId="root/a")


async def test_checklist_2_children_appear_with_the_right_parents(store: Store) -> None:
    team = Team({"plan": TWO_BANDS, "c/plan": plan(band(0, "deep"))})
    logged = await RunEvents.of(store, (await grow(store, team)).run_id)
    edges = {data["nodeId"]: (data["parentNodeId"], data["depth"]) for data in logged.of_type("node_created")}
    assert edges == {
        "root": (None, 0),
        "root/a": ("root", 1),
        "root/b": ("root", 1),
        "root/c": ("root", 1),
        "root/c/deep": ("root/c", 2),
    }
    delegated = {
        (event["nodeId"], event["stepId"], event["childNodeId"]) for event in logged.of_type("node_delegated")
    }
    assert delegated == {
        ("root", "a", "root/a"),
        ("root", "b", "root/b"),
        ("root", "c", "root/c"),
        ("root/c", "deep", "root/c/deep"),
    }


async def test_checklist_3_each_child_shows_its_result_before_it_is_completed(store: Store) -> None:
    logged = await RunEvents.of(store, (await grow(store, Team({"plan": TWO_BANDS}))).run_id)
    for node in ("root/a", "root/b", "root/c", "root"):
        names = logged.of_node(node)
        assert names[-4:] == ["artifact_created", "parent_hint", "node_result", "node_completed"]
        assert names.count("node_completed") == 1


async def test_checklist_4_a_parents_hint_refers_to_its_childrens_artifacts(store: Store) -> None:
    team = Team({"plan": plan(band(0, "a")), "aggregate": aggregate(hints=["synthesis", "a/doc"])})
    logged = await RunEvents.of(store, (await grow(store, team)).run_id)
    (made,) = logged.of_type("artifact_created", nodeId="root/a")
    (own,) = logged.of_type("artifact_created", nodeId="root")
    (hint,) = logged.of_type("parent_hint", nodeId="root")
    assert hint == {
        "nodeId": "root",
        "parentNodeId": None,
        "hintType": "read_documents",
        "artifactIds": [own["artifactId"], made["artifactId"]],
        "documentIds": [own["documentId"], made["documentId"]],
        "basedOnArtifactIds": [made["artifactId"]],
    }
    (child,) = logged.of_type("parent_hint", nodeId="root/a")
    assert (child["parentNodeId"], child["basedOnArtifactIds"]) == ("root", [])


async def test_checklist_5_the_root_ends_with_a_synthesis_document_as_primary_artifact(store: Store) -> None:
    text = "# The answer\n\nForty-two."
    team = Team({"plan": plan(band(0, "a")), "aggregate": aggregate(document("answer", "The answer", text))})
    result = await grow(store, team)
    assert result.output["document"] == text
    (made,) = (await RunEvents.of(store, result.run_id)).of_type("artifact_created", nodeId="root")
    assert result.output["result"]["primaryArtifactId"] == made["artifactId"]
    kept = next(artifact for artifact in result.artifacts if artifact.id == made["artifactId"])
    assert (kept.name, kept.media_type) == ("answer.md", "text/markdown")


async def test_a_root_without_a_document_is_sent_back_with_that_rule(store: Store) -> None:
    data: dict[str, Any] = {"type": "json", "label": "data", "jsonPayload": {}}
    team = Team({"plan": plan(band(0, "a")), "aggregate": [aggregate(data), aggregate()]})
    result = await grow(store, team)
    assert result.status == "completed"
    assert "the root must produce a synthesis document" in team.asked("aggregate")[1].prompt
    alone = Team({"execute": [leaf(data), leaf()]})
    assert (await grow(store, alone)).output["document"] == "# A title\n\nText."
    assert len(alone.asked("execute")) == 2


# ── the order of events ──


async def test_the_order_of_events_of_three_levels_with_one_replan(store: Store) -> None:
    """Bands that are not parallelizable, so that the order is the same each time."""
    first = plan(band(0, "a", "b", parallel=False))
    second = plan(band(0, "a", step("b", "Do b better"), parallel=False), summary="a better plan")
    team = Team(
        {
            "plan": first,
            "plan#2": second,
            "a/plan": plan(band(0, "deep")),
            "aggregate": aggregate(replan="b is too thin", met=False),
            "aggregate#2": aggregate(),
        }
    )
    result = await grow(store, team)
    logged = await RunEvents.of(store, result.run_id)
    leaf_end = ["scratchpad_updated", "artifact_created", "parent_hint", "node_result", "node_completed"]
    one_leaf = [
        "scratchpad_linked",
        "node_status planning",
        "scratchpad_updated",
        "node_status executing",
        *leaf_end,
    ]
    planned = ["plan_created", "plan_band_created"]
    expected = [
        "root run_started", "root node_created", "root scratchpad_linked", "root node_status planning",
        "root scratchpad_updated", *(f"root {name}" for name in planned), "root step_created a",
        "root step_created b", "root node_status delegating",
        "root step_status a executing", "root step_status b executing", "root node_status waiting band:0",
        "root/a node_created", "root node_delegated a", "root/b node_created", "root node_delegated b",
        "root/a scratchpad_linked", "root/a node_status planning", "root/a scratchpad_updated",
        *(f"root/a {name}" for name in planned), "root/a step_created deep", "root/a node_status delegating",
        "root/a step_status deep executing", "root/a node_status waiting band:0", "root/a/deep node_created",
        "root/a node_delegated deep", *(f"root/a/deep {name}" for name in one_leaf),
        "root/a step_status deep completed", "root/a node_status aggregating", "root/a scratchpad_updated",
        "root/a node_aggregated", "root/a artifact_created", "root/a parent_hint", "root/a node_result",
        "root/a node_completed", "root step_status a completed",
        *(f"root/b {name}" for name in one_leaf), "root step_status b completed",
        "root node_status aggregating", "root scratchpad_updated", "root node_aggregated",
        "root replan_requested", "root node_status planning", "root scratchpad_updated",
        *(f"root {name}" for name in planned), "root step_created a", "root step_created b",
        "root node_status delegating", "root step_status a reused", "root step_status b executing",
        "root node_status waiting band:0", "root/b#2 node_created", "root node_delegated b",
        *(f"root/b#2 {name}" for name in one_leaf), "root step_status b completed",
        "root node_status aggregating", "root scratchpad_updated", "root node_aggregated",
        "root artifact_created", "root parent_hint", "root node_result", "root node_completed",
    ]  # fmt: skip

    def line(name: str, data: dict[str, Any]) -> str:
        parts = [data["nodeId"], name]
        if name == "node_status":
            parts += [data["status"], data["message"]]
        elif name in ("step_created", "step_status", "node_delegated"):
            parts += [data["stepId"], data.get("status", "")]
        return " ".join(part for part in parts if part)

    assert [line(name, data) for name, data in logged.rows] == expected
    assert result.status == "completed"
    assert [event["version"] for event in logged.of_type("plan_created", nodeId="root")] == [1, 2]


async def test_every_event_has_the_fields_of_the_contract(store: Store) -> None:
    team = Team(
        {
            "plan": plan(band(0, "a", "bad")),
            "aggregate": [aggregate(replan="more"), aggregate()],
            "bad/execute": RuntimeError("broken"),
        }
    )
    logged = await RunEvents.of(store, (await grow(store, team)).run_id)
    fields = {name: set(data) - {"nodeId"} for name, data in logged.rows}
    assert fields == {
        "run_started": {"objective"},
        "node_created": {
            "parentNodeId",
            "title",
            "reason",
            "successCriteria",
            "depth",
            "bandIndex",
            "stepIndex",
        },
        "node_status": {"status", "role", "message"},
        "node_completed": {"outcome", "metrics"},
        "node_failed": {"error", "retryable"},
        "plan_created": {"planId", "version", "summary"},
        "plan_band_created": {"planId", "bandIndex", "goal", "stepIds"},
        "step_created": {"stepId", "title", "reason", "successCriteria", "bandIndex", "stepIndex"},
        "step_status": {"stepId", "status"},
        "node_delegated": {"stepId", "childNodeId"},
        "scratchpad_linked": {"scratchpadId"},
        "scratchpad_updated": {"scratchpadId", "tailPreview"},
        "artifact_created": {"artifactId", "artifactType", "documentId", "label"},
        "node_result": {"result"},
        "parent_hint": {"parentNodeId", "hintType", "artifactIds", "documentIds", "basedOnArtifactIds"},
        "node_aggregated": {"childIds", "summary", "successAssessment"},
        "replan_requested": {"reason", "basedOnChildIds"},
    }


# ── bands ──


async def test_bands_run_one_after_the_other_and_later_ones_see_earlier_results(store: Store) -> None:
    team = Team(
        {"plan": TWO_BANDS, "a/execute": leaf(document("found", "What a found", "Gold in the river."))}
    )
    await grow(store, team)
    order = team.paths
    assert max(order.index("a/execute"), order.index("b/execute")) < order.index("c/plan")
    prompt = team.asked("c/execute")[0].prompt
    assert "Gold in the river." in prompt
    assert "a: Do a (completed)" in prompt
    assert "Gold in the river." not in team.asked("b/execute")[0].prompt, "same band: side by side"
    assert "a: Do a. what came out" in team.asked("c/plan")[0].prompt


async def test_the_steps_of_a_band_run_side_by_side_under_one_limit(store: Store) -> None:
    under_way, most = 0, 0

    async def slow(call: podium.Call) -> Any:
        nonlocal under_way, most
        if call.task == "plan":
            return plan(band(0, *"abcdef")) if call.path == "plan" else execute()
        if call.task == "execute":
            under_way += 1
            most = max(most, under_way)
            await asyncio.sleep(0.02)
            under_way -= 1
            return leaf()
        return aggregate()

    await podium.run("tree", "x", model=slow, store=store, concurrency=3, options={**BARE, "max_steps": 6})
    assert most == 3
    most = 0
    await podium.run("tree", "x", model=slow, store=store, options={**BARE, "max_steps": 6})
    assert most == 4, "the default of the tree"


async def test_a_band_that_is_not_parallelizable_runs_step_by_step(store: Store) -> None:
    team = Team({"plan": plan(band(0, "a", "b", "c", parallel=False))})
    await grow(store, team)
    assert [path for path in team.paths if path.endswith("/execute")] == [
        "a/execute",
        "b/execute",
        "c/execute",
    ]
    assert "b: Do b (completed)" in team.asked("c/execute")[0].prompt


async def test_bands_are_ordered_by_index_and_steps_by_step_index(store: Store) -> None:
    mixed = [{**step("late"), "stepIndex": 5}, {**step("early"), "stepIndex": 1}]
    zero = {**band(0), "parallelizable": False, "steps": mixed}
    team = Team({"plan": plan(band(1, "last"), zero)})
    logged = await RunEvents.of(store, (await grow(store, team)).run_id)
    assert [event["stepId"] for event in logged.of_type("step_created")] == ["early", "late", "last"]
    assert [path for path in team.paths if path.endswith("/execute")] == [
        "early/execute",
        "late/execute",
        "last/execute",
    ]


# ── replans ──


async def test_a_replan_keeps_what_succeeded_and_is_unchanged(store: Store) -> None:
    again = plan(band(0, "a", step("b", criteria=["better"]), "c"))
    team = Team(
        {
            "plan": plan(band(0, "a", "b")),
            "plan#2": again,
            "aggregate": aggregate(replan="c is missing"),
            "aggregate#2": aggregate(),
        }
    )
    result = await grow(store, team)
    assert team.paths.count("a/execute") == 1, "unchanged and succeeded"
    assert "b#2/execute" in team.paths, "its criteria changed"
    assert "c/execute" in team.paths
    logged = await RunEvents.of(store, result.run_id)
    (replan,) = logged.of_type("replan_requested")
    assert replan == {"nodeId": "root", "reason": "c is missing", "basedOnChildIds": ["root/a", "root/b"]}
    last = logged.of_type("node_aggregated", nodeId="root")[-1]
    assert last["childIds"] == ["root/a", "root/b#2", "root/c"]
    second = team.asked("plan#2")[0].prompt
    assert "It has to be changed because: c is missing" in second
    assert "a (completed, success): what came out" in second


async def test_a_step_that_did_not_succeed_runs_again(store: Store) -> None:
    team = Team(
        {
            "plan": plan(band(0, "a")),
            "plan#2": plan(band(0, "a")),
            "a/execute": leaf(met=False),
            "aggregate": aggregate(replan="not met"),
            "aggregate#2": aggregate(),
        }
    )
    await grow(store, team)
    assert "a#2/execute" in team.paths


async def test_a_refused_replan_completes_as_partial(store: Store) -> None:
    team = Team(
        {"plan": plan(band(0, "a")), "plan#2": plan(band(0, "a")), "*/aggregate": aggregate(replan="more")}
    )
    result = await grow(store, team)
    logged = await RunEvents.of(store, result.run_id)
    assert (len(logged.of_type("replan_requested")), team.paths.count("a/execute")) == (1, 1)
    assert logged.messages("root")[-1] == "guard:maxReplansPerNode"
    assert logged.of_type("node_completed", nodeId="root")[0]["outcome"] == "partial"
    assert result.status == "completed"
    none = Team({"plan": plan(band(0, "a")), "*/aggregate": aggregate(replan="more")})
    logged = await RunEvents.of(store, (await grow(store, none, replans=0)).run_id)
    assert logged.of_type("replan_requested") == []


async def test_a_replan_that_renames_a_kept_step_is_sent_back(store: Store) -> None:
    team = Team(
        {
            "plan": plan(band(0, "a")),
            "plan#2": [plan(band(0, step("z", "Do a"))), plan(band(0, "a"))],
            "aggregate": aggregate(replan="again"),
            "aggregate#2": aggregate(),
        }
    )
    assert (await grow(store, team)).status == "completed"
    prompt = team.asked("plan#2")[1].prompt
    assert "step ids must be stable when a node is planned again: 'Do a' was 'a', now 'z'" in prompt


async def test_a_replan_may_decide_to_execute_and_sees_what_the_children_made(store: Store) -> None:
    team = Team(
        {
            "plan": plan(band(0, "a")),
            "plan#2": execute(),
            "aggregate": aggregate(replan="do it yourself"),
            "a/execute": leaf(document("part", "A part", "The part's text.")),
        }
    )
    result = await grow(store, team)
    assert "The part's text." in team.asked("execute")[0].prompt
    assert result.output["document"] == "# A title\n\nText."


# ── guards ──


async def test_at_the_deepest_level_nobody_plans(store: Store) -> None:
    team = Team({"*/plan": plan(band(0, "again"))})
    result = await grow(store, team, max_depth=2)
    assert [path for path in team.paths if path.endswith("plan")] == ["plan", "again/plan"]
    assert "again/again/execute" in team.paths
    logged = await RunEvents.of(store, result.run_id)
    (deepest,) = logged.of_type("node_status", nodeId="root/again/again")
    assert (deepest["status"], deepest["role"], deepest["message"]) == (
        "executing",
        "executor",
        "guard:maxDepth",
    )
    flat = Team()
    await grow(store, flat, max_depth=0)
    assert flat.paths == ["execute"]


# ── outcomes ──


async def test_outcomes(store: Store) -> None:
    """success: criteria met and no failed child; no_op: no artifact; else partial."""
    team = Team(
        {
            "plan": plan(band(0, "met", "unmet", "silent", "idle")),
            "unmet/execute": leaf(met=False),
            "silent/execute": leaf(met=None),
            "idle/execute": {**leaf(), "artifacts": [], "result": result()},
        }
    )
    logged = await RunEvents.of(store, (await grow(store, team)).run_id)
    outcomes = {data["nodeId"]: data["outcome"] for data in logged.of_type("node_completed")}
    assert outcomes == {
        "root/met": "success",
        "root/unmet": "partial",
        "root/silent": "success",
        "root/idle": "no_op",
        "root": "success",
    }


PROFILES = """
from tests.workflows.tree.team import aggregate, band, execute, leaf, plan

asked = []

def answer(call):
    if call.task == "plan":
        return plan(band(0, "easy", "hard")) if call.path == "plan" else execute(
            "low" if call.path.startswith("easy") else "high")
    return leaf() if call.task == "execute" else aggregate()

async def fast(call):
    asked.append(("fast", call.path))
    return answer(call)

async def balanced(call):
    asked.append(("balanced", call.path))
    return answer(call)

async def powerful(call):
    asked.append(("powerful", call.path))
    return answer(call)
"""


async def test_the_root_is_planned_by_a_powerful_model_and_easy_leaves_are_done_by_a_fast_one(
    store: Store, tmp_path: Path
) -> None:
    file = tmp_path / "profiles.py"
    file.write_text(PROFILES)
    names = ("fast", "balanced", "powerful")
    settings = podium.Settings(profiles={name: f"python:{file}:{name}" for name in names})
    result = await podium.run("tree", "x", store=store, settings=settings, options=BARE)
    assert result.status == "completed", result.error
    assert {path: profile for profile, path in load_module(file).asked} == {
        "plan": "powerful",
        "easy/plan": "balanced",
        "hard/plan": "balanced",
        "easy/execute": "fast",
        "hard/execute": "balanced",
        "aggregate": "balanced",
    }


# ── failures ──


async def test_one_child_of_each_band_fails_and_the_root_completes_with_the_gaps_named(store: Store) -> None:
    team = Team(
        {
            "plan": plan(band(0, "a", "b"), band(1, "c", "d")),
            "b/execute": RuntimeError("no source"),
            "c/plan": "this is no plan",
            "aggregate": aggregate(gaps=["b", "c"]),
        }
    )
    result = await grow(store, team)
    assert result.status == "completed"
    logged = await RunEvents.of(store, result.run_id)
    failed = {data["nodeId"]: data for data in logged.of_type("node_failed")}
    assert set(failed) == {"root/b", "root/c"}
    assert "no source" in failed["root/b"]["error"]
    assert "did not fit after 2 repairs" in failed["root/c"]["error"]
    assert not failed["root/c"]["retryable"]
    prompt = team.asked("aggregate")[0].prompt
    assert "b: Do b (failed)" in prompt
    assert "It returned nothing: RuntimeError: no source" in prompt
    assert "d: Do d (completed, success)" in prompt, "its siblings went on"
    assert logged.of_type("node_completed", nodeId="root")[0]["outcome"] == "partial"
    assert [warning.split(":")[0] for warning in result.warnings] == [
        "Do b failed",
        "Do c failed",
        *["Missing"] * 2,
    ]
    assert result.output["gaps"] == ["b", "c"]
    statuses = {row["nodeId"]: row["status"] for row in result.output["nodes"]}
    assert statuses["root/b"] == "failed"
    assert logged.of_type("step_status", stepId="b")[-1]["status"] == "failed"


async def test_a_root_that_is_not_met_is_partial_with_its_gaps(store: Store) -> None:
    team = Team({"plan": plan(band(0, "a")), "aggregate": aggregate(met=False, gaps=["the prices"])})
    result = await grow(store, team)
    assert (result.status, result.stop_reason) == ("partial", "not met")
    assert result.output["gaps"] == ["the prices"]
    assert result.warnings == ["Missing: the prices"]
    assert result.output["document"].startswith("# A title")


async def test_a_tree_has_a_ceiling_on_its_nodes(store: Store) -> None:
    team = Team(
        {"plan": plan(band(0, "a", "b")), "a/plan": plan(band(0, "x", "y")), "b/plan": plan(band(0, "z"))}
    )
    result = await grow(store, team, max_nodes=5)
    assert result.status == "completed"
    assert len(result.output["nodes"]) <= 5
    logged = await RunEvents.of(store, result.run_id)
    assert "guard:maxNodes" in logged.messages("root/a")
    assert not team.asked("a/plan"), "a planner that can only answer execute is not asked"


async def test_a_node_whose_aggregator_fails_is_a_gap_of_its_parent(store: Store) -> None:
    team = Team(
        {"plan": plan(band(0, "a")), "a/plan": plan(band(0, "x")), "a/aggregate": RuntimeError("lost")}
    )
    result = await grow(store, team)
    assert result.status == "completed"
    assert "It returned nothing: RuntimeError: lost" in team.asked("aggregate")[0].prompt


async def test_the_roots_own_planner_fails_and_so_does_the_run(store: Store) -> None:
    result = await grow(store, Team({"plan": RuntimeError("no idea")}))
    assert result.status == "failed"
    assert "no idea" in result.error
    logged = await RunEvents.of(store, result.run_id)
    assert logged.rows[-1][0] == "node_failed"
    assert logged.rows[-1][1]["nodeId"] == "root"


# ── budgets ──


async def test_out_of_budget_the_root_aggregates_what_is_there_from_the_reserve(store: Store) -> None:
    team = Team({"plan": plan(band(0, "a", parallel=False), band(1, "b"))})
    result = await grow(store, team, budget=Budget(calls=4), concurrency=1)
    assert (result.status, result.stop_reason) == ("partial", "budget")
    assert team.paths == ["plan", "a/plan", "a/execute", "aggregate"]
    prompt = team.asked("aggregate")[0].prompt
    assert "a: Do a (completed, success)" in prompt
    assert "b: Do b (blocked)" in prompt
    assert result.output["document"] == "# A title\n\nText."
    logged = await RunEvents.of(store, result.run_id)
    assert logged.messages("root/b") == ["budget:calls"]
    handle = await podium.resume(result.run_id, model=team, store=store, budget=Budget(calls=20))
    whole = await handle.result()
    assert (whole.status, len(team.calls)) == ("completed", 4 + 3), "b planned, b executed, root aggregated"
    assert {row["status"] for row in whole.output["nodes"]} == {"completed"}
    replayed = await podium.replay(result.run_id, store=store)
    assert replayed.output == whole.output


async def test_a_budget_of_what_it_costs_is_enough_and_nothing_is_asked_twice(store: Store) -> None:
    """plan, a: plan, execute, b: plan, execute, aggregate: six calls."""
    team = Team({"plan": plan(band(0, "a", "b"))})
    result = await grow(store, team, budget=Budget(calls=6), concurrency=1)
    assert (result.status, len(team.calls)) == ("completed", 6)
    tight = Team({"plan": plan(band(0, "a", "b"))})
    first = await grow(store, tight, budget=Budget(calls=5), concurrency=1)
    assert (first.status, len(tight.calls)) == ("partial", 5)
    logged = RunState.of(row.to_event(first.run_id) for row in await store.read(first.run_id))
    assert logged.exhausted is not None
    assert (logged.exhausted.scope, logged.exhausted.limit) == ("", 5), (
        "the run's own ceiling is what to raise"
    )
    whole = await (
        await podium.resume(first.run_id, model=tight, store=store, budget=Budget(calls=9))
    ).result()
    assert whole.status == "completed"
    assert len(tight.calls) == 5 + 2, "what was missing, and the root again because it sees more"


async def test_without_any_reserve_the_tree_is_reported_as_it_stands(store: Store) -> None:
    team = Team({"plan": plan(band(0, "a", "b", parallel=False))})
    result = await grow(store, team, budget=Budget(calls=3, usd=None), concurrency=1)
    assert (result.status, result.stop_reason) == ("partial", "budget")
    assert len(team.calls) <= 3
    assert "the tree as it stands" in result.output["document"] or result.output["result"]
    empty = await grow(store, Team(), budget=Budget(calls=0))
    assert (empty.status, empty.stop_reason) == ("partial", "budget")
    assert "with 0 of 1 nodes completed" in empty.output["document"]


async def test_open_inner_nodes_never_take_what_the_root_needs(store: Store) -> None:
    """Two inner nodes are open when the budget ends; the root still gets to write its result."""
    team = Team(
        {"plan": plan(band(0, "a", "b")), "a/plan": plan(band(0, *"xyz")), "b/plan": plan(band(0, *"xyz"))}
    )
    result = await grow(store, team, budget=Budget(calls=12), concurrency=1)
    assert result.status == "partial"
    assert len(team.calls) <= 12
    assert "aggregate" in team.paths[-1].split("/")[-1]
    assert result.output["document"] == "# A title\n\nText.", "written by the root's aggregator"


# ── people ──


async def test_a_person_may_approve_or_reject_the_roots_plan(store: Store) -> None:
    team = Team({"plan": TWO_BANDS, "a/plan": plan(band(0, "x"))})
    for answer, status in (("approve", "completed"), ("reject", "partial")):
        handle = await podium.start("tree", "x", model=team, store=store, approve=["plan"], options=BARE)
        waiting = await handle.result()
        assert waiting.status == "waiting"
        (question,) = waiting.questions.values()
        assert question.question == "Carry out this plan of 3 steps? a plan"
        assert question.details == ["band 1: Do a", "band 1: Do b", "band 2: Do c"]
        await podium.answer(handle.run_id, answer, store=store)
        ended = await (await podium.resume(handle.run_id, model=team, store=store)).result()
        assert ended.status == status, ended.error
    assert ended.stop_reason == "plan rejected"
    assert team.paths.count("a/execute") + team.paths.count("a/x/execute") == 1, "nothing was done after a no"


# ── time ──


async def test_planners_are_reported_how_much_time_is_left_and_a_resume_with_less_asks_none_again(
    store: Store,
) -> None:
    team = Team({"plan": plan(band(0, "a")), "a/execute": [RuntimeError("away"), leaf()]})
    result = await grow(store, team, budget=Budget(seconds=90, calls=3))
    assert result.status == "partial"
    logged = [call.prompt for call in team.asked_to("plan")]
    assert len(logged) == 2
    assert all("time left for the whole run: " in text and "no limit" not in text for text in logged)
    handle = await podium.resume(result.run_id, model=team, store=store, budget=Budget(seconds=60, calls=30))
    await handle.result()
    assert len(team.asked_to("plan")) == 2


async def test_a_resume_that_is_given_a_time_limit_asks_no_planner_again(store: Store) -> None:
    team = Team({"plan": plan(band(0, "a"))})
    result = await grow(store, team, budget=Budget(calls=3), concurrency=1)
    assert result.status == "partial"
    handle = await podium.resume(result.run_id, model=team, store=store, budget=Budget(seconds=600, calls=30))
    assert (await handle.result()).status == "completed"
    assert [call.path for call in team.asked_to("plan")] == ["plan", "a/plan"]
    assert all("time left for the whole run: no limit" in call.prompt for call in team.asked_to("plan"))
