"""Orchestration of `tree`: every node executes or splits its task and aggregates its children's results."""

from __future__ import annotations

from collections.abc import Iterable
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
from podium.workflows.tree import events, rehearsal
from podium.workflows.tree import node_events as telling
from podium.workflows.tree.context import Notes, Tree, as_it_stands, finished, output_of
from podium.workflows.tree.contracts import AggregatorOutput, Band, Plan, PlannerOutput, Step
from podium.workflows.tree.leaf import run_leaf, use_tool
from podium.workflows.tree.material import aggregator_context, pieces_of, planner_context
from podium.workflows.tree.node import Attempt, Node, Returned
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
    max_depth: Annotated[int, Meta(ge=0, le=12, description="Levels below the root.")] = MAX_DEPTH,
    max_bands: Annotated[int, Meta(ge=1, le=50, description="Bands per plan.")] = MAX_BANDS,
    max_steps: Annotated[int, Meta(ge=1, le=50, description="Steps per band.")] = MAX_STEPS,
    replans: Annotated[int, Meta(ge=0, le=10, description="New plans per node.")] = MAX_REPLANS,
    max_nodes: Annotated[int, Meta(ge=1, le=100_000, description="Nodes of the whole tree.")] = MAX_NODES,
    deliverable: Annotated[
        Deliverable, Meta(description="What the leaves write; the root always writes a document.")
    ] = "document",
    files: Annotated[str, Meta(description="A folder that executors may read.")] = "",
    web: Annotated[bool, Meta(description="Executors may search and read the web.")] = False,
    floor: UseFloor = True,
    editor: UseEditor = True,
) -> Outcome | Partial:
    """Split a task into a tree of steps, do them, and put their results together.

    Every node decides by itself: do it, or split it into bands of steps. Bands run one after the other, the
    steps of a band side by side. Parents read what their children return and write one result.
    """
    toolbox = Toolbox(
        mcp=run.settings.mcp, folder=Path(files) if files else None, web=web, settings=run.settings,
        concurrency=run.config.get("concurrency") or CONCURRENCY,
    )  # fmt: skip
    async with toolbox:
        limits = TreeLimits(max_depth, max_bands, max_steps, replans, max_nodes)
        grown = Tree(run, limits, deliverable, toolbox)
        await _equip(grown)
        run.emit(events.RunStarted(node_id="root", objective=request))
        root = Node("root", request, allowance=max_nodes - 1)
        telling.created(grown, root)
        desk = Desk(run, request, floor=floor, editor=editor)
        draft = await direct_draft(desk)
        if draft is not None:
            root = replace(root, criteria=tuple(draft.points), draft=draft.document)
            grown.nodes[root.id].node = root
        return await _grow(grown, root, desk, draft)


async def _equip(grown: Tree) -> None:
    """Determine once which tools exist, how much fits into a prompt, and whether time is limited. The values
    are recorded: a resume with another model or limit must not repeat model calls because of them."""
    run = grown.run

    async def timed(effect: Effect) -> bool:
        return run.budget.seconds is not None

    async def window(effect: Effect) -> int | None:
        names = {run.models.name_for(agent, run.config) for agent in roles.ALL}
        known = [size for name in names if (size := context_window(name)) is not None]
        return min(known) if known else None

    found_window = await run.perform("window", window, inputs=None, returns=int | None, kind="clock")
    grown.room = room_for(found_window)
    grown.timed = await run.perform("timed", timed, inputs=None, returns=bool, kind="clock")
    found = await run.step("tools", grown.toolbox.equipment)
    grown.tools = found.tools
    for trouble in found.troubles:
        run.warn(trouble)


async def _grow(grown: Tree, root: Node, desk: Desk, draft: Draft | None) -> Outcome | Partial:
    """Run the root and return its result. Out of budget, return the unfinished tree. A failed root fails the
    run."""
    notes = Notes(grown.run, root)
    try:
        returned = await run_node(grown, root, notes)
    except BudgetExhaustedError as error:
        returned = telling.blocked(grown, root, error)
    except PlanRejectedError:
        telling.status(grown, root, "blocked", message="rejected")
        return Partial(output=output_of(grown, None), reason="plan rejected")
    except StepFailedError as error:
        telling.failed(grown, root, error)
        await notes.keep()
        raise
    for row in grown.nodes.values():
        if row.status == "failed":
            grown.run.warn(f"{row.node.title} failed: {row.summary}")
    unfinished = [row.node.title for row in grown.nodes.values() if row.status == "blocked"]
    if returned.status == "completed" and not unfinished:
        return await _deliver(grown, returned, desk, draft)
    if returned.status != "completed":
        grown.root_document = as_it_stands(grown)
        await grown.run.artifact("as-it-stands.md", grown.root_document, "text/markdown")
    return Partial(output=output_of(grown, returned), reason="budget", missing=unfinished)


