"""One line for what matters in a tree, indented by depth; everything else is only in the whole log."""

from __future__ import annotations

import pytest

from podium.engine.events import ArtifactCreated, BudgetExhausted, EventData, RunWarned, StepFailed
from podium.engine.state import RunState
from podium.report.event_lines import line_of
from podium.report.presentation import Line
from podium.workflows.tree import events
from podium.workflows.tree.report import TreePresentation
from tests.report.logs import log
from tests.workflows.tree.test_folding import Entry, asked, completed, planned, status, two_children

PLANNED: list[Entry] = two_children()


def last_line(*entries: Entry) -> Line:
    """How the last of these is told."""
    shown, state = TreePresentation(), RunState()
    logged = log(*entries)
    for event in logged:
        state.apply(event)
        shown.apply(event)
    return line_of(logged[-1], state, shown)


def after(*entries: Entry) -> Line:
    return last_line(*PLANNED, *entries)


def test_a_node_is_reported_by_its_title_at_its_depth() -> None:
    node = events.NodeCreated(
        node_id="root/a/x",
        parent_node_id="root/a",
        title="Read\n the file",
        reason="",
        success_criteria=[],
        depth=2,
    )
    assert after(("a", node)) == Line("Read the file", mark="○", indent=2)


@pytest.mark.parametrize(
    ("now", "message", "what", "weight"),
    [
        ("delegating", "", "splits into 3 steps in 2 bands", "routine"),
        ("waiting", "band:1", "band 2 of 2: goal 1", "routine"),
        ("executing", "", "does it itself", "routine"),
        ("executing", "guard:maxDepth", "does it itself: the tree may not grow deeper here", "routine"),
        ("executing", "guard:maxBandsPerPlan", "does it itself: its plan had too many bands", "warning"),
        ("executing", "guard:newRule", "does it itself: newRule", "warning"),
        ("blocked", "budget:usd", "Title of root stopped: no money left", "warning"),
        ("blocked", "rejected", "Title of root stopped: rejected", "warning"),
    ],
)
def test_decisions_and_guards_are_reported_in_words(now: str, message: str, what: str, weight: str) -> None:
    line = after(status("", "root", now, message))
    assert (line.what, line.weight) == (what, weight)


def test_a_refused_replan_says_why() -> None:
    line = after(status("", "root", "aggregating", "guard:maxReplansPerNode"))
    assert line.weight == "warning"
    assert line.what.endswith("it may not be planned once more")


@pytest.mark.parametrize("now", ["planning", "aggregating"])
def test_what_a_node_is_busy_with_is_for_the_drawing(now: str) -> None:
    assert after(status("", "root", now)).weight == "trace"


def test_a_completed_node_shows_criteria_and_what_its_subtree_cost() -> None:
    line = after(*asked("b/execute", 0.25), *completed("b", "root/b"))
    assert (line.what, line.weight, line.mark) == ("Title of root/b: criteria met", "result", "✓")
    assert line.notes[0] == "$0.25"
    root = after(*asked("aggregate", 0.25), *completed("", "root"))
    assert root.notes[0] == "$1.00"
    assert root.indent == 0


def test_a_node_that_is_not_good_enough_says_what_is_wrong() -> None:
    end = events.NodeCompleted(
        node_id="root", outcome="partial", metrics={"children": 3, "failedChildren": 2}
    )
    line = after(completed("", "root", "partial")[0], ("", end))
    assert line.what == "Title of root: partial, criteria not met, n, 2 of 3 steps without a result"
    assert line.weight == "warning"


def test_a_failed_node_is_loud_and_reported_once() -> None:
    broken = ("b", events.NodeFailed(node_id="root/b", error="no source", retryable=False))
    line = after(broken)
    assert (line.what, line.weight) == ("Title of root/b failed: no source", "failure")
    assert after(broken, ("b/execute", StepFailed(error="no source"))).weight == "trace"
    assert after(broken, ("", RunWarned(message="Title of root/b failed: no source"))).weight == "trace"
    assert after(broken, ("", RunWarned(message="a tool is missing"))).weight == "warning"


def test_a_new_plan_shows_its_reason_and_what_it_keeps() -> None:
    wanted = ("", events.ReplanRequested(node_id="root", reason="part two is thin", based_on_child_ids=[]))
    assert after(wanted).what == "plans again: part two is thin"
    again = [wanted, *planned("root", 2, ["a", "b"])]
    assert after(*again, status("", "root", "delegating")).what == "plan 2: 2 steps in 1 band"
    reused = ("", events.StepStatus(node_id="root", step_id="a", status="reused"))
    band = after(*again, reused, status("", "root", "waiting", "band:0"))
    assert band.what == "band 1 of 1: goal 0 (kept: Title of root/a)"


def test_tools_are_reported_when_they_have_answered() -> None:
    def used(ok: bool) -> EventData:
        return events.ToolCallResult(
            node_id="root/b", tool_name="search", ok=ok, summary="3 hits", error="down"
        )

    assert after(("b", used(True))).what == "used search: 3 hits"
    assert (after(("b", used(False))).what, after(("b", used(False))).weight) == (
        "search failed: down",
        "warning",
    )
    request = events.ToolCallRequested(node_id="root/b", tool_name="search", args={}, purpose="")
    assert after(("b", request)).weight == "trace"


@pytest.mark.parametrize(
    ("path", "name", "weight"),
    [
        ("artifact[synthesis.md]", "synthesis.md", "result"),
        ("artifact[scratchpad.md]", "scratchpad.md", "trace"),
        ("a/artifact[report.md]", "report.md", "trace"),
    ],
)
def test_only_what_the_root_made_is_reported(path: str, name: str, weight: str) -> None:
    made = ArtifactCreated(id="x", name=name, media_type="text/markdown", bytes=1, blob="b")
    assert after((path, made)).weight == weight


def test_the_first_branch_without_budget_speaks_for_all() -> None:
    met = BudgetExhausted(kind="calls", limit=6, spent=6, needed=1)
    assert after(("a/plan", met)).weight == "warning"
    assert after(("a/plan", met), ("b/plan", met)).weight == "trace"


def test_replies_of_models_are_not_reported_as_data() -> None:
    assert after(*asked("b/execute", 0.0, {"artifacts": []})).weight == "trace"


def test_an_event_of_a_node_that_nobody_knows_is_still_in_the_whole_log() -> None:
    line = last_line(("", events.NodeFailed(node_id="nobody", error="x", retryable=False)))
    assert "nobody" in line.what
