"""The tree's rules and numbers as pure functions."""

from __future__ import annotations

from typing import Any

import pytest

from podium.errors import InvalidReplyError, ModelFailedError, StepTimeoutError
from podium.workflows.delivery.policy import cut, room_for
from podium.workflows.tree.contracts import (
    AggregatorOutput,
    Attempt,
    ExecutorOutput,
    KeptArtifact,
    Node,
    Plan,
    PlannerOutput,
    Result,
    Returned,
)
from podium.workflows.tree.material import (
    Piece,
    aggregator_context,
    executor_context,
    is_cut,
    pieces_of,
    planner_context,
    read_document,
    shown_pieces,
)
from podium.workflows.tree.policy import (
    CONCURRENCY,
    MAX_TOOL_CALLS,
    PlanCheck,
    TreeLimits,
    broken_guard,
    demoted,
    may_replan,
    must_execute,
    ordered,
    outcome_of,
    retryable,
    share_of,
    snippet,
    still_holds,
    tail,
    unknown_includes,
    wanted,
    with_includes,
)
from tests.workflows.tree.team import aggregate, band, execute, leaf, plan, result, step

ROOT = Node("root", "The whole", allowance=59)
CHILD = Node("root/a", "A part", "because", ("it fits",), 1, ROOT, allowance=20)


def plan_of(*bands: dict[str, Any]) -> Plan:
    return PlannerOutput.model_validate(plan(*bands)).plan or Plan(summary="", bands=[])


def returned(
    step_id: str, status: str = "completed", outcome: str = "success", *kept: KeptArtifact
) -> Returned:
    return Returned(f"root/{step_id}", step_id, f"Do {step_id}", status, outcome, {"summary": "fine"}, kept)


# ── guards ──


def test_the_guards_and_their_defaults() -> None:
    limits = TreeLimits()
    assert (limits.depth, limits.bands, limits.steps, limits.replans) == (4, 3, 4, 1)
    assert limits.children == 12, "bands times steps"
    assert (CONCURRENCY, MAX_TOOL_CALLS) == (4, 6)


@pytest.mark.parametrize(
    ("depth", "allowance", "guard"),
    [
        (0, 59, ""),
        (3, 2, ""),
        (4, 59, "maxDepth"),
        (5, 59, "maxDepth"),
        (1, 1, "maxNodes"),
        (1, 0, "maxNodes"),
    ],
)
def test_where_a_node_cannot_split_no_planner_is_asked(depth: int, allowance: int, guard: str) -> None:
    assert must_execute(Node("n", "t", depth=depth, allowance=allowance), TreeLimits()) == guard


@pytest.mark.parametrize(("allowance", "children", "share"), [(59, 8, 6), (11, 11, 0), (12, 5, 1), (3, 2, 0)])
def test_the_allowance_of_nodes_is_shared_among_children(allowance: int, children: int, share: int) -> None:
    assert share_of(Node("n", "t", allowance=allowance), children) == share
    assert children + children * share <= allowance


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
    assert broken_guard(made, TreeLimits(), 59) == guard


def test_a_plan_keeps_within_the_allowance_of_nodes() -> None:
    made = Plan.model_validate({"summary": "", "bands": [band(0, *"abcd")]})
    assert broken_guard(made, TreeLimits(), 3) == "maxNodes"


def test_a_plan_over_a_cap_is_complained_of_once() -> None:
    check, wild = PlanCheck(TreeLimits(), None, 59), PlannerOutput.model_validate(plan(band(0, *"abcdef")))
    assert check(wild).startswith("maxStepsPerBand: the plan has 1 bands with up to 6 steps, 6 steps in all;")
    assert check(wild) == "", "the guard decides from here on"
    assert PlanCheck(TreeLimits(), None, 59)(PlannerOutput.model_validate(execute())) == ""


# ── bands and replans ──


