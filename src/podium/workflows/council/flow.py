"""Orchestration of `council`: kickoff, rounds of exploration, validation and selection, visualization."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, cast

from msgspec import Meta

from podium.agents.ask import Run
from podium.engine.workflow import Outcome, Partial, Workflow
from podium.errors import PodiumError, UsageError
from podium.models.registry import context_window as window_of
from podium.report.words import count
from podium.tools.files import readable_folder
from podium.tools.toolbox import Toolbox
from podium.workflows.council import rehearsal
from podium.workflows.council.agents import AGENTS
from podium.workflows.council.context import DEFAULT_WINDOW, SMALLEST_WINDOW
from podium.workflows.council.handover import compare_baseline, desk_of, draft_first, hand_over
from podium.workflows.council.policy import (
    CRITIC,
    IDEATION,
    IMPLEMENTER,
    LEADER,
    MAX_PASSES,
    MAX_ROUNDS,
    MODERATOR,
    NAMES,
    RESEARCHER,
    ROLES,
    UI_CREATOR,
    Preset,
    few_ideas,
    focused,
    may_rebut,
    missing_ideas,
    score_text,
    terms_of,
)
from podium.workflows.council.publisher import publish, visualize
from podium.workflows.council.speakers import critique, ideate, implement, rebut, research, synthesize
from podium.workflows.council.table import Table
from podium.workflows.council.verdict import select, settle, validate
from podium.workflows.council.view import CLOSING_BRANCH
from podium.workflows.delivery.baseline import UseBaseline
from podium.workflows.delivery.flow import Desk, UseEditor, UseFloor

__all__ = ["WORKFLOW", "rehearsal"]

CLOSING = 0.12
"""Share of every budget ceiling that is reserved for scoring a discussion that is out of budget."""

UNDECIDED = "a decision: no idea was scored, and the leader chose none"
NO_IDEAS = "ideas of the team: the direct draft is all that there is"

Rounds = Annotated[int, Meta(ge=1, le=MAX_ROUNDS)]
Count = Annotated[int, Meta(ge=1, le=100)]
Score = Annotated[float, Meta(ge=0, le=10)]
Window = Annotated[int, Meta(ge=SMALLEST_WINDOW)]


async def council(
    run: Run,
    request: str,
    *,
    preset: Annotated[
        Preset, Meta(description="Team, rounds and thresholds; the flags below override parts.")
    ] = "standard",
    roles: Annotated[Any, Meta(description="Your own team, e.g. leader,ideation,critic.")] = "",
    rounds: Annotated[Rounds | None, Meta(description="Rounds of exploration, 1 to 5.")] = None,
    passes: Annotated[int, Meta(ge=1, le=MAX_PASSES, description="Requests for ideas per round.")] = 1,
    min_ideas: Annotated[
        Count | None, Meta(description="Minimum number of ideas; missing ones are requested again.")
    ] = None,
    min_score: Annotated[
        Score | None, Meta(description="Minimum score; a winner below it is marked.")
    ] = None,
    deep_dive: Annotated[bool | None, Meta(description="Ideas are defended, and the critic replies.")] = None,
    context_window: Annotated[
        Window | None, Meta(description="Maximum tokens of a prompt and its reply.")
    ] = None,
    files: Annotated[str, Meta(description="Folder that the researcher may read.")] = "",
    web: Annotated[bool, Meta(description="The researcher may search and read the web.")] = False,
    floor: UseFloor = True,
    editor: UseEditor = True,
    baseline: UseBaseline = False,
) -> Outcome | Partial:
    """Let a team discuss a topic, score its ideas, and recommend the best one in a report.

    A leader opens. Researcher, ideation, critic and implementer speak in rounds and read the whole
    discussion. A moderator scores every idea; the highest score wins. `podium report` shows the discussion.
    """
    terms = terms_of(
        preset,
        roles=roles,
        rounds=rounds,
        passes=passes,
        min_ideas=min_ideas,
        min_score=min_score,
        deep_dive=deep_dive,
    )
    folder = Path(files) if files else None
    async with Toolbox(mcp=run.settings.mcp, folder=folder, web=web, settings=run.settings) as toolbox:
        table = Table(run, request, terms, toolbox)
        await _prepare_models(table, context_window)
        if RESEARCHER in terms:
            await _equip(table, wanted=web or folder is not None)
        if terms.deep_dive and not may_rebut(terms, terms.team):
            table.warn("The deep dive is skipped: the team has neither a critic nor an implementer.")
        return await _hold(table, desk_of(table, floor=floor, editor=editor), with_baseline=baseline)


async def _hold(table: Table, desk: Desk, *, with_baseline: bool) -> Outcome | Partial:
    """Run the direct draft, the four phases and the editor. Out of budget, score and deliver what exists from
    the closing reserve."""
    accepted = False
    async with table.run.until_exhausted() as part:
        await draft_first(table, desk)
        await kickoff(table)
        for number in range(1, table.terms.rounds + 1):
            await explore(table, number)
        async with table.run.closing():  # the reserve exists for these last steps
            await judge(table)
            await hand_over(table, desk)
            accepted = await _accepted(table)
            if accepted:
                await visualize(table)
    if part.exhausted is not None:
        return await _close(table, desk)
    if with_baseline:
        await compare_baseline(table, desk)
    return await _ended(table, accepted=accepted)


async def _ended(table: Table, *, accepted: bool) -> Outcome | Partial:
    """Publish the result. It is `partial` if it was rejected or is incomplete."""
    discussion = table.discussion
    undecided = [] if discussion.verdict is not None and discussion.verdict.chosen else [UNDECIDED]
    alone = [NO_IDEAS] if not discussion.own_ideas else []
    missing = [
        *undecided,
        *alone,
        *(discussion.delivered.missing if discussion.delivered is not None else []),
    ]
    await publish(table, missing, accepted=accepted)
    if not accepted:
        return Partial(output=table.output("rejected"), reason="result rejected", missing=missing)
    if missing:
        reason = "no decision" if undecided else "no ideas" if alone else "not met"
        return Partial(output=table.output("partial"), reason=reason, missing=missing)
    return Outcome(output=table.output("completed"))


async def kickoff(table: Table) -> None:
    """Phase 1: the leader sets the direction. Without the leader's answer there is no discussion."""
    table.phase("kickoff", 0)
    terms = table.terms
    points = [] if table.draft is None else table.draft.points
    text = await table.ask(LEADER, "kickoff", focused=focused(terms.team), rounds=terms.rounds, points=points)
    if text.strip():
        await table.say(LEADER, "kickoff", table.run.marked(text))
    else:
        table.warn(f"The {NAMES[LEADER]} opened with an empty message.", LEADER)


