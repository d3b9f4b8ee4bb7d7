"""Events of a node's lifecycle: created, planned, started, failed, blocked."""

from __future__ import annotations

from podium.engine.branch import quoted
from podium.errors import BudgetExhaustedError, StepFailedError
from podium.workflows.tree import events
from podium.workflows.tree.context import NodeRow, Tree
from podium.workflows.tree.contracts import AggregatorOutput, Attempt, Band, Node, Plan, Returned
from podium.workflows.tree.policy import ordered, retryable, share_of, still_holds


def created(tree: Tree, node: Node) -> None:
    """Register a node and emit its creation."""
    tree.nodes[node.id] = NodeRow(node)
    tree.run.emit(
        events.NodeCreated(
            node_id=node.id,
            parent_node_id=node.parent_id,
            title=node.title,
            reason=node.reason,
            success_criteria=list(node.criteria),
            depth=node.depth,
            band_index=None if node.band is None else node.band.index,
            step_index=node.step_index,
        )
    )


def status(tree: Tree, node: Node, now: str, role: str = "", message: str = "") -> None:
    tree.nodes[node.id].status = now
    tree.run.emit(events.NodeStatus(node_id=node.id, status=now, role=role, message=message))


def planned(tree: Tree, node: Node, attempt: Attempt) -> None:
    """Emit the plan, all its bands and all its steps, before any step runs."""
    run, plan_id, bands = tree.run, f"{node.id}/plan-{attempt.version}", ordered(attempt.plan)
    run.emit(
        events.PlanCreated(
            node_id=node.id, plan_id=plan_id, version=attempt.version, summary=attempt.plan.summary
        )
    )
    for band in bands:
        step_ids = [step.id for step in band.steps]
        run.emit(
            events.PlanBandCreated(
                node_id=node.id, plan_id=plan_id, band_index=band.index, goal=band.goal, step_ids=step_ids
            )
        )
    for band in bands:
        for index, step in enumerate(band.steps):
            run.emit(
                events.StepCreated(
                    node_id=node.id,
                    step_id=step.id,
                    title=step.title,
                    reason=step.reason,
                    success_criteria=step.success_criteria,
                    band_index=band.index,
                    step_index=index,
                )
            )


def band_begun(
    tree: Tree,
    node: Node,
    band: Band,
    before: Attempt | None,
    runs: dict[str, int],
    earlier: tuple[Returned, ...],
    plan: Plan,
) -> dict[str, Node]:
    """Emit the start of a band: step states and the parent's state. Return a new node for each step that has
    to run."""
    again = {step.id for step in band.steps if still_holds(step, before)}
    for step in band.steps:
        now = "reused" if step.id in again else "executing"
        tree.run.emit(events.StepStatus(node_id=node.id, step_id=step.id, status=now))
    status(tree, node, "waiting", message=f"band:{band.index}")
    children: dict[str, Node] = {}
    for index, step in enumerate(band.steps):
        if step.id in again:
            continue
        runs[step.id] = runs.get(step.id, 0) + 1
        nth = f"#{runs[step.id]}" if runs[step.id] > 1 else ""
        child = Node(
            f"{node.id}/{quoted(step.id)}{nth}",
            step.title,
            step.reason,
            tuple(step.success_criteria),
            depth=node.depth + 1,
            parent=node,
            step=step,
            band=band,
            step_index=index,
            earlier=(*node.earlier, *earlier),
            nearer=len(node.earlier),
            plan=plan,
            allowance=share_of(node, len(plan.steps)),
        )
        created(tree, child)
        tree.run.emit(events.NodeDelegated(node_id=node.id, step_id=step.id, child_node_id=child.id))
        children[step.id] = child
    return children


def step_ended(tree: Tree, parent: Node, returned: Returned) -> None:
    tree.run.emit(events.StepStatus(node_id=parent.id, step_id=returned.step_id, status=returned.status))


def aggregated(tree: Tree, node: Node, children: list[Returned], answer: AggregatorOutput) -> None:
    assessed = answer.result.success_assessment
    tree.run.emit(
        events.NodeAggregated(
            node_id=node.id,
            child_ids=[child.node_id for child in children if child.node_id],
            summary=answer.synthesis.summary,
            success_assessment=None if assessed is None else assessed.model_dump(exclude_none=True),
        )
    )


def replans(tree: Tree, node: Node, before: Attempt) -> None:
    children = [child.node_id for child in before.returned.values() if child.node_id]
    tree.run.emit(
        events.ReplanRequested(node_id=node.id, reason=before.replan_reason, based_on_child_ids=children)
    )


def failed(tree: Tree, node: Node, error: Exception) -> Returned:
    """Mark a node as failed and return the failed result. Its parent will name the gap."""
    reason = error.reason if isinstance(error, StepFailedError) else f"{type(error).__name__}: {error}"
    row = tree.nodes[node.id]
    row.status, row.summary = "failed", reason
    tree.run.emit(events.NodeFailed(node_id=node.id, error=reason, retryable=retryable(error)))
    return Returned(node.id, node.step_id, node.title, "failed", error=reason)


def blocked(
    tree: Tree, node: Node, error: BudgetExhaustedError, children: tuple[Returned, ...] = ()
) -> Returned:
    """Mark a node as blocked by the budget. The returned result carries the artifacts of its finished
    children."""
    status(tree, node, "blocked", message=f"budget:{error.kind}")
    finished = [child for child in children if child.status == "completed"]
    reason = f"out of budget ({error.kind})"
    if finished:
        reason += f"; finished below it: {'; '.join(f'{child.title}: {child.summary}' for child in finished)}"
    artifacts = tuple(artifact for child in finished for artifact in child.artifacts)
    return Returned(node.id, node.step_id, node.title, "blocked", artifacts=artifacts, error=reason)