def test_bands_and_steps_come_in_the_order_of_their_indices() -> None:
    mixed = plan_of(band(1, "c"), {**band(0), "steps": [{**step("b"), "stepIndex": 1}, step("a")]})
    assert [[step.id for step in each.steps] for each in ordered(mixed)] == [["a", "b"], ["c"]]


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
    assert [may_replan(n, TreeLimits(replans=2)) for n in range(4)] == [True, True, False, False]


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
    context = planner_context(CHILD, TreeLimits(), 90.4, "notes", None)
    assert context["node"] == {
        "title": "A part",
        "reason": "because",
        "successCriteria": ["it fits"],
        "depth": 1,
    }
    assert context["parent_ask"]["parentTitle"] == "The whole"
    assert context["budgets"] == {
        "maxDepth": 4,
        "maxBandsPerPlan": 3,
        "maxStepsPerBand": 4,
        "maxChildrenPerNode": 12,
        "maxNodes": 20,
        "timeBudgetSeconds": 90,
    }
    assert context["scratchpad"] == "notes"
    assert (context["existing_plan"], context["children"]) == (None, [])
    assert planner_context(ROOT, TreeLimits(), None, "", None)["parent_ask"] is None


def test_a_planner_that_plans_again_sees_the_old_plan_and_what_it_brought() -> None:
    before = Attempt(1, plan_of(band(0, "a", "b")), {"a": returned("a")}, replan_reason="b is missing")
    context = planner_context(ROOT, TreeLimits(), None, "", before)
    assert context["existing_plan"]["replanReason"] == "b is missing"
    assert [step["id"] for step in context["existing_plan"]["steps"]] == ["a", "b"]
    assert context["children"] == [
        {"stepId": "a", "title": "Do a", "status": "completed", "outcome": "success", "summary": "fine"}
    ]


def kept(label: str, text: str, *, kind: str = "document") -> KeptArtifact:
    return KeptArtifact(
        f"art-{label}", kind, label, f"Title of {label}", text, f"doc-{label}" if kind == "document" else None
    )


def hinting(step_id: str, labels: list[str], *made: KeptArtifact) -> Returned:
    hint = {"hintType": "read_documents", "artifactLabels": labels}
    envelope = {"summary": "fine", "parentHint": hint}
    return Returned(f"root/{step_id}", step_id, f"Do {step_id}", "completed", "success", envelope, made)


def test_an_executor_sees_earlier_documents_whole() -> None:
    long = "word " * 1_200
    node = Node("root/b", "B", depth=1, parent=ROOT, earlier=(hinting("a", ["doc"], kept("doc", long)),))
    context = executor_context(node, "both", "notes", pieces_of(node.earlier), node.earlier, 50_000, [], 0)
    assert context["deliverable"] == "a document in Markdown and a JSON artifact"
    (hint,) = context["hints"]
    (artifact,) = hint["artifacts"]
    assert (artifact["label"], artifact["text"], artifact["note"]) == ("a/doc", long, "")
    assert context["tools"] == []


def test_an_aggregator_sees_envelopes_documents_and_data_whole() -> None:
    lost = Returned("root/b", "b", "Do b", "failed", error="no source")
    child = hinting("a", ["doc"], kept("doc", "x" * 9_000), kept("data", '{"n": 1}', kind="json"))
    context = aggregator_context(ROOT, "notes", [child, lost], 50_000)
    assert context["results"][0]["result"]["summary"] == "fine"
    assert context["results"][1]["error"] == "no source"
    assert [(artifact["label"], len(artifact["text"])) for artifact in context["artifacts"]] == [
        ("a/doc", 9_000),
        ("a/data", 8),
    ]


def test_where_room_is_short_what_a_hint_names_comes_first() -> None:
    first = hinting("a", [], kept("notes", "n" * 5_000))
    second = hinting("b", ["doc"], kept("doc", "d" * 5_000))
    shown = shown_pieces(pieces_of([first, second]), 6_000)
    assert list(shown) == ["a/notes", "b/doc"], "in the order of the steps"
    assert (shown["b/doc"]["text"], shown["b/doc"]["note"]) == ("d" * 5_000, "")
    assert shown["a/notes"]["note"] == "[1,000 of 5,000 characters shown]"


