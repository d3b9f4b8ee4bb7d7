"""The contracts of planner, executor and aggregator: every rule, by the words that a model is told."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from podium.engine.codec import schema
from podium.workflows.tree.contracts import AggregatorOutput, ExecutorOutput, PlannerOutput
from tests.workflows.tree.team import NOTE, aggregate, band, document, execute, leaf, plan, step, tool_call


def refused(kind: Any, data: dict[str, Any]) -> str:
    with pytest.raises(ValidationError) as caught:
        kind.model_validate(data)
    return str(caught.value)


# ── planner ──


def test_planner_rule_1_a_plan_must_have_bands() -> None:
    without = {**plan(), "plan": None}
    assert "mode is plan, so plan.bands must be present" in refused(PlannerOutput, without)
    assert "mode is plan, so plan.bands must be present" in refused(PlannerOutput, plan())
    missing = {**plan(band(0, "a"))}
    del missing["plan"]
    assert "mode is plan, so plan.bands must be present" in refused(PlannerOutput, missing)


@pytest.mark.parametrize("indices", [(1, 2), (0, 2), (0, 0), (-1, 0)])
def test_planner_rule_2_bands_are_indexed_from_0_without_a_hole(indices: tuple[int, int]) -> None:
    bands = [band(index, f"s{n}") for n, index in enumerate(indices)]
    message = refused(PlannerOutput, plan(*bands))
    assert f"bands must be indexed from 0..n-1: expected 0..1, got {indices[0]}, {indices[1]}" in message


def test_planner_rule_3_step_ids_are_unique_within_a_plan() -> None:
    message = refused(PlannerOutput, plan(band(0, "a", "b"), band(1, "a")))
    assert "step ids must be unique within a plan; repeated: a" in message


def test_planner_rule_4_the_scratchpad_is_required_every_time() -> None:
    for decision in (execute(), plan(band(0, "a"))):
        del decision["scratchpad"]
        assert "scratchpad\n  Field required" in refused(PlannerOutput, decision)


def test_all_broken_rules_of_a_plan_are_reported_at_once() -> None:
    message = refused(PlannerOutput, plan(band(0, "a"), band(2, "a")))
    assert "bands must be indexed" in message
    assert "step ids must be unique" in message


def test_a_band_without_steps_is_no_band() -> None:
    assert "plan.bands.0.steps" in refused(PlannerOutput, plan(band(0)))


def test_a_mode_is_always_chosen_and_explained() -> None:
    assert "modeReason" in refused(PlannerOutput, {"mode": "execute", "scratchpad": NOTE})
    assert "mode" in refused(PlannerOutput, {**execute(), "mode": "maybe"})


# ── executor ──


def test_executor_rule_1_there_is_always_a_result() -> None:
    answer = leaf()
    del answer["result"]
    assert "result\n  Field required" in refused(ExecutorOutput, answer)


@pytest.mark.parametrize("gone", ["title", "documentMarkdown"])
def test_executor_rule_2_a_document_has_a_title_and_markdown(gone: str) -> None:
    bare = {name: value for name, value in document().items() if name != gone}
    message = refused(ExecutorOutput, leaf(bare))
    assert f"a document artifact must include title and documentMarkdown: doc has no {gone}" in message


def test_executor_rule_3_hints_name_artifacts_that_are_defined() -> None:
    answer = leaf(document("real"))
    answer["result"]["parentHint"]["artifactLabels"] = ["real", "invented"]
    message = refused(ExecutorOutput, answer)
    assert "artifactLabels must reference artifacts defined above: invented is not among them" in message
    assert "(defined: real)" in message


def test_the_primary_artifact_is_one_that_is_defined() -> None:
    answer = leaf(document("real"))
    answer["result"]["primaryArtifactLabel"] = "other"
    assert "primaryArtifactLabel must name an artifact defined above, not 'other'" in refused(
        ExecutorOutput, answer
    )


def test_labels_are_unique() -> None:
    assert "artifact labels must be unique; repeated: doc" in refused(
        ExecutorOutput, leaf(document(), document())
    )


def test_a_tool_call_names_its_tool() -> None:
    nameless = {"kind": "tool_call", "note": "look"}
    assert "must name its tool in toolName" in refused(ExecutorOutput, leaf(actions=[nameless]))
    fine = ExecutorOutput.model_validate(leaf(actions=[tool_call("search", query="x")]))
    assert fine.tool_calls[0].tool_args == {"query": "x"}


def test_a_json_artifact_has_its_payload() -> None:
    assert "the json artifact data has no jsonPayload" in refused(
        ExecutorOutput, leaf({"type": "json", "label": "data"})
    )
    fine = leaf({"type": "json", "label": "data", "jsonPayload": {"n": 1}})
    assert ExecutorOutput.model_validate(fine).artifacts[0].json_payload == {"n": 1}


# ── aggregator ──


def test_the_aggregator_shows_synthesis_result_next_and_notes() -> None:
    for name in ("synthesis", "artifacts", "result", "next", "scratchpad"):
        answer = aggregate()
        del answer[name]
        assert name in refused(AggregatorOutput, answer)


def test_an_aggregators_documents_have_title_and_markdown_too() -> None:
    message = refused(AggregatorOutput, aggregate({"type": "document", "label": "d"}))
    assert "d has no title and no documentMarkdown" in message


@pytest.mark.parametrize(
    ("artifacts", "primary", "label"),
    [
        ([document("a"), document("b")], "b", "b"),
        ([document("a"), {**document("b"), "isPrimary": True}], None, "b"),
        ([document("only")], None, "only"),
        ([document("a"), document("b")], None, None),
    ],
)
def test_the_primary_artifact_is_named_marked_or_the_only_document(
    artifacts: list[dict[str, Any]], primary: str | None, label: str | None
) -> None:
    answer = aggregate(*artifacts)
    if primary:
        answer["result"]["primaryArtifactLabel"] = primary
    chosen = AggregatorOutput.model_validate(answer).primary
    assert (chosen and chosen.label) == label


# ── both directions ──


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (PlannerOutput, plan(band(0, "a"), band(1, step("b")))),
        (PlannerOutput, execute()),
        (ExecutorOutput, leaf(actions=[tool_call("t", x=1)])),
        (AggregatorOutput, aggregate()),
    ],
)
def test_what_we_write_is_what_we_read(kind: Any, data: dict[str, Any]) -> None:
    read = kind.model_validate(data)
    written = read.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert kind.model_validate(written) == read
    given = {name for name, value in data.items() if value is not None}
    assert set(written) == given, "the field names of the contract, none of ours"


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (PlannerOutput, {"mode", "modeReason", "leafDecision", "plan", "scratchpad"}),
        (ExecutorOutput, {"actions", "artifacts", "result", "scratchpad"}),
        (AggregatorOutput, {"synthesis", "artifacts", "result", "next", "scratchpad", "actions"}),
    ],
)
def test_the_schema_speaks_the_contracts_names(kind: Any, names: set[str]) -> None:
    assert set(schema(kind)["properties"]) == names
