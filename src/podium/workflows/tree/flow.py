"""Orchestration of `tree`: every node executes or splits its task and aggregates its children's results."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta
from msgspec.structs import replace

from podium.agents.ask import Run
from podium.engine.branch import Failed, Ok
from podium.engine.effect import Effect
from podium.engine.workflow import Outcome, Partial, Workflow
from podium.errors import BudgetExhaustedError, StepFailedError
from podium.models.registry import context_window
from podium.tools.files import readable_folder
from podium.tools.toolbox import Toolbox
from podium.workflows.delivery.contracts import Draft
from podium.workflows.delivery.flow import RESULT_FILE, Desk, UseEditor, UseFloor, deliver, direct_draft
from podium.workflows.delivery.policy import room_for
from podium.workflows.tree import agents as roles
from podium.workflows.tree import events, node_events, rehearsal
from podium.workflows.tree.context import Notes, Tree, as_it_stands, finished, output_of
from podium.workflows.tree.contracts import (
    AggregatorOutput,
    Attempt,
    Band,
    Node,
    Plan,
    PlannerOutput,
    Returned,
    Step,
)
from podium.workflows.tree.leaf import run_leaf, use_tool
from podium.workflows.tree.material import aggregator_context, pieces_of, planner_context
from podium.workflows.tree.policy import (
    CONCURRENCY,
    MAX_BANDS,
    MAX_DEPTH,
    MAX_NODES,
    MAX_REPLANS,
    MAX_STEPS,
    MAX_TOOL_CALLS,
    ONE_REPLY,
    Deliverable,
    PlanCheck,
    TreeLimits,
    aggregator_problem,
    execution_guard,
    may_replan,
    must_execute,
    ordered,
    outcome_of,
    still_holds,
)

__all__ = ["WORKFLOW", "rehearsal"]

CLOSING = 0.1
"""Share of every budget ceiling that is reserved for the aggregators of a tree that is out of budget."""


class PlanRejectedError(Exception):
    """Raised when the root's plan is not approved."""


async def tree(
    run: Run,
    request: str,
    *,
    max_depth: Annotated[int, Meta(ge=0, le=12, description="Maximum levels below the root.")] = MAX_DEPTH,
    max_bands: Annotated[int, Meta(ge=1, le=50, description="Maximum bands per plan.")] = MAX_BANDS,
    max_steps: Annotated[int, Meta(ge=1, le=50, description="Maximum steps per band.")] = MAX_STEPS,
    replans: Annotated[int, Meta(ge=0, le=10, description="Maximum new plans per node.")] = MAX_REPLANS,
    max_nodes: Annotated[
        int, Meta(ge=1, le=100_000, description="Maximum nodes of the whole tree.")
    ] = MAX_NODES,
    deliverable: Annotated[
        Deliverable, Meta(description="Output of the leaves; the root always writes a document.")
    ] = "document",
    files: Annotated[str, Meta(description="Folder that executors may read.")] = "",
    web: Annotated[bool, Meta(description="Executors may search and read the web.")] = False,
    floor: UseFloor = True,
    editor: UseEditor = True,
) -> Outcome | Partial:
    """Split a task into a tree of steps, do them, and merge their results.

    Every node is either done or split into bands of steps. Bands run one after the other, the steps of a band
    in parallel. Parents read the results of their children and write one result.
    """
    toolbox = Toolbox(
        mcp=run.settings.mcp,
        folder=Path(files) if files else None,
        web=web,
        settings=run.settings,
        concurrency=run.config.get("concurrency") or CONCURRENCY,
    )
    async with toolbox:
        limits = TreeLimits(max_depth, max_bands, max_steps, replans, max_nodes)
        context = Tree(run, limits, deliverable, toolbox)
        await _equip(context)
        run.emit(events.RunStarted(node_id="root", objective=request))
        root = Node("root", request, allowance=max_nodes - 1)
        node_events.created(context, root)
        desk = Desk(run, request, floor=floor, editor=editor)
        draft = await direct_draft(desk)
        if draft is not None:
            root = replace(root, criteria=tuple(draft.points), draft=draft.document)
            context.nodes[root.id].node = root
        return await _run_root(context, root, desk, draft)