async def _deliver(grown: Tree, returned: Returned, desk: Desk, draft: Draft | None) -> Outcome | Partial:
    """Return the root's result after the editor's pass. It is `partial`, with its gaps, if the request is not
    met."""
    before = grown.root_document
    material = [(one.title, one.text) for _, kept in sorted(grown.documents.items()) for one in kept]
    delivered = await deliver(desk, before, draft, material=material, gaps=grown.gaps)
    if delivered.checked:
        grown.gaps, grown.met = list(delivered.missing), not delivered.missing
    else:
        for gap in grown.gaps:
            grown.run.warn(f"Missing: {gap}")
    grown.root_document = delivered.document
    if delivered.document != before:
        kept = await grown.run.artifact(RESULT_FILE, delivered.document, "text/markdown")
        envelope = {**returned.envelope, "primaryArtifactId": kept.id}
        envelope["artifactIds"] = [kept.id, *returned.envelope.get("artifactIds", [])]
        returned = replace(returned, envelope=envelope)
    output = {**output_of(grown, returned), "comparison": delivered.shown()}
    return (
        Outcome(output=output) if grown.met else Partial(output=output, reason="not met", missing=grown.gaps)
    )


async def run_node(grown: Tree, node: Node, notes: Notes) -> Returned:
    """Run one node: plan and execute, or plan, delegate, aggregate and possibly replan."""
    if guard := must_execute(node, grown.limits):
        guard = "" if guard == ONE_REPLY else guard
        return await run_leaf(grown, node, notes, roles.EXECUTOR, guard=guard)
    before: Attempt | None = None
    while True:
        decision = await _plan(grown, node, notes, before)
        guard = execution_guard(decision, grown.limits, node.allowance)
        if guard or decision.plan is None or decision.mode == "execute":
            executor = roles.executor_for(decision.leaf_decision)
            children = () if before is None else tuple(before.returned.values())
            return await run_leaf(grown, node, notes, executor, guard=guard, children=children)
        attempt = await _delegate(grown, node, decision.plan, before)
        answer = await _aggregate(grown, node, notes, attempt)
        if isinstance(answer, BudgetExhaustedError):
            return telling.blocked(grown, node, answer, tuple(attempt.returned.values()))
        refused = False
        if answer.next.should_replan and not out_of_budget(attempt.returned.values()):
            if may_replan(attempt.version - 1, grown.limits):
                before = replace(attempt, replan_reason=answer.next.replan_reason or "")
                telling.replans(grown, node, before)
                continue
            refused = True
            telling.status(grown, node, "aggregating", "aggregator", "guard:maxReplansPerNode")
        return await _complete(grown, node, notes, attempt, answer, refused=refused)


# ── plan ─────────────────────────────────────────────────────────────────────────────────────────


async def _plan(grown: Tree, node: Node, notes: Notes, before: Attempt | None) -> PlannerOutput:
    run = grown.run
    telling.status(grown, node, "planning", "planner")

    left = await _time_left(run) if grown.timed else None
    planner = roles.ROOT_PLANNER if node.is_root else roles.PLANNER
    decision = await run.ask(
        planner, "plan", returns=PlannerOutput, check=PlanCheck(grown.limits, before, node.allowance),
        **planner_context(node, grown.limits, left, notes.text, before),
    )  # fmt: skip
    notes.add("Planner", decision.scratchpad)
    return decision


async def _time_left(run: Run) -> float | None:
    """Return the seconds left, or None if time is unlimited. Recorded, so that a resume with less time does
    not repeat model calls."""

    async def time_left(effect: Effect) -> float | None:
        return None if run.budget.seconds is None else max(0.0, run.budget.seconds - run.driven_s)

    return await run.perform("time_left", time_left, inputs=None, returns=float | None, kind="clock")


async def _check_gate(grown: Tree, node: Node, plan: Plan) -> None:
    """With `--approve plan`, ask for approval of the root's plan before any step runs."""
    if not node.is_root:
        return
    steps = [f"band {band.index + 1}: {step.title}" for band in ordered(plan) for step in band.steps]
    question = f"Carry out this plan of {len(steps)} steps? {plan.summary}"
    if not await grown.run.approved("plan", question, details=steps):
        raise PlanRejectedError


# ── delegate ─────────────────────────────────────────────────────────────────────────────────────


async def _delegate(grown: Tree, node: Node, plan: Plan, before: Attempt | None) -> Attempt:
    """Run the bands in order. Once the budget is used up, start no further band."""
    attempt = Attempt(1 if before is None else before.version + 1, plan)
    telling.planned(grown, node, attempt)
    await _check_gate(grown, node, plan)
    telling.status(grown, node, "delegating", "planner")
    if not node.is_root:
        grown.open_nodes.add(node.id)
    runs = {} if before is None else dict(before.runs)
    returned: dict[str, Returned] = {}
    for band in ordered(plan):
        if out_of_budget(returned.values()):
            returned |= {step.id: _not_started(step) for step in band.steps}
            continue
        children = telling.band_begun(grown, node, band, before, runs, tuple(returned.values()), plan)
        returned |= await _run_band(grown, node, band, children, before)
    return replace(attempt, returned=returned, runs=runs)