async def explore(table: Table, number: int) -> None:
    """Phase 2, one round: research, ideas, criticism, practice, synthesis. Missing roles are skipped."""
    terms = table.terms
    async with table.run.branch(f"round-{number}"):
        table.phase("exploration", number)
        if RESEARCHER in terms:
            await research(table)
        for nth in range(terms.passes):
            await ideate(table, first=number == 1 and nth == 0)
        if missing := missing_ideas(len(table.discussion.own_ideas), terms):
            await ideate(table, first=number == 1, missing=missing)
        if table.discussion.ideas:
            await _challenge(table)
        await synthesize(table)
    table.discussion.rounds_held = number


async def _challenge(table: Table) -> None:
    """Run the turns that need ideas: critic, implementer, and in a deep dive the defence and the critic's
    reply."""
    terms, spoke = table.terms, list[str]()
    if CRITIC in terms and await critique(table):
        spoke.append(CRITIC)
    if IMPLEMENTER in terms and await implement(table):
        spoke.append(IMPLEMENTER)
    if may_rebut(terms, spoke) and await rebut(table) and CRITIC in terms:
        await critique(table, reply=True)


async def judge(table: Table) -> None:
    """Phase 3: the moderator scores all ideas, the leader selects, the highest score wins."""
    table.phase("validation", table.terms.rounds + 1)
    if not table.discussion.ideas:
        failure = table.last_failure
        why = f" The last failure: {failure.reason}." if failure is not None else ""
        hint = failure.hint if failure is not None else ""
        again = "Resume tries the failed steps again; or start anew with another model or topic."
        raise PodiumError(
            f"No idea was generated, so there is nothing to choose from.{why}",
            hint=f"{hint} {again}".strip(),
        ) from failure
    if few := few_ideas(len(table.discussion.own_ideas), table.terms):
        table.warn(few, IDEATION)
    if MODERATOR in table.terms:
        await validate(table)
    await select(table)