async def _equip(tree: Tree) -> None:
    """Determine once which tools exist, how much fits into a prompt, and whether time is limited. The values
    are recorded: a resume with another model or limit must not repeat model calls because of them."""
    run = tree.run

    async def timed(effect: Effect) -> bool:
        return run.budget.seconds is not None

    async def window(effect: Effect) -> int | None:
        names = {run.models.name_for(agent, run.config) for agent in roles.ALL}
        known = [size for name in names if (size := context_window(name)) is not None]
        return min(known) if known else None

    found_window = await run.perform("window", window, inputs=None, returns=int | None, kind="clock")
    tree.room = room_for(found_window)
    tree.timed = await run.perform("timed", timed, inputs=None, returns=bool, kind="clock")
    equipment = await run.step("tools", tree.toolbox.equipment)
    tree.tools = tree.toolbox.native(equipment.tools)
    for trouble in equipment.troubles:
        run.warn(trouble)


async def _run_root(tree: Tree, root: Node, desk: Desk, draft: Draft | None) -> Outcome | Partial:
    """Run the root and return its result. Out of budget, return the unfinished tree. A failed root fails the
    run."""
    notes = Notes(tree.run, root)
    try:
        returned = await run_node(tree, root, notes)
    except BudgetExhaustedError as error:
        returned = node_events.blocked(tree, root, error)
    except PlanRejectedError:
        node_events.status(tree, root, "blocked", message="rejected")
        return Partial(output=output_of(tree, None), reason="plan rejected")
    except StepFailedError as error:
        node_events.failed(tree, root, error)
        await notes.keep()
        raise
    for row in tree.nodes.values():
        if row.status == "failed":
            tree.run.warn(f"{row.node.title} failed: {row.summary}")
    unfinished = [row.node.title for row in tree.nodes.values() if row.status == "blocked"]
    if returned.status == "completed" and not unfinished:
        return await _deliver(tree, returned, desk, draft)
    if returned.status != "completed":
        tree.root_document = as_it_stands(tree)
        await tree.run.artifact("as-it-stands.md", tree.root_document, "text/markdown")
    return Partial(output=output_of(tree, returned), reason="budget", missing=unfinished)


async def _deliver(tree: Tree, returned: Returned, desk: Desk, draft: Draft | None) -> Outcome | Partial:
    """Return the root's result after the editor's pass. It is `partial`, with its gaps, if the request is not
    met."""
    before = tree.root_document
    material = [
        (document.title, document.text) for _, own in sorted(tree.documents.items()) for document in own
    ]
    delivered = await deliver(desk, before, draft, material=material, gaps=tree.gaps)
    if delivered.checked:
        tree.gaps, tree.met = list(delivered.missing), not delivered.missing
    else:
        for gap in tree.gaps:
            tree.run.warn(f"Missing: {gap}")
    tree.root_document = delivered.document
    if delivered.document != before:
        artifact = await tree.run.artifact(RESULT_FILE, delivered.document, "text/markdown")
        envelope = {**returned.envelope, "primaryArtifactId": artifact.id}
        envelope["artifactIds"] = [artifact.id, *returned.envelope.get("artifactIds", [])]
        returned = replace(returned, envelope=envelope)
    output = {**output_of(tree, returned), "comparison": delivered.shown()}
    return Outcome(output=output) if tree.met else Partial(output=output, reason="not met", missing=tree.gaps)


