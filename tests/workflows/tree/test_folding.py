"""The fold of a tree's log: statuses, plans, costs by path, and what a resume or a fork changes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec

from podium.engine.codec import encode
from podium.engine.events import (
    Charge,
    Event,
    EventData,
    RunCreated,
    RunPartial,
    RunResumed,
    RunStarted,
    StepCompleted,
    StepStarted,
)
from podium.models.events import ModelAttempted
from podium.workflows.tree import events
from podium.workflows.tree.fold import NodeState, TreeState
from podium.workflows.tree.report import nested
from tests.report.logs import log

Entry = tuple[str, EventData]


def created(node: str, depth: int, parent: str | None = None, band: int | None = None) -> Entry:
    made = events.NodeCreated(
        node_id=node,
        parent_node_id=parent,
        title=f"Title of {node}",
        reason="why",
        success_criteria=["c"],
        depth=depth,
        band_index=band,
    )
    return "", made


def begun(path: str, node: str) -> Entry:
    return path, events.ScratchpadLinked(node_id=node, scratchpad_id=f"{node}/scratchpad")


def status(path: str, node: str, now: str, message: str = "") -> Entry:
    return path, events.NodeStatus(node_id=node, status=now, message=message)


def asked(path: str, usd: float, reply: Any = None) -> list[Entry]:
    charge = Charge(usd=usd, input_tokens=10, output_tokens=5, calls=1)
    return [
        (path, StepStarted(kind="ask")),
        (path, ModelAttempted(attempt=1, model="m", ok=True, charge=charge)),
        (path, StepCompleted(result=msgspec.Raw(encode(reply)))),
    ]


def planned(node: str, version: int, *bands: list[str], path: str = "") -> list[Entry]:
    plan_id = f"{node}/plan-{version}"
    made: list[Entry] = [
        (path, events.PlanCreated(node_id=node, plan_id=plan_id, version=version, summary="s"))
    ]
    for index, steps in enumerate(bands):
        band = events.PlanBandCreated(
            node_id=node, plan_id=plan_id, band_index=index, goal=f"goal {index}", step_ids=steps
        )
        made.append((path, band))
    for index, steps in enumerate(bands):
        for nth, step in enumerate(steps):
            logged = events.StepCreated(
                node_id=node,
                step_id=step,
                title=f"Title of root/{step}",
                reason="",
                success_criteria=[],
                band_index=index,
                step_index=nth,
            )
            made.append((path, logged))
    return made


def delegated(node: str, step: str, child: str) -> Entry:
    return "", events.NodeDelegated(node_id=node, step_id=step, child_node_id=child)


def completed(path: str, node: str, outcome: str = "success") -> list[Entry]:
    envelope = {"summary": "short", "successAssessment": {"met": outcome == "success", "notes": "n"}}
    return [
        (path, events.NodeResult(node_id=node, result=envelope)),
        (path, events.NodeCompleted(node_id=node, outcome=outcome, metrics={"children": 0})),
    ]


def two_children() -> list[Entry]:
    """A root with one band of two steps: `a` is done, `b` is under way."""
    return [
        ("", RunCreated(workflow="tree", request="r")),
        ("", RunStarted()),
        created("root", 0),
        begun("", "root"),
        status("", "root", "planning"),
        *asked("plan", 0.5),
        *planned("root", 1, ["a", "b"], ["c"]),
        status("", "root", "delegating"),
        status("", "root", "waiting", "band:0"),
        created("root/a", 1, "root", 0),
        delegated("root", "a", "root/a"),
        created("root/b", 1, "root", 0),
        delegated("root", "b", "root/b"),
        begun("a", "root/a"),
        begun("b", "root/b"),
        status("a", "root/a", "executing"),
        status("b", "root/b", "executing"),
        *asked("a/execute", 0.25),
        *completed("a", "root/a"),
    ]


def tree_of(*entries: Entry) -> TreeState:
    return TreeState.of(log(*entries))


def root_of(tree: TreeState) -> NodeState:
    assert tree.root is not None
    return tree.root


def test_what_is_spent_below_a_branch_is_its_nodes_and_counts_for_all_above() -> None:
    tree = tree_of(*two_children(), *asked("b/closing/aggregate#2", 0.125))
    assert tree.nodes["root/a"].charge.usd == 0.25
    assert tree.nodes["root/b"].charge.usd == 0.125
    assert root_of(tree).charge.usd == 0.5
    assert root_of(tree).below.charge.usd == 0.875
    assert root_of(tree).below.charge.calls == 3


def test_a_subtree_counts_its_nodes_as_they_end() -> None:
    tree = tree_of(*two_children())
    assert (root_of(tree).below.nodes, root_of(tree).below.ended) == (3, 1)
    failed = tree_of(
        *two_children(), ("b", events.NodeFailed(node_id="root/b", error="broken", retryable=False))
    )
    assert (root_of(failed).below.ended, root_of(failed).below.failed) == (2, 1)
    assert failed.nodes["root/b"].error == "broken"


def test_a_nodes_decision_is_what_it_did_in_the_end() -> None:
    tree = tree_of(
        *two_children(),
        created("root/c", 1, "root", 1),
        status("c", "root/c", "executing", "guard:maxDepth"),
    )
    logged = {node.id: node.decision for node in tree.nodes.values()}
    assert logged == {"root": "planned", "root/a": "executed", "root/b": "executed", "root/c": "guarded"}
    given_up = tree_of(*two_children(), status("", "root", "executing"))
    assert root_of(given_up).decision == "executed"


def test_criteria_and_summary_come_from_the_envelope() -> None:
    node = tree_of(*two_children()).nodes["root/a"]
    assert (node.met, node.notes, node.summary, node.outcome) == (True, "n", "short", "success")


def test_gaps_are_those_that_the_aggregator_named_and_steps_without_a_result() -> None:
    reply = {"synthesis": {"summary": "", "gaps": ["figures", "nothing on Title of root/b"]}}
    tree = tree_of(
        *two_children(),
        ("b", events.NodeFailed(node_id="root/b", error="broken", retryable=False)),
        *asked("aggregate", 0.0, reply),
        *completed("", "root", "partial"),
    )
    root = nested(tree)["root"]
    assert root["gaps"] == ["figures", "nothing on Title of root/b", "Title of root/c: not started"]


def test_an_aggregators_answer_of_another_shape_names_no_gaps() -> None:
    assert root_of(tree_of(*two_children(), *asked("aggregate", 0.0, ["prose"]))).gaps == []


def test_a_new_plan_keeps_the_node_of_a_reused_step() -> None:
    tree = tree_of(
        *two_children(),
        ("", events.ReplanRequested(node_id="root", reason="thin", based_on_child_ids=["root/a"])),
        *planned("root", 2, ["a", "b"]),
        ("", events.StepStatus(node_id="root", step_id="a", status="reused")),
        created("root/b#2", 1, "root", 0),
        delegated("root", "b", "root/b#2"),
    )
    first, second = nested(tree, alive=True)["root"]["plans"]
    assert [step["node"]["node_id"] for step in first["bands"][0]["steps"]] == ["root/a", "root/b"]
    kept, again = second["bands"][0]["steps"]
    assert (kept["status"], kept["reused_from"], kept["node"]) == ("reused", "root/a", None)
    assert again["node"]["node_id"] == "root/b#2"


def test_steps_of_later_bands_are_to_come_while_the_tree_grows_and_not_started_after() -> None:
    def last_step(tree: TreeState, *, alive: bool) -> str:
        return nested(tree, alive=alive)["root"]["plans"][0]["bands"][1]["steps"][0]["status"]

    assert last_step(tree_of(*two_children()), alive=True) == "to come"
    assert last_step(tree_of(*two_children()), alive=False) == "not started"


def test_a_tool_call_is_open_until_its_result() -> None:
    request = events.ToolCallRequested(node_id="root/b", tool_name="search", args={}, purpose="look")
    tree = tree_of(*two_children(), ("b", request))
    assert tree.nodes["root/b"].tools[0].ok is None
    answer = events.ToolCallResult(node_id="root/b", tool_name="search", ok=False, summary="", error="down")
    use = tree_of(*two_children(), ("b", request), ("b", answer)).nodes["root/b"].tools
    assert [(event.tool, event.purpose, event.ok, event.error) for event in use] == [
        ("search", "look", False, "down")
    ]


def test_a_resumed_tree_goes_on_where_its_budget_stopped_it() -> None:
    tree = tree_of(
        *two_children(),
        status("b", "root/b", "blocked", "budget:calls"),
        status("", "root", "aggregating"),
        *completed("", "root", "partial"),
        ("", RunPartial(stop_reason="budget")),
    )
    assert (root_of(tree).below.ended, root_of(tree).below.blocked) == (3, 1)
    for event in log(("", RunResumed(after="partial"))):
        tree.apply(event)
    assert tree.nodes["root/b"].status == "executing"
    assert root_of(tree).status == "waiting", "it brings its parts together when they are there"
    assert (root_of(tree).below.ended, root_of(tree).below.blocked) == (1, 0)


def test_a_root_that_was_completed_stays_so_when_only_its_check_goes_on() -> None:
    finished = [*completed("a", "root/a"), *completed("b", "root/b"), *completed("", "root")]
    tree = tree_of(*two_children(), *finished, ("", RunResumed()))
    assert root_of(tree).status == "completed"


def test_time_in_which_a_run_lay_still_is_not_a_nodes_time() -> None:
    before = log(*two_children())
    gap = timedelta(hours=5)
    resumed = Event(99, before[0].run_id, before[-1].time + gap, "", RunResumed.type, RunResumed())
    end = events.NodeCompleted(node_id="root/b", outcome="success", metrics={})
    ended = Event(100, resumed.run_id, resumed.time + timedelta(seconds=2), "b", end.type, end)
    node = TreeState.of([*before, resumed, ended]).nodes["root/b"]
    assert node.took_s is not None
    assert node.took_s < 60


def test_what_a_fork_inherits_is_shown_and_not_charged() -> None:
    entries = [(path, msgspec.structs.replace(data, inherited=True)) for path, data in two_children()]
    tree = tree_of(*entries)
    assert tree.nodes["root/a"].inherited
    assert root_of(tree).below.charge.usd == 0


def test_a_log_without_a_tree_is_an_empty_one() -> None:
    tree = tree_of(("", RunCreated(workflow="tree", request="r")), *asked("tools", 0.0))
    assert tree.root is None
    assert nested(tree)["root"] is None