async def _accepted(table: Table) -> bool:
    """With `--approve result`, ask for approval of the result."""
    final = table.discussion.final_idea
    if final is None:  # pragma: no cover - judge has set it
        return False
    score = "not scored" if final.score is None else f"{score_text(final.score)} of 10"
    return await table.run.approved(
        "result", f"Accept “{final.title}” ({score}) as the result?", details=final
    )


async def _close(table: Table, desk: Desk) -> Partial:
    """Close a discussion that is out of budget: score the ideas if the reserve allows it, and name a
    winner."""
    held, terms = table.discussion, table.terms
    missing: list[str] = []
    if held.verdict is None:
        left = terms.rounds - held.rounds_held
        missing += [f"{left} of {count(terms.rounds, 'round')}"] if left else []
        async with table.run.branch(CLOSING_BRANCH, key=str(len(held.spoken))):
            if held.ideas:
                if MODERATOR in terms and not any(idea.validated for idea in held.ideas):
                    missing += await _last_scores(table)
                settle(table, None)
                await hand_over(table, desk)
        missing.append("the leader's selection")
        missing += held.delivered.missing if held.delivered is not None else []
    if UI_CREATOR in terms:
        missing.append("the ui_creator's page")
    await publish(table, missing)
    return Partial(output=table.output("partial"), reason="budget", missing=missing)


async def _last_scores(table: Table) -> list[str]:
    async with table.run.until_exhausted(), table.run.closing():
        await validate(table)
        return []
    return ["the moderator's scores"]


# ── preparation ────────────


async def _prepare_models(table: Table, context_window: int | None) -> None:
    """Look up the context window of each role's model. Recorded in its own branch, so that a run that
    continues with another model repeats only this lookup."""
    run, team = table.run, table.terms.team
    if context_window is not None:
        table.windows = dict.fromkeys(team, context_window)
        return
    names = {role: run.models.names_for(AGENTS[role], run.config) for role in team}

    async def look(models: dict[str, list[str]]) -> dict[str, int]:
        return {
            role: min(window_of(name) or DEFAULT_WINDOW for name in each) for role, each in models.items()
        }

    async with run.branch("models"):
        windows = await run.step("windows", look, names, returns=dict[str, int])
    table.windows = {role: max(window, SMALLEST_WINDOW) for role, window in windows.items()}


async def _equip(table: Table, *, wanted: bool) -> None:
    """Determine once which tools are available."""
    equipment = await table.run.step("tools", table.toolbox.equipment)
    table.tools = {tool.name: tool for tool in table.toolbox.native(equipment.tools)}
    for trouble in equipment.troubles:
        table.warn(trouble, RESEARCHER)
    if wanted and not equipment.tools:
        table.warn(
            "No search or document is available: the Researcher works from its model alone.", RESEARCHER
        )


def prepare(request: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Validate the team and the folder before any model call."""
    terms = terms_of(options.get("preset", "standard"), roles=_roles(options.get("roles")))
    prepared = dict(options)
    if "roles" in options:
        prepared["roles"] = ",".join(terms.team) if options["roles"] else ""
    if (options.get("files") or options.get("web")) and RESEARCHER not in terms.team:
        raise UsageError(
            "Only the researcher uses files and the web, and there is none in the team.",
            hint="Add it with --roles, or choose --preset extended.",
        )
    if options.get("files"):
        prepared["files"] = readable_folder(options["files"])
    return prepared


def _roles(value: Any) -> str:
    """Return the role names as comma-separated text. They come as text from the command line, or as a list
    from Python."""
    names = list(cast("Sequence[Any]", value)) if isinstance(value, (list, tuple)) else [value or ""]
    if not all(isinstance(name, str) for name in names):
        raise UsageError(
            f"The roles of a council are names, not {value!r}.", hint=f"Roles: {', '.join(ROLES)}."
        )
    return ",".join(names)


WORKFLOW = Workflow(
    council, "council", closing=CLOSING, gates=("result",), concurrency=1, prepare=prepare, ref="council"
)