async def run_node(tree: Tree, node: Node, notes: Notes) -> Returned:
    """Run one node: plan and execute, or plan, delegate, aggregate and possibly replan."""
    if guard := must_execute(node, tree.limits):
        guard = "" if guard == ONE_REPLY else guard
        return await run_leaf(tree, node, notes, roles.EXECUTOR, guard=guard)
    before: Attempt | None = None
    while True:
        decision = await _plan(tree, node, notes, before)
        guard = execution_guard(decision, tree.limits, node.allowance)
        if guard or decision.plan is None or decision.mode == "execute":
            executor = roles.executor_for(decision.leaf_decision)
            children = () if before is None else tuple(before.returned.values())
            return await run_leaf(tree, node, notes, executor, guard=guard, children=children)
        attempt = await _delegate(tree, node, decision.plan, before)
        answer = await _aggregate(tree, node, notes, attempt)
        if isinstance(answer, BudgetExhaustedError):
            return node_events.blocked(tree, node, answer, tuple(attempt.returned.values()))
        refused = False
        if answer.next.should_replan and not out_of_budget(attempt.returned.values()):
            if may_replan(attempt.version - 1, tree.limits):
                before = replace(attempt, replan_reason=answer.next.replan_reason or "")
                node_events.replans(tree, node, before)
                continue
            refused = True
            node_events.status(tree, node, "aggregating", "aggregator", "guard:maxReplansPerNode")
        return await _complete(tree, node, notes, attempt, answer, refused=refused)


# ── plan ─────────────────────────────────────────────────────────────────────────────────────────


async def _plan(tree: Tree, node: Node, notes: Notes, before: Attempt | None) -> PlannerOutput:
    run = tree.run
    node_events.status(tree, node, "planning", "planner")

    seconds_left = await _time_left(run) if tree.timed else None
    planner = roles.ROOT_PLANNER if node.is_root else roles.PLANNER
    decision = await run.ask(
        planner,
        "plan",
        returns=PlannerOutput,
        check=PlanCheck(tree.limits, before, node.allowance),
        **planner_context(node, tree.limits, seconds_left, notes.text, before),
    )
    notes.add("Planner", decision.scratchpad)
    return decision


async def _time_left(run: Run) -> float | None:
    """Return the seconds left, or None if time is unlimited. Recorded, so that a resume with less time does
    not repeat model calls."""

    async def time_left(effect: Effect) -> float | None:
        return None if run.budget.seconds is None else max(0.0, run.budget.seconds - run.driven_s)

    return await run.perform("time_left", time_left, inputs=None, returns=float | None, kind="clock")


async def _check_gate(tree: Tree, node: Node, plan: Plan) -> None:
    """With `--approve plan`, ask for approval of the root's plan before any step runs."""
    if not node.is_root:
        return
    steps = [f"band {band.index + 1}: {step.title}" for band in ordered(plan) for step in band.steps]
    question = f"Carry out this plan of {len(steps)} steps? {plan.summary}"
    if not await tree.run.approved("plan", question, details=steps):
        raise PlanRejectedError


# ── delegate ─────────────────────────────────────────────────────────────────────────────────────


async def _delegate(tree: Tree, node: Node, plan: Plan, before: Attempt | None) -> Attempt:
    """Run the bands in order. Once the budget is used up, start no further band."""
    attempt = Attempt(1 if before is None else before.version + 1, plan)
    node_events.planned(tree, node, attempt)
    await _check_gate(tree, node, plan)
    node_events.status(tree, node, "delegating", "planner")
    if not node.is_root:
        tree.open_nodes.add(node.id)
    runs = {} if before is None else dict(before.runs)
    returned: dict[str, Returned] = {}
    for band in ordered(plan):
        if out_of_budget(returned.values()):
            returned |= {step.id: _not_started(step) for step in band.steps}
            continue
        children = node_events.band_begun(tree, node, band, before, runs, tuple(returned.values()), plan)
        returned |= await _run_band(tree, node, band, children, before)
    return replace(attempt, returned=returned, runs=runs)


async def _run_band(
    tree: Tree, node: Node, band: Band, children: dict[str, Node], before: Attempt | None
) -> dict[str, Returned]:
    """Run the steps of a band in parallel or, if the band is not parallelizable, in order, each with the
    earlier results."""
    done: dict[str, Returned] = {}
    if band.parallelizable:
        steps = {name: _run_step(tree, node, child) for name, child in children.items()}
        outcomes = await tree.run.gather(steps)
        done = {name: _result(tree, node, children[name], outcome) for name, outcome in outcomes.items()}
    else:
        for name, child in children.items():
            seeing = replace(child, earlier=(*child.earlier, *done.values()))
            outcomes = await tree.run.gather({name: _run_step(tree, node, seeing)})
            done[name] = _result(tree, node, child, outcomes[name])
    return {step.id: done.get(step.id) or _reused(step, before) for step in band.steps}


