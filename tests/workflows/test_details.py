"""The workflows' own parts of a view, from logs made by hand."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podium.engine.events import Charge, RunPaused
from podium.models.events import ModelAttempted
from podium.report.presentation import Presentation
from podium.workflows.build import events as build
from podium.workflows.build.report import BuildPresentation
from podium.workflows.build.state import ExecutionPlan, Failure, PlanStep, TestResult
from podium.workflows.council import events as council
from podium.workflows.council.report import CouncilPresentation
from podium.workflows.delivery.events import Compared
from podium.workflows.research import events as research
from podium.workflows.research.report import ResearchPresentation
from podium.workflows.studio import events as studio
from podium.workflows.studio.report import StudioPresentation
from podium.workflows.tree import events as tree
from podium.workflows.tree.report import TreePresentation
from tests.report.logs import log


def detail(shown: Presentation, *entries: tuple[str, Any], alive: bool = True) -> Any:
    """The detail after these events, as a client reads it."""
    for event in log(*entries):
        shown.apply(event)
    return msgspec.json.decode(msgspec.json.encode(shown.detail(alive=alive)))


def node(name: str, parent: str | None, band: int = 0) -> tuple[str, tree.NodeCreated]:
    depth = name.count("/")
    path = name.partition("/")[2]
    created = tree.NodeCreated(
        node_id=name,
        parent_node_id=parent,
        title=name,
        reason="",
        success_criteria=[],
        depth=depth,
        band_index=band,
    )
    return path, created


def linked(name: str) -> tuple[str, tree.ScratchpadLinked]:
    return name.partition("/")[2], tree.ScratchpadLinked(node_id=name, scratchpad_id="s")


def spent(usd: float) -> ModelAttempted:
    return ModelAttempted(attempt=1, model="m", ok=True, charge=Charge(usd, 10, 5, 1))


TREE = [
    node("root", None),
    linked("root"),
    ("plan", spent(1)),
    node("root/1-a", "root"),
    linked("root/1-a"),
    node("root/1-a/2-b", "root/1-a", 1),
    linked("root/1-a/2-b"),
    ("1-a/plan", spent(2)),
    ("1-a/2-b/execute", spent(4)),
    ("", tree.PlanCreated(node_id="root", plan_id="p", version=1, summary="s")),
    ("", tree.PlanBandCreated(node_id="root", plan_id="p", band_index=0, goal="First", step_ids=[])),
    ("", tree.NodeStatus(node_id="root", status="waiting")),
    ("1-a/2-b", tree.NodeFailed(node_id="root/1-a/2-b", error="no", retryable=False)),
]


def test_a_node_has_its_place_its_band_and_the_sums_of_its_subtree() -> None:
    nodes = detail(TreePresentation(), *TREE)["nodes"]
    root, middle, leaf = (nodes[name] for name in ("root", "root/1-a", "root/1-a/2-b"))
    assert (root["path"], middle["path"], leaf["path"]) == ("", "1-a", "1-a/2-b")
    assert (root["children"], middle["parent"], leaf["band"]) == (["root/1-a"], "root", 1)
    assert root["bands"] == {"0": "First"}
    sums = [
        (view["nodes"], view["failed"], view["running"], view["cost_usd"]) for view in (root, middle, leaf)
    ]
    assert sums == [(3, 1, 1, 7.0), (2, 1, 0, 6.0), (1, 1, 0, 4.0)]
    assert (leaf["status"], leaf["note"]) == ("failed", "no")
    assert (middle["status"], middle["note"]) == ("queued", "created")
    assert (root["status"], root["note"]) == ("running", "band 1 of 1")


def test_a_node_that_ended_in_part_or_was_stopped_does_not_look_done() -> None:
    shown = TreePresentation()
    first = detail(shown, node("root", None), node("root/1", "root"), node("root/2", "root"))
    assert first["nodes"]["root"]["status"] == "queued"
    ended = [
        ("1", tree.NodeStatus(node_id="root/1", status="blocked", message="rejected")),
        ("2", tree.NodeStatus(node_id="root/2", status="executing")),
        ("", tree.NodeCompleted(node_id="root", outcome="partial", metrics={})),
        ("", RunPaused(reason="by a person")),
    ]
    nodes = detail(shown, *ended, alive=False)["nodes"]
    assert [(node["status"], node["note"]) for node in nodes.values()] == [
        ("partial", "partial"),
        ("paused", "rejected"),
        ("paused", "interrupted"),
    ]
    assert nodes["root"]["running"] == 0


def test_a_node_cannot_be_its_own_ancestor() -> None:
    details = detail(TreePresentation(), node("a", "a"), node("b", "c"), node("c", "b"), ("a/x", spent(1)))
    assert {name: node_view.get("parent", "") for name, node_view in details["nodes"].items()} == {
        "a": "",
        "b": "",
        "c": "b",
    }


def routed(needs: dict[str, list[str]] | None = None, *supporting: str) -> tuple[str, studio.Routed]:
    data = studio.Routed(
        team="film",
        primary="story",
        supporting=list(supporting),
        mode="multi",
        complexity="simple",
        scores=[],
        names={"story": "Story"},
        needs=needs or {},
    )
    return "", data


def graded(attempt: int, score: float, decision: str) -> tuple[str, studio.SpecialistGraded]:
    data = studio.SpecialistGraded(
        department="story",
        specialist="plot",
        attempt=attempt,
        score=score,
        threshold=80,
        decision=decision,
        feedback=f"try {attempt}",
    )
    return "story/plot/attempt", data


def test_departments_stand_in_lanes_with_the_attempts_of_their_specialists() -> None:
    started = studio.SpecialistStarted(
        department="story", specialist="plot", name="Plot", threshold=80, configured=80
    )
    details = detail(
        StudioPresentation(),
        routed({"visual": ["story"], "audio": []}, "visual", "audio"),
        ("story", started),
        graded(1, 60, "revise"),
        graded(2, 91, "accept"),
    )
    assert [lane["departments"] for lane in details["lanes"]] == [["story", "audio"], ["visual"]]
    assert details["departments"]["story"]["lead"] is True
    plot = details["departments"]["story"]["specialists"]["plot"]
    assert (plot["text"], plot["tone"], plot["path"]) == ("91 (needs 80)", "good", "story/plot")
    assert [attempt["score"] for attempt in plot["attempts"]] == [60, 91]
    assert details["deliverable"] == {"path": "aggregate", "status": "queued", "text": ""}
    circle = detail(StudioPresentation(), routed({"story": ["b"], "b": ["story"]}, "b"))
    assert len(circle["lanes"]) == 1, "shown rather than left out"
    assert detail(StudioPresentation(), routed())["deliverable"]["path"] == "story"


@pytest.mark.parametrize(
    ("quality", "verdicts", "text"),
    [
        (86.0, [], "86"),
        (86.0, ["team"], "86"),
        (86.0, ["draft"], "The direct draft is the result; the team's text: 86"),
        (None, ["draft"], "The direct draft is the result"),
        (None, [], ""),
    ],
)
def test_the_team_s_quality_is_kept_apart_from_a_direct_draft(
    quality: float | None, verdicts: list[str], text: str
) -> None:
    aggregated = studio.Aggregated(quality=quality, departments=1, failed=0, unresolved=0)
    compared = [("delivery", Compared(preferred=verdict)) for verdict in verdicts]
    details = detail(StudioPresentation(), routed(), ("", aggregated), *compared)["deliverable"]
    assert details["text"] == text
    assert details.get("warn", False) == ("draft" in verdicts)


def test_ideas_are_ranked_and_shown_in_their_last_version() -> None:
    def idea(name: str) -> tuple[str, council.IdeaAdded]:
        return "", council.IdeaAdded(round=1, id=name, title=name, description="old", refines=["I7"])

    def score(name: str, value: float) -> tuple[str, council.IdeaScored]:
        return "", council.IdeaScored(round=2, id=name, criteria={"impact": value}, score=value)

    details = detail(
        CouncilPresentation(),
        ("", council.Phase(phase="kickoff", team=["team_leader"], min_score=6)),
        ("", council.Phase(phase="exploration", round=1, team=["team_leader"], min_score=6)),
        *map(idea, ("I1", "I2", "I3")),
        ("", council.IdeaRevised(round=1, id="I1", version=2, title="One", description="new")),
        ("", council.Phase(phase="validation", round=2, team=["team_leader"], min_score=6)),
        score("I2", 7),
        score("I1", 5),
    )
    assert {name: idea["rank"] for name, idea in details["ideas"].items()} == {"I2": 1, "I1": 2, "I3": 3}
    first = details["ideas"]["I1"]
    assert (first["description"], first["version"], first["refines"], first["low"]) == (
        "new",
        2,
        ["I7"],
        True,
    )
    assert (details["ideas"]["I2"]["score_text"], details["ideas"]["I3"]["score_text"]) == (
        "7.00",
        "not scored",
    )
    titles = [entry["title"] for entry in details["rounds"].values()]
    assert titles == ["Kickoff", "Round 1", "Validation and selection"]


def test_a_worker_is_followed_over_its_retries_and_its_result_is_worded() -> None:
    worker: dict[str, Any] = {"iteration": 1, "worker": "web_search"}
    result = {"found": 1466, "cites": ["s1", "s2"], "sources": [{"url": "corpus:a"}, {"url": "corpus:a"}]}
    at = "iteration[1]/web_search"
    details = detail(
        ResearchPresentation(),
        ("", research.PhaseChanged(iteration=1, from_="", to="planning", time="2030-01-01T00:00:00")),
        (at, research.WorkerStarted(**worker, task_id="t1", step=0, category="research", priority=1)),
        (at, research.WorkerRetried(**worker, attempt=2, most=3, wait_s=1, error="slow")),
        (
            at,
            research.WorkerCompleted(
                **worker, task_id="t1", step=0, category="research", attempts=2, result=result
            ),
        ),
        (
            "",
            research.Evaluated(
                iteration=1,
                quality=0.6,
                threshold=0.8,
                components={"article": 0.6},
                parts={},
                decision="force_complete",
                should_continue=True,
                feedback=["more"],
                issues=[],
            ),
        ),
    )
    (shown,) = details["workers"].values()
    assert (shown["status"], shown["attempts"], shown["path"]) == ("completed", 2, at)
    assert shown["text"] == "1,466 found, cites 2 sources"
    assert list(details["sources"]) == ["corpus:a"]
    assert details["evaluations"]["1"]["text"] == "Quality 0.60 (needs 0.80): force complete"
    assert details["phases"]["1"] == {"lap": 1, "phase": "planning", "text": "plan", "current": True}
    assert details["sources_text"] == "0 of 10 sources"


def step_changed(name: str, status: Any, attempts: int) -> build.StepChanged:
    return build.StepChanged(step_id=name, status=status, attempts=attempts, depth=0, number=1)


def test_a_plan_is_a_checklist_in_which_a_sub_plan_follows_its_step() -> None:
    main = ExecutionPlan("plan-1", "goal", "so", [PlanStep(f"step-{n}", n, f"part {n}") for n in (1, 2)])
    below = ExecutionPlan("plan-1.1", "goal", "so", [PlanStep("step-1.1", 1, "first", depth=1)], depth=1)
    tests = TestResult(ok=False, passed=3, failed=1, total=4, failures=[Failure("t::x", "no")])
    details = detail(
        BuildPresentation(),
        ("", build.PlanCreated(plan=main, iteration=1, revision=0, approved=True)),
        ("x", step_changed("step-1", "in_progress", 1)),
        ("x", build.PlanCreated(plan=below, iteration=1, revision=0, step_id="step-1", approved=True)),
        ("x", build.TestsRun(step_id="step-1", attempt=1, cycle=0, result=tests)),
        ("x", step_changed("step-1", "completed", 2)),
        ("", build.Committed(step_id="step-1", sha="abc", message="Step 1", files=["a.py"])),
    )
    steps = sorted(details["steps"].items(), key=lambda item: item[1]["order"])
    assert [(name, step["depth"]) for name, step in steps] == [("step-1", 0), ("step-1.1", 1), ("step-2", 0)]
    first = details["steps"]["step-1"]
    assert (first["status"], first["path"], first["note"]) == ("completed", "x", "2 attempts")
    assert (first["tests_text"], first["tests_failed"]) == ("3 passed, 1 failed", True)
    assert details["steps_text"] == "1 of 3 steps done"
    (run,) = details["tests"].values()
    assert (run["title"], run["ok"], run["failures"]) == ("part 1", False, [{"name": "t::x", "text": "no"}])
    assert details["commits"] == {"abc": {"order": 0, "message": "Step 1", "step": "step-1"}}