async def _run_band(
    grown: Tree, node: Node, band: Band, children: dict[str, Node], before: Attempt | None
) -> dict[str, Returned]:
    """Run the steps of a band in parallel or, if the band is not parallelizable, in order, each with the
    earlier results."""
    done: dict[str, Returned] = {}
    if band.parallelizable:
        steps = {name: _run_step(grown, node, child) for name, child in children.items()}
        outcomes = await grown.run.gather(steps)
        done = {name: _kept(grown, node, children[name], one) for name, one in outcomes.items()}
    else:
        for name, child in children.items():
            seeing = replace(child, earlier=(*child.earlier, *done.values()))
            outcomes = await grown.run.gather({name: _run_step(grown, node, seeing)})
            done[name] = _kept(grown, node, child, outcomes[name])
    return {step.id: done.get(step.id) or _held(step, before) for step in band.steps}


async def _run_step(grown: Tree, parent: Node, child: Node) -> Returned:
    """Run a child in its own branch. A failure is returned as data, so that the parent can name the gap."""
    notes = Notes(grown.run, child)
    try:
        returned = await run_node(grown, child, notes)
    except BudgetExhaustedError as error:
        returned = telling.blocked(grown, child, error)
    except StepFailedError as error:
        await notes.keep()
        returned = telling.failed(grown, child, error)
    finally:
        grown.open_nodes.discard(child.id)
    telling.step_ended(grown, parent, returned)
    return returned


def _kept(grown: Tree, parent: Node, child: Node, outcome: Ok[Returned] | Failed) -> Returned:
    """Return the result of a branch. An unexpected exception counts as a failed node."""
    if isinstance(outcome, Ok):
        return outcome.value
    returned = telling.failed(grown, child, outcome.error)
    telling.step_ended(grown, parent, returned)
    return returned


def _held(step: Step, before: Attempt | None) -> Returned:
    found = still_holds(step, before)
    if found is None:  # pragma: no cover - a step either ran or was held
        raise LookupError(step.id)
    return found


def _not_started(step: Step) -> Returned:
    return Returned("", step.id, step.title, "blocked", error="not started: out of budget")


def out_of_budget(returned: Iterable[Returned]) -> bool:
    return any(one.status == "blocked" for one in returned)


# ── aggregate ────────────────────────────────────────────────────────────────────────────────────


async def _aggregate(
    grown: Tree, node: Node, notes: Notes, attempt: Attempt
) -> AggregatorOutput | BudgetExhaustedError:
    """Ask the aggregator. The root, and any node out of budget, draws on the closing reserve. Return the
    error if that is used up too."""
    children = list(attempt.returned.values())
    telling.status(grown, node, "aggregating", "aggregator")
    try:
        if node.is_root or out_of_budget(children):  # the reserve exists for the root's result
            answer = await _ask_in_closing(grown, node, notes, children)
        else:
            answer = await _ask_aggregator(grown, node, notes, children)
    except BudgetExhaustedError as error:
        if node.is_root:
            return error
        try:
            answer = await _ask_in_closing(grown, node, notes, children)
        except BudgetExhaustedError as still:
            return still
    notes.add("Aggregator", answer.scratchpad)
    telling.aggregated(grown, node, children, answer)
    return answer


async def _ask_in_closing(
    grown: Tree, node: Node, notes: Notes, children: list[Returned]
) -> AggregatorOutput:
    async with grown.closing(node):
        return await _ask_aggregator(grown, node, notes, children)


async def _ask_aggregator(
    grown: Tree, node: Node, notes: Notes, children: list[Returned]
) -> AggregatorOutput:
    def check(answer: AggregatorOutput) -> str:
        return aggregator_problem(node, children, answer)

    results: list[dict[str, Any]] = []
    pieces = pieces_of(children)
    while True:
        context = aggregator_context(node, notes.text, children, grown.room, results)
        answer = await grown.run.ask(
            roles.AGGREGATOR, "aggregate", returns=AggregatorOutput, check=check, **context
        )
        wanted = answer.tool_calls[: MAX_TOOL_CALLS - len(results)] if context["tools"] else []
        if not wanted:
            return answer
        for action in wanted:
            results.append(await use_tool(grown, node, action, pieces))


async def _complete(
    grown: Tree, node: Node, notes: Notes, attempt: Attempt, answer: AggregatorOutput, *, refused: bool
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
    return await finished(grown, node, notes, answer, outcome, metrics, children)


def prepare(request: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Return options that a later process can use: the folder as an absolute path, if there is one."""
    return {**options, "files": readable_folder(options["files"])} if options.get("files") else options


WORKFLOW = Workflow(
    tree, "tree", closing=CLOSING, gates=("plan",), concurrency=CONCURRENCY, prepare=prepare, ref="tree"
)