async def _run_step(tree: Tree, parent: Node, child: Node) -> Returned:
    """Run a child in its own branch. A failure is returned as data, so that the parent can name the gap."""
    notes = Notes(tree.run, child)
    try:
        returned = await run_node(tree, child, notes)
    except BudgetExhaustedError as error:
        returned = node_events.blocked(tree, child, error)
    except StepFailedError as error:
        await notes.keep()
        returned = node_events.failed(tree, child, error)
    finally:
        tree.open_nodes.discard(child.id)
    node_events.step_ended(tree, parent, returned)
    return returned


def _result(tree: Tree, parent: Node, child: Node, outcome: Ok[Returned] | Failed) -> Returned:
    """Return the result of a branch. An unexpected exception counts as a failed node."""
    if isinstance(outcome, Ok):
        return outcome.value
    returned = node_events.failed(tree, child, outcome.error)
    node_events.step_ended(tree, parent, returned)
    return returned


def _reused(step: Step, before: Attempt | None) -> Returned:
    returned = still_holds(step, before)
    if returned is None:  # pragma: no cover - a step either ran or was reused
        raise LookupError(step.id)
    return returned


def _not_started(step: Step) -> Returned:
    return Returned("", step.id, step.title, "blocked", error="not started: out of budget")


def out_of_budget(returned: Iterable[Returned]) -> bool:
    return any(result.status == "blocked" for result in returned)


# ── aggregate ────────────────────────────────────────────────────────────────────────────────────


async def _aggregate(
    tree: Tree, node: Node, notes: Notes, attempt: Attempt
) -> AggregatorOutput | BudgetExhaustedError:
    """Ask the aggregator. The root, and any node out of budget, draws on the closing reserve. Return the
    error if that is used up too."""
    children = list(attempt.returned.values())
    node_events.status(tree, node, "aggregating", "aggregator")

    async def ask(*, closing: bool) -> AggregatorOutput:
        async with tree.closing(node) if closing else nullcontext():
            answer = await _ask_aggregator(tree, node, notes, children)
        notes.add("Aggregator", answer.scratchpad)
        node_events.aggregated(tree, node, children, answer)
        return answer

    try:
        if node.is_root:  # the reserve exists for the root's result
            return await ask(closing=True)
        async with tree.run.until_exhausted():
            return await ask(closing=out_of_budget(children))
        return await ask(closing=True)
    except BudgetExhaustedError as error:
        return error


async def _ask_aggregator(tree: Tree, node: Node, notes: Notes, children: list[Returned]) -> AggregatorOutput:
    def check(answer: AggregatorOutput) -> str:
        return aggregator_problem(node, children, answer)

    results: list[dict[str, Any]] = []
    pieces = pieces_of(children)
    while True:
        context = aggregator_context(node, notes.text, children, tree.room, results)
        answer = await tree.run.ask(
            roles.AGGREGATOR, "aggregate", returns=AggregatorOutput, check=check, **context
        )
        wanted = answer.tool_calls[: MAX_TOOL_CALLS - len(results)] if context["tools"] else []
        if not wanted:
            return answer
        results += [await use_tool(tree, node, action, pieces) for action in wanted]


async def _complete(
    tree: Tree, node: Node, notes: Notes, attempt: Attempt, answer: AggregatorOutput, *, refused: bool
) -> Returned:
    children = list(attempt.returned.values())
    outcome = outcome_of(answer.result, len(answer.artifacts), children, len(answer.synthesis.gaps))
    metrics = {
        "children": len(children),
        "failedChildren": sum(child.status != "completed" for child in children),
        "plans": attempt.version,
        "artifacts": len(answer.artifacts),
    }
    if refused:
        outcome = "partial"
    return await finished(tree, node, notes, answer, outcome, metrics, children)


def prepare(request: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Return options that a later process can use: the folder as an absolute path, if there is one."""
    return {**options, "files": readable_folder(options["files"])} if options.get("files") else options


WORKFLOW = Workflow(
    tree, "tree", closing=CLOSING, gates=("plan",), concurrency=CONCURRENCY, prepare=prepare, ref="tree"
)
