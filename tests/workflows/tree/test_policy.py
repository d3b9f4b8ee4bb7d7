"""The tree's rules and numbers as pure functions."""

from __future__ import annotations

from typing import Any

import pytest

from podium.errors import InvalidReplyError, ModelFailedError, StepTimeoutError
from podium.workflows.tree.contracts import AggregatorOutput, ExecutorOutput, Plan, PlannerOutput, Result
from podium.workflows.tree.node import Attempt, Kept, Node, Returned
from podium.workflows.tree.policy import (
    CONCURRENCY,
    MAX_TOOL_CALLS,
    Limits,
    PlanCheck,
    aggregator_context,
    broken_guard,
    executor_context,
    may_replan,
    must_execute,
    ordered,
    outcome_of,
    planner_context,
    retryable,
    snippet,
    still_holds,
    tail,
    wanted,
)
from tests.workflows.tree.team import aggregate, band, execute, leaf, plan, result, step

ROOT = Node("root", "The whole")
CHILD = Node("root/a", "A part", "because", ("it fits",), 1, ROOT)


def plan_of(*bands: dict[str, Any]) -> Plan:
    return PlannerOutput.model_validate(plan(*bands)).plan or Plan(summary="", bands=[])


def returned(step_id: str, status: str = "completed", outcome: str = "success", *kept: Kept) -> Returned:
    return Returned(f"root/{step_id}", step_id, f"Do {step_id}", status, outcome, {"summary": "fine"}, kept)


# ── guards ──


def test_the_guards_and_their_defaults() -> None:
    limits = Limits()
    assert (limits.depth, limits.bands, limits.steps, limits.replans) == (4, 3, 4, 1)
    assert limits.children == 12, "bands times steps"
    assert (CONCURRENCY, MAX_TOOL_CALLS) == (4, 6)


@pytest.mark.parametrize(("depth", "forced"), [(0, False), (3, False), (4, True), (5, True)])
def test_at_the_deepest_level_a_node_has_to_execute(depth: int, forced: bool) -> None:
    assert must_execute(Node("n", "t", depth=depth), Limits()) is forced


@pytest.mark.parametrize(
    ("bands", "guard"),
    [
        ([band(n, "x") for n in range(3)], ""),
        ([band(n, f"x{n}") for n in range(4)], "maxBandsPerPlan"),
        ([band(0, *"abcd")], ""),
        ([band(0, *"abcde")], "maxStepsPerBand"),
    ],
)
def test_a_plan_keeps_within_bands_and_steps(bands: list[dict[str, Any]], guard: str) -> None:
    made = Plan.model_validate({"summary": "", "bands": bands})
    assert broken_guard(made, Limits()) == guard


def test_a_plan_over_a_cap_is_complained_of_once() -> None:
    check, wild = PlanCheck(Limits(), None), PlannerOutput.model_validate(plan(band(0, *"abcdef")))
    assert check(wild).startswith("maxStepsPerBand: the plan has 1 bands with up to 6 steps, 6 steps in all;")
    assert check(wild) == "", "the guard decides from here on"
    assert PlanCheck(Limits(), None)(PlannerOutput.model_validate(execute())) == ""


# ── bands and replans ──


def test_bands_and_steps_come_in_the_order_of_their_indices() -> None:
    mixed = plan_of(band(1, "c"), {**band(0), "steps": [{**step("b"), "stepIndex": 1}, step("a")]})
    assert [[one.id for one in each.steps] for each in ordered(mixed)] == [["a", "b"], ["c"]]


@pytest.mark.parametrize(
    ("now", "before", "holds"),
    [
        (step("a"), returned("a"), True),
        (step("a"), returned("a", outcome="partial"), False),
        (step("a"), returned("a", "failed", ""), False),
        (step("a", "Another title"), returned("a"), False),
        (step("a", criteria=["more"]), returned("a"), False),
        (step("b"), returned("a"), False),
    ],
)
def test_a_step_is_kept_if_id_title_and_criteria_are_unchanged_and_it_succeeded(
    now: dict[str, Any], before: Returned, holds: bool
) -> None:
    attempt = Attempt(1, plan_of(band(0, "a")), {"a": before})
    (fresh,) = plan_of(band(0, now)).steps
    assert (still_holds(fresh, attempt) is not None) is holds
    assert still_holds(fresh, None) is None


def test_replans_are_counted() -> None:
    assert [may_replan(n, Limits(replans=2)) for n in range(4)] == [True, True, False, False]


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (ModelFailedError("p", "ProviderError", "503"), True),
        (ModelFailedError("p", "ModelFault", "503"), True),  # as earlier versions recorded it
        (StepTimeoutError("p", "TimeoutError", "late"), True),
        (ModelFailedError("p", "RefusalError", "no"), False),
        (ModelFailedError("p", "KeyError", "k"), False),
        (InvalidReplyError("p", "InvalidReplyError", "bad"), False),
        (ValueError("odd"), False),
    ],
)
def test_only_a_provider_in_trouble_may_do_better_next_time(error: Exception, again: bool) -> None:
    assert retryable(error) is again