def test_what_is_shown_in_part_can_be_read_on() -> None:
    node = Node(
        "root/b", "B", depth=1, parent=ROOT, earlier=(hinting("a", ["doc"], kept("doc", "x" * 50_000)),)
    )
    pieces = pieces_of(node.earlier)
    assert is_cut(pieces, 10_000)
    assert not is_cut(pieces, 60_000)
    text = read_document(pieces, {"label": "a/doc", "offset": 10_000}).text
    assert text.startswith("[characters 10,000 to 30,000 of 50,000]")
    assert text.endswith("[read on at offset 30000]")
    unknown = read_document(pieces, {"label": "nope"})
    assert (unknown.ok, unknown.error) == (False, "there is no document 'nope'; there are: a/doc")
    assert not read_document(pieces, {"label": "a/doc", "offset": -1}).ok


def test_everyone_knows_the_whole() -> None:
    parts = plan_of(band(0, "a", "b"), band(1, "c")).model_copy(update={"assumptions": ["ten people"]})
    top = Node("root", "A week for new colleagues")
    upper = Node(
        "root/a",
        "Do a",
        "because of a",
        depth=1,
        parent=top,
        step=parts.steps[0],
        band=parts.bands[0],
        plan=parts,
    )
    inner = plan_of(band(0, "x", "y")).model_copy(update={"assumptions": ["from Monday on"]})
    node = Node(
        "root/a/x", "Do x", depth=2, parent=upper, step=inner.steps[0], band=inner.bands[0], plan=inner
    )
    whole = executor_context(node, "document", "", [], (), 1_000, [], 0)["whole"]
    assert whole == {
        "request": "A week for new colleagues",
        "is_root": False,
        "draft": "",
        "objectives": [{"title": "Do a", "reason": "because of a"}],
        "band_goal": "goal 0",
        "assumptions": ["ten people", "from Monday on"],
        "others": ["Do y"],
    }
    assert aggregator_context(node, "", [], 1_000)["whole"] == whole
    assert planner_context(node, TreeLimits(), None, "", None)["whole"] == whole


def test_the_room_for_documents_follows_the_window() -> None:
    assert room_for(200_000) == 360_000
    assert room_for(None) == room_for(128_000)


def test_a_cut_ends_at_a_line_and_says_how_much_is_shown() -> None:
    text = "\n".join("line" for _ in range(1_000))
    begun, note = cut(text, 2_000)
    assert begun.endswith("line")
    assert note == f"[{len(begun):,} of {len(text):,} characters shown]"
    assert cut("short", 2_000) == ("short", "")
    assert Piece("a", kept("a", "x"), 0).artifact.text == "x"


# ── includes ──


def test_an_include_is_replaced_by_the_whole_document() -> None:
    child = hinting("days", ["monday"], kept("monday", "# Monday\n\n## Morning\n\n09:00 keys"))
    text = "# The week\n\n## Monday to Friday\n\n{{include days/monday}}\n\nThat is all."
    assert with_includes(text, [child]) == (
        "# The week\n\n## Monday to Friday\n\n### Monday\n\n#### Morning\n\n09:00 keys\n\nThat is all."
    )


def test_an_include_of_nothing_is_sent_back() -> None:
    written = {
        "type": "document",
        "label": "doc",
        "title": "T",
        "documentMarkdown": "x\n{{ include a/nope }}\n",
    }
    answer = AggregatorOutput.model_validate(aggregate(written))
    assert (
        unknown_includes(answer, ["a/doc"])
        == "there is no document to include under a/nope; there are: a/doc"
    )
    assert unknown_includes(answer, ["a/nope"]) == ""


def test_headings_of_an_included_document_go_below_the_one_above_it() -> None:
    assert demoted("# A\n\n## B", 2) == "### A\n\n#### B"
    assert demoted("### A", 1) == "### A"
    assert demoted("no heading", 3) == "no heading"


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
    assert len(snippet("y" * 9_000, 300)) == 300
    assert snippet("short", 300) == "short"


def test_the_shapes_that_tests_use_are_those_of_the_contract() -> None:
    assert ExecutorOutput.model_validate(leaf()).artifacts
    assert AggregatorOutput.model_validate(aggregate()).next.should_replan is False