# ── outcomes ──


@pytest.mark.parametrize(
    ("met", "artifacts", "children", "gaps", "outcome"),
    [
        (True, 1, [], 0, "success"),
        (True, 1, [returned("a")], 3, "success"),
        (True, 1, [returned("a", "failed", "")], 0, "partial"),
        (True, 1, [returned("a", "blocked", "")], 0, "partial"),
        (False, 1, [], 0, "partial"),
        (None, 1, [], 0, "success"),
        (None, 1, [], 1, "partial"),
        (True, 0, [], 0, "no_op"),
        (False, 0, [returned("a", "failed", "")], 0, "no_op"),
    ],
)
def test_the_outcome_of_a_node(
    met: bool | None, artifacts: int, children: list[Returned], gaps: int, outcome: str
) -> None:
    assert outcome_of(Result.model_validate(result(met=met)), artifacts, children, gaps) == outcome


# ── what each role is shown ──


def test_a_planner_sees_what_the_seed_lists() -> None:
    context = planner_context(CHILD, Limits(), 90.4, "notes", None)
    assert context["node"] == {
        "title": "A part", "reason": "because", "successCriteria": ["it fits"], "depth": 1,
    }  # fmt: skip
    assert context["parent_ask"]["parentTitle"] == "The whole"
    assert context["budgets"] == {
        "maxDepth": 4, "maxBandsPerPlan": 3, "maxStepsPerBand": 4, "maxChildrenPerNode": 12,
        "timeBudgetSeconds": 90,
    }  # fmt: skip
    assert context["scratchpad"] == "notes"
    assert (context["existing_plan"], context["children"]) == (None, [])
    assert planner_context(ROOT, Limits(), None, "", None)["parent_ask"] is None


def test_a_planner_that_plans_again_sees_the_old_plan_and_what_it_brought() -> None:
    before = Attempt(1, plan_of(band(0, "a", "b")), {"a": returned("a")}, replan_reason="b is missing")
    context = planner_context(ROOT, Limits(), None, "", before)
    assert context["existing_plan"]["replanReason"] == "b is missing"
    assert [one["id"] for one in context["existing_plan"]["steps"]] == ["a", "b"]
    assert context["children"] == [
        {"stepId": "a", "title": "Do a", "status": "completed", "outcome": "success", "summary": "fine"}
    ]


def test_an_executor_sees_its_task_the_deliverable_notes_and_what_there_is_to_read() -> None:
    kept = Kept("art", "document", "doc", "Title", "The beginning", "doc-art")
    node = Node("root/b", "B", depth=1, parent=ROOT, earlier=(returned("a", "completed", "success", kept),))
    context = executor_context(node, "both", "notes", (), [], [])
    assert set(context) == {
        "node", "deliverable", "scratchpad", "hints", "tools", "tool_results", "tool_calls_left",
    }  # fmt: skip
    assert context["deliverable"] == "a document in Markdown and a JSON artifact"
    (hint,) = context["hints"]
    assert hint["artifacts"][0]["snippet"] == "The beginning"


def test_an_aggregator_sees_envelopes_artifacts_and_documents_in_short_and_nothing_else() -> None:
    kept = Kept("art", "document", "doc", "Title", "The beginning", "doc-art")
    lost = Returned("root/b", "b", "Do b", "failed", error="no source")
    context = aggregator_context(ROOT, "notes", [returned("a", "completed", "success", kept), lost])
    assert set(context) == {"node", "is_root", "scratchpad", "results", "artifacts", "documents"}
    assert context["results"][0]["result"] == {"summary": "fine"}
    assert context["results"][1]["error"] == "no source"
    assert context["artifacts"] == [
        {"label": "a/doc", "artifactId": "art", "type": "document", "documentId": "doc-art", "title": "Title"}
    ]
    assert context["documents"] == [{"documentId": "doc-art", "title": "Title", "snippet": "The beginning"}]


@pytest.mark.parametrize(
    ("node", "deliverable", "words"),
    [
        (CHILD, "document", "a document in Markdown"),
        (CHILD, "json", "a JSON artifact"),
        (ROOT, "json", "a document in Markdown and a JSON artifact; the document is the primary artifact"),
    ],
)
def test_the_deliverable_in_words(node: Node, deliverable: Any, words: str) -> None:
    assert wanted(node, deliverable) == words


def test_tails_and_snippets_have_the_lengths_of_the_specification() -> None:
    long = "\n".join(f"line {n}" for n in range(2_000))
    assert len(tail(long)) <= 6_000
    assert tail(long).startswith("line ")
    assert tail(long).endswith("line 1999")
    assert len(tail("x" * 9_000)) == 6_000
    assert len(snippet("y" * 9_000)) == 2_000
    assert snippet("short") == "short"


def test_the_shapes_that_tests_use_are_those_of_the_contract() -> None:
    assert ExecutorOutput.model_validate(leaf()).artifacts
    assert AggregatorOutput.model_validate(aggregate()).next.should_replan is False
